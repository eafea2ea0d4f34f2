"""Dependent mixtures: chains over rows, and the samplers that move them."""

from evermix.topics.measures import Measure, Mixed
from evermix.topics.rows.published import T3, T4
from evermix.topics.rows.samplers import M1, M2, M3, T1, T2, T5, RowSampler

__all__ = [
    "M1",
    "M2",
    "M3",
    "SAMPLERS",
    "T1",
    "T2",
    "T3",
    "T4",
    "T5",
    "RowSampler",
    "default_sampler",
]

SAMPLERS: dict[str, type[RowSampler]] = {
    cls.__name__: cls for cls in (M1, M2, M3, T1, T2, T3, T4, T5)
}
"""The samplers of dependent mixtures, by the name that a file stores."""


def default_sampler(measure: Measure) -> RowSampler:
    """Return the sampler that suits a measure best."""
    return M1() if isinstance(measure, Mixed) else T1()
