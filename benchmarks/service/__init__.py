"""Load on ``evermix serve`` from another process."""
