"""The Dirichlet process."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evermix._xp import Floats
from evermix.kernels.weights import AFFINE, log_v
from evermix.priors.base import POSITIVE, GibbsScalars, GibbsType, HasSticks


@dataclass(frozen=True)
class DP(GibbsType, HasSticks):
    """Dirichlet process: few clusters, whose number grows like ``alpha * log(n)``.

    The partition is the Chinese restaurant process [ferguson1973]_.

    Parameters
    ----------
    alpha : float
        Concentration, > 0: the weight of a new cluster beside the masses of the others.

    References
    ----------
    .. [ferguson1973] T. Ferguson. A Bayesian analysis of some nonparametric problems.
       Annals of Statistics, 1973.

    Examples
    --------
    >>> import numpy as np
    >>> from evermix.priors import DP
    >>> np.exp(DP(alpha=1.0).log_weights(np.array([2.0, 1.0]), np.ones(2))).round(2)
    array([0.5 , 0.25, 0.25])
    """

    alpha: float = 1.0

    tunable: ClassVar = {"alpha": POSITIVE}

    def __post_init__(self) -> None:
        self._store_numbers("alpha")
        self._require(self.alpha > 0, "alpha", "must be positive")

    def scalars(self) -> GibbsScalars:
        """Return the prior as scalars for the kernels."""
        return GibbsScalars(AFFINE, self.alpha, 0.0, 1.0)

    def log_v(self, n: float, K: float) -> float:
        """Log V(n, K) = K log alpha + log Gamma(alpha) - log Gamma(alpha + n)."""
        return log_v(self.alpha, 0.0, 1.0, n, K)

    def sticks(self, K: int) -> tuple[Floats, Floats]:
        """Fractions of the stick are Beta(1, alpha)."""
        return np.ones(K), np.full(K, self.alpha)
