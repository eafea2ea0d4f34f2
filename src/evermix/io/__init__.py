"""What goes in and out: sources of data, text to counts, checkpoints and traces."""
