"""Engines of one pass with hard assignments: the baselines that people compare with."""
