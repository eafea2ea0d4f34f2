"""Dependent mixtures: chains over rows."""
