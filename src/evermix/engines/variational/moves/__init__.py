"""Births, deletes and merges of memoized variational Bayes."""
