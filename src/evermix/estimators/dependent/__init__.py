"""The estimator DependentMixture."""
