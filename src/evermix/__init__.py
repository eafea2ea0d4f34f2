"""evermix: clusters data that keep arriving."""
