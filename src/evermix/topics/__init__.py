"""Measures that change over time: dependent mixtures and topic models."""
