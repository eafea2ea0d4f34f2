"""The Pitman-Yor process."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evermix._xp import Floats
from evermix.kernels.special import log_rising
from evermix.kernels.weights import AFFINE
from evermix.priors.base import POSITIVE, UNIT, GibbsScalars, GibbsType, HasSticks, Prior
from evermix.priors.dirichlet_process import DP


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
