"""Batch clustering: laps of EP and sweeps of Gibbs, evermix beside its peers."""
