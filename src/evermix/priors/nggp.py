"""The normalised generalised gamma process."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from evermix.kernels.weights import MODE, QUADRATURE, log_v
from evermix.priors.base import POSITIVE, UNIT, GibbsScalars, GibbsType, Prior
from evermix.priors.dirichlet_process import DP
from evermix.priors.pitman_yor import PitmanYor

_RULES = {"quadrature": QUADRATURE, "mode": MODE}


@dataclass(frozen=True)
class NGGP(GibbsType):
    r"""Normalised generalised gamma process: from the Dirichlet process to power laws.

    Clusters have weights :math:`w_k / \sum_j w_j`, where the jumps :math:`w_k` have intensity
    :math:`a / \Gamma(1 - \sigma) \, w^{-1 - \sigma} e^{-\tau w}` [lijoi2007]_. Only
    :math:`a \tau^\sigma` and :math:`\sigma` matter, so ``tau`` may stay 1.

    Parameters
    ----------
    a : float
        Concentration, > 0: more clusters for a larger a.
    sigma : float
        Power of the growth, in [0, 1): K grows like ``n ** sigma``; 0 is DP(a).
    tau : float
        Tilt of large jumps, >= 0 (> 0 if sigma is 0); 0 is PitmanYor(0, sigma).
    u : {"quadrature", "mode"}
        How the auxiliary variable U is dealt with in predictive weights: integrated out to
        rounding, or replaced by its mode in log scale, which is faster and a few per cent off
        for small n. Partition probabilities are exact in both cases.

    References
    ----------
    .. [lijoi2007] A. Lijoi, R. Mena and I. Prunster. Controlling the reinforcement in Bayesian
       non-parametric mixture models. JRSS B, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from evermix.priors import NGGP
    >>> prior = NGGP(a=1.0, sigma=0.5)
    >>> np.exp(prior.log_weights(np.array([3.0, 1.0, 1.0]), np.ones(3))).round(4)
    array([0.4031, 0.0806, 0.0806, 0.4357])
    >>> NGGP(a=1.0, sigma=0.5, tau=4.0).canonical()
    NGGP(a=2.0, sigma=0.5, tau=1.0, u='quadrature')
    """

    a: float = 1.0
    sigma: float = 0.5
    tau: float = 1.0
    u: Literal["quadrature", "mode"] = "quadrature"

    tunable: ClassVar = {"a": POSITIVE, "sigma": UNIT, "tau": POSITIVE}

    def __post_init__(self) -> None:
        self._store_numbers("a", "sigma", "tau")
        self._require(self.a > 0, "a", "must be positive")
        self._require(0 <= self.sigma < 1, "sigma", "must lie in [0, 1)")
        wanted = "positive where sigma is 0" if self.sigma == 0 else "0 or more"
        self._require(self.tau > 0 or self.tau == 0 < self.sigma, "tau", f"must be {wanted}")
        self._require(self.u in _RULES, "u", 'must be "quadrature" or "mode"')

    def canonical(self) -> Prior:
        """Return the same law in its simplest parameters: tau = 1, or a DP or PitmanYor."""
        if self.sigma == 0:
            return DP(self.a)
        if self.tau == 0:
            return PitmanYor(0.0, self.sigma)
        return NGGP(self.a * self.tau**self.sigma, self.sigma, 1.0, self.u)

    def scalars(self) -> GibbsScalars:
        """Return the prior as scalars for the kernels."""
        return GibbsScalars(_RULES[self.u], self.a, self.sigma, self.tau)

    def log_v(self, n: float, K: float) -> float:
        """Log V(n, K), by quadrature over log U."""
        return log_v(self.a, self.sigma, self.tau, n, K)
