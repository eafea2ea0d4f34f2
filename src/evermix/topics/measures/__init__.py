"""Dependent random measures: mixed and thinned."""

from evermix.topics.measures.base import Laws, Measure, Newborn, Occupancy, Offers
from evermix.topics.measures.mixed import Mixed
from evermix.topics.measures.thinned import Thinned

__all__ = ["Laws", "Measure", "Mixed", "Newborn", "Occupancy", "Offers", "Thinned"]
