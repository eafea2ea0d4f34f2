"""Data, models and oracles that several test files share."""
