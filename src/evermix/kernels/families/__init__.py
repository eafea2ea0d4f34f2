"""Compiled verbs of the families."""
