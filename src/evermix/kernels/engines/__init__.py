"""Compiled loops of the engines."""
