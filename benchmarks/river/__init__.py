"""One row at a time: RiverMixture beside clusterers of River, and Mixture.partial_fit."""
