"""Online clustering by the Chinese restaurant process: each row's cluster is drawn, for good."""

from dataclasses import dataclass

import numpy as np

from evermix._xp import Array
from evermix.engines.filters.hard import HardFilter
from evermix.kernels.engines.hard import BEST


@dataclass(frozen=True)
class OnlineCRP(HardFilter):
    """Sampled one-pass clustering: a row's cluster is drawn from its posterior given the past.

    It is one particle of a particle filter: the first sweep of a Gibbs sampler, without the others.
    Rows of weight zero are labelled with the most probable cluster, and no draw is spent on them.

    Parameters
    ----------
    merge : float or None
        Fuse two clusters when the log odds for it exceed this many nats, as :class:`ADF` does; None
        for no merges, as published.
    """

    merge: float | None = None

    def _uniforms(self, weights: Array, rng: np.random.Generator) -> Array:
        """Return numbers (N,) in [0, 1) to draw with; rows of weight zero take none."""
        uniforms = np.full(len(weights), BEST)
        uniforms[weights > 0] = rng.random(np.count_nonzero(weights))
        return uniforms

    def _chosen(self, rho: Array, uniform: float) -> int:
        """Return which of the log weights rho (M,) is drawn."""
        if uniform == BEST:
            return super()._chosen(rho, uniform)
        weights = np.exp(rho - rho.max())
        chosen = np.searchsorted(np.cumsum(weights), uniform * weights.sum(), side="right")
        return int(min(chosen, len(rho) - 1))
