r"""Clusters without observations: the jumps of a generalised gamma process above a level.

Given U, jumps that own no observation form a Poisson process. In units of :math:`1 / (U + \tau)`
its intensity is

.. math::

    \frac{m}{\Gamma(1 - \sigma)} w^{-1 - \sigma} e^{-w}, \qquad m = a (U + \tau)^\sigma,

with infinitely many jumps near zero but finitely many above any level. They are found by thinning:
below b = max(level, 1) the exponential is left out of the proposals, above b the power is.
Weights and levels are logs, since both may be tiny.
"""

import math
from typing import NamedTuple

import numpy as np

from evermix._xp import Array


class Atoms(NamedTuple):
    """The law of the jumps without observations.

    Attributes
    ----------
    mass : float
        The weight m of a new cluster, > 0.
    sigma : float
        In [0, 1).
    """

    mass: float
    sigma: float

    def proposed(self, log_level: float) -> tuple[float, float]:
        """Mean numbers of proposals between the level and b, and above b."""
        density = self.mass / math.gamma(1.0 - self.sigma)
        level, log_b = math.exp(log_level), max(log_level, 0.0)
        b = math.exp(log_b)
        near = density * math.exp(-level - self.sigma * log_b) * self._span(log_b - log_level)
        far = density * b ** (-1.0 - self.sigma) * math.exp(-b)
        return near, far

    def lowest(self, number: float) -> float:
        """Log of the level, at most 1, above which at least ``number`` jumps are proposed."""
        span = number * math.gamma(1.0 - self.sigma) / self.mass
        return -span if self.sigma == 0.0 else -math.log1p(self.sigma * span) / self.sigma

    def draw(self, log_level: float, rng: np.random.Generator) -> Array:
        """Draw all jumps above a level; their logs, in no order."""
        level, log_b = math.exp(log_level), max(log_level, 0.0)
        b, length = math.exp(log_b), log_b - log_level
        near, far = (int(rng.poisson(mean)) for mean in self.proposed(log_level))
        # Powers w^(-1 - sigma) on (level, b), by inversion.
        share = rng.random(near)
        if self.sigma == 0.0:
            log_w = log_b - share * length
        else:
            log_w = log_b - np.log1p(share * math.expm1(self.sigma * length)) / self.sigma
        log_w = log_w[rng.standard_exponential(near) > np.exp(log_w) - level]
        # Exponentials above b.
        w = b + rng.standard_exponential(far)
        w = w[rng.random(far) < (w / b) ** (-1.0 - self.sigma)]
        return np.concatenate([log_w, np.log(w)])

    def _span(self, length: float) -> float:
        """Integral of exp(sigma x) over x from 0 to ``length``."""
        return length if self.sigma == 0.0 else math.expm1(self.sigma * length) / self.sigma
