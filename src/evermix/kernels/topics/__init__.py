"""Compiled loops of dependent mixtures and topic models."""
