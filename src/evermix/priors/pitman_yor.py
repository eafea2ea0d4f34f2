"""The Pitman-Yor process."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betaln

from evermix._xp import Floats
from evermix.kernels.special import log_rising
from evermix.kernels.weights import AFFINE
from evermix.priors.base import POSITIVE, UNIT, GibbsScalars, GibbsType, HasSticks, Prior
from evermix.priors.dirichlet_process import DP

# The grid of laws that are tried where the prior is learnt.
CONCENTRATIONS = np.exp(np.linspace(-3.0, 5.0, 25))
DISCOUNTS = np.linspace(0.0, 0.8, 9)


@dataclass(frozen=True)
class PitmanYor(GibbsType, HasSticks):
    """Pitman-Yor process: many small clusters, whose number grows like ``n ** discount``.

    A new cluster weighs ``alpha + discount * K`` [pitman1997]_.

    Parameters
    ----------
    alpha : float
        Concentration, > -discount.
    discount : float
        Power of the growth, in [0, 1); 0 is the Dirichlet process.

    References
    ----------
    .. [pitman1997] J. Pitman and M. Yor. The two-parameter Poisson-Dirichlet distribution derived
       from a stable subordinator. Annals of Probability, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from evermix.priors import PitmanYor
    >>> prior = PitmanYor(alpha=1.0, discount=0.5)
    >>> np.exp(prior.log_weights(np.array([2.0, 1.0]), np.ones(2))).round(3)
    array([0.375, 0.125, 0.5  ])
    """

    alpha: float = 1.0
    discount: float = 0.25

    tunable: ClassVar = {"alpha": POSITIVE, "discount": UNIT}

    def __post_init__(self) -> None:
        self._store_numbers("alpha", "discount")
        self._require(0 <= self.discount < 1, "discount", "must lie in [0, 1)")
        wanted = f"must be larger than -discount = {-self.discount}"
        self._require(self.alpha > -self.discount, "alpha", wanted)

    def canonical(self) -> Prior:
        """Return the same law in its simplest parameters: DP(alpha) without a discount."""
        return DP(self.alpha) if self.discount == 0 else self

    def scalars(self) -> GibbsScalars:
        """Return the prior as scalars for the kernels."""
        return GibbsScalars(AFFINE, self.alpha, self.discount, 1.0)

    def log_v(self, n: float, K: float) -> float:
        """Log V(n, K): the product of alpha + j discount, j < K, over that of alpha + i, i < n."""
        alpha, d = self.alpha, self.discount
        if d == 0:
            tables = (K - 1) * math.log(alpha)
        else:
            tables = (K - 1) * math.log(d) + log_rising(alpha / d + 1, K - 1)
        return tables - log_rising(alpha + 1, n - 1)

    def sticks(self, K: int) -> tuple[Floats, Floats]:
        """The k-th fraction of the stick, from 1, is Beta(1 - discount, alpha + k discount)."""
        return np.full(K, 1.0 - self.discount), self.alpha + self.discount * np.arange(1.0, K + 1.0)

    def learnt(self, mass: Floats) -> "PitmanYor":
        """Return the law of a grid, or this one, under which clusters of mass (K,) are likeliest.

        The evidence of the masses plus :meth:`log_hyperprior` never falls.
        """
        mass = -np.sort(-mass)
        later = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)
        alpha = np.append(np.repeat(CONCENTRATIONS, len(DISCOUNTS)), self.alpha)[:, None]
        d = np.append(np.tile(DISCOUNTS, len(CONCENTRATIONS)), self.discount)[:, None]
        a, b = 1.0 - d, alpha + d * np.arange(1.0, len(mass) + 1.0)
        evidence = np.sum(betaln(a + mass, b + later) - betaln(a, b), axis=1)
        value = evidence + np.log(alpha[:, 0]) - alpha[:, 0] + np.log1p(-d[:, 0])
        best = len(value) - 1 - int(np.argmax(value[::-1]))  # this one, if none is better
        return PitmanYor(float(alpha[best, 0]), float(d[best, 0]))

    def log_hyperprior(self) -> float:
        """Log density: alpha is Gamma(1, 1), per unit of its logarithm; discount Beta(1, 2)."""
        return math.log(self.alpha) - self.alpha + math.log1p(-self.discount)
