"""Clusters of rows at hand, found by moves while hyperparameters are learnt."""
