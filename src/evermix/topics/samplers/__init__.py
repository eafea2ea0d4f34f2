"""Ways to move the chains of dependent mixtures."""

from evermix.topics.samplers.base import Sampler
from evermix.topics.samplers.mixed import M1, M2, M3
from evermix.topics.samplers.thinned import T1, T2, T5
from evermix.topics.samplers.threshold import T3, T4

__all__ = ["M1", "M2", "M3", "T1", "T2", "T3", "T4", "T5", "Sampler"]
