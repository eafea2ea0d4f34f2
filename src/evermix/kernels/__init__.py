"""Compiled loops: numba only, plain arrays in and out."""
