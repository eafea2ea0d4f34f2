"""Attacks on files, which anyone can run: ``python -m tests.attacks.checkpoints --count 5000``."""
