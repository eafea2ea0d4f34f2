"""Variational Bayes: laps and bounds of evermix beside scikit-learn and bnpy."""
