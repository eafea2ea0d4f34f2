"""Merges of clusters: in a stream, and of models that were fitted separately."""
