"""The estimator Mixture."""
