"""Past one core: GPUs and clusters."""
