r"""The random measure behind a Dirichlet or a normalised generalised gamma process, given U.

The clusters' weights are jumps of intensity
:math:`a / \Gamma(1 - \sigma) \, w^{-1 - \sigma} e^{-\tau w}`, normalised. The partition of n
observations into K blocks and the auxiliary variable :math:`U` have the joint law [james2009]_

.. math::

    p(\Pi, u) = \frac{u^{n-1}}{\Gamma(n)} \, a^K e^{-a \psi(u)} (u + \tau)^{-(n - \sigma K)}
        \prod_k \frac{\Gamma(n_k - \sigma)}{\Gamma(1 - \sigma)}, \qquad
    \psi(u) = \frac{(u + \tau)^\sigma - \tau^\sigma}{\sigma}.

Everything takes :math:`v = \log u`, since u itself may leave the floating-point range.

References
----------
.. [james2009] L. James, A. Lijoi and I. Prunster. Posterior analysis for normalized random
   measures with independent increments. Scandinavian Journal of Statistics, 2009.
"""

import math
from typing import NamedTuple

from evermix._xp import Floats, gammaln
from evermix.kernels.weights import log_u_mode
from evermix.priors.base import Prior
from evermix.priors.dirichlet_process import DP
from evermix.priors.nggp import NGGP

LARGEST = 700.0  # beyond its exponential, numbers overflow


class Jumps(NamedTuple):
    """A generalised gamma process; sigma = 0 is a gamma process.

    Examples
    --------
    >>> from evermix.priors import DP
    >>> from evermix.priors.jumps import Jumps
    >>> Jumps.of(DP(alpha=3.0))
    Jumps(a=3.0, sigma=0.0, tau=1.0)
    """

    a: float
    sigma: float
    tau: float

    @classmethod
    def of(cls, prior: Prior) -> "Jumps":
        """Return the process whose normalised jumps are the weights of the prior's clusters."""
        if isinstance(prior, DP):
            return cls(prior.alpha, 0.0, 1.0)
        if isinstance(prior, NGGP):
            return cls(prior.a, prior.sigma, prior.tau)
        raise TypeError(
            f"the auxiliary variable U needs DP or NGGP as a prior, got {type(prior).__name__}. "
            "Use Gibbs(augmented=False), which needs no U."
        )

    def log_sum(self, v: float) -> float:
        """log(u + tau)."""
        if self.tau == 0.0:
            return v
        return math.log(self.tau) + _softplus(v - math.log(self.tau))

    def psi(self, v: float) -> float:
        """Laplace exponent for a = 1; log(1 + u / tau) where sigma is 0."""
        if self.tau == 0.0:
            return _exp(self.sigma * v) / self.sigma
        x = _softplus(v - math.log(self.tau))
        y = self.sigma * x
        if y > LARGEST:
            return math.inf
        # (e^y - 1) / y loses no digits as sigma goes to 0.
        return self.tau**self.sigma * x * (math.expm1(y) / y if y > 0.0 else 1.0)

    def log_u_density(self, v: float, n: float, K: float) -> float:
        """Log density of v = log U, up to a constant, for n observations in K clusters."""
        return n * v - (n - self.sigma * K) * self.log_sum(v) - self.a * self.psi(v)

    def log_u_peak(self, n: float, K: float) -> tuple[float, float]:
        """Return the mode of log U and its spread, the standard deviation by the curvature."""
        v = log_u_mode(float(n), float(K), *self)
        log_sum = self.log_sum(v)
        share = math.exp(v - log_sum)  # u / (u + tau)
        rest = self.tau * math.exp(-log_sum)
        new = self.a * _exp(self.sigma * log_sum)
        curvature = (n - self.sigma * K) * rest + new * (rest + self.sigma * share)
        return v, 1.0 / math.sqrt(share * curvature)

    def log_partition(self, sizes: Floats, v: float) -> float:
        """Log of p(partition, u) without a^K exp(-a psi), up to what depends on u and n alone."""
        K, n = len(sizes), float(sizes.sum())
        blocks = float(gammaln(sizes - self.sigma).sum()) - K * math.lgamma(1.0 - self.sigma)
        return blocks - (n - self.sigma * K) * self.log_sum(v)


def _softplus(v: float) -> float:
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))


def _exp(x: float) -> float:
    return math.exp(x) if x < LARGEST else math.inf
