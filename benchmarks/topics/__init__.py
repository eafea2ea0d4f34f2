"""Topic models: words per second of a sweep, and perplexity, evermix beside its peers."""
