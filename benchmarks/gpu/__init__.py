"""A lap on a GPU."""
