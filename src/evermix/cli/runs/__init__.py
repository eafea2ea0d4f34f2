"""Runs with checkpoints behind the commands that learn."""
