"""Ways to move the chains of dependent mixtures."""

from evermix.topics.samplers.base import Sampler
from evermix.topics.samplers.hierarchy import H1, H2, WordSampler
from evermix.topics.samplers.mixed import M1, M3
from evermix.topics.samplers.thinned import T1, T5

__all__ = ["H1", "H2", "M1", "M3", "T1", "T5", "Sampler", "WordSampler"]
