r"""The integrals of thinned measures, on one grid of nodes.

With :math:`f_{rt}(w) = 1 - q_{rt} + q_{rt} e^{-u_t w}` and :math:`G_r = \prod_t f_{rt}`, the
Laplace exponent is a single integral, however many times there are,

.. math::

    \psi_r = a_r \int (1 - G_r(w)) \frac{w^{-1 - \sigma} e^{-w}}{\Gamma(1 - \sigma)} \, dw,

and so is the weight of a new atom. The trapezoid rule in log w converges at a geometric rate. Below
the first node every integrand is proportional to :math:`w^{1 - \sigma}` to rounding, so that the
rest of the sum is a geometric series, which the weight of that node takes in.
"""

import math
from typing import NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.kernels.thinned import log_factors

__all__ = ["Factors"]

STEP = 0.25
FIRST, LAST = -35.0, 5.0  # first and last node, in logs; the first in units of 1 / max u


class Factors(NamedTuple):
    """Nodes, and the logs of the factors there.

    Attributes
    ----------
    w : array (J,)
    logs : array (R, T, J)
        log f of regions, times and nodes.
    total : array (R, J)
        log G, their sums over times.
    """

    w: Array
    logs: Array
    total: Array

    @classmethod
    def of(cls, q: Array, u: Array) -> "Factors":
        """Return the factors for q (R, T) and u (T,)."""
        first = FIRST - math.log(max(1.0, float((q * u).sum(axis=1).max()), float(u.max())))
        w = np.exp(np.arange(LAST, first, -STEP)[::-1])
        logs = np.empty((*q.shape, len(w)))
        log_factors(q, u, w, logs)
        return cls(w, logs, logs.sum(axis=1))

    def weights(self, sigma: float) -> Array:
        """Weights (J,) of the nodes for integrals against the intensity with a = 1."""
        log_weight = -sigma * np.log(self.w) - self.w - math.lgamma(1.0 - sigma)
        weights = STEP * np.exp(log_weight)
        weights[0] /= -math.expm1(-(1.0 - sigma) * STEP)
        return weights

    def exponents(self, sigma: float) -> Array:
        """Laplace exponents (R,) of processes with a = 1."""
        return -np.expm1(self.total) @ self.weights(sigma)

    def without(self, t: int) -> Array:
        """Log of the product of the factors of all other times, (R, J)."""
        return self.total - self.logs[:, t]

    def new(self, q: Array, u: Array, sigma: float) -> Array:
        """Weights (T, R) of a new atom of each region with a = 1 at each time."""
        weights, out = self.weights(sigma) * self.w, np.empty(q.T.shape)
        for t in range(len(u)):
            out[t] = q[:, t] * (np.exp(self.without(t) - u[t] * self.w) @ weights)
        return out
