"""Engines that learn each row once."""
