"""Expectation propagation."""
