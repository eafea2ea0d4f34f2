"""Variational Bayes: full, stochastic and memoized."""
