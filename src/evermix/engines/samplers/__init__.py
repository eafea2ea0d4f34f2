"""Markov chain Monte Carlo over partitions."""
