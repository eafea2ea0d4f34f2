"""A service that learns what programs send it, and answers: ``evermix serve``."""
