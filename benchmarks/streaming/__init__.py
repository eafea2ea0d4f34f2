"""Streaming clustering: one pass, evermix beside its peers."""
