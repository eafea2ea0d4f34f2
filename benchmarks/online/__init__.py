"""Online clustering: the time that a row takes, as a stream grows, evermix beside its peers."""
