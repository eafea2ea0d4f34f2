"""Online baselines: one pass, every row in one cluster."""
