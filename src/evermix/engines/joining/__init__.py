"""Dropping, joining and matching clusters."""
