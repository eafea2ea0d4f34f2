"""Ways to move the chains of dependent mixtures."""

from evermix.topics.measures import Measure, Mixed
from evermix.topics.rows.published import T3
from evermix.topics.rows.samplers.base import Sampler
from evermix.topics.rows.samplers.mixed import M1, M2, M3
from evermix.topics.rows.samplers.pseudo_marginal import T4
from evermix.topics.rows.samplers.thinned import T1, T2, T5

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
    "Sampler",
    "default_sampler",
]

SAMPLERS: dict[str, type[Sampler]] = {cls.__name__: cls for cls in (M1, M2, M3, T1, T2, T3, T4, T5)}
"""The samplers of dependent mixtures, by the name that a file stores."""


def default_sampler(measure: Measure) -> Sampler:
    """Return the sampler that suits a measure best."""
    return M1() if isinstance(measure, Mixed) else T1()
