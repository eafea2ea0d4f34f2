r"""The integrals of thinned measures, on one grid of nodes.

With :math:`f_{rt}(w) = 1 - q_{rt} + q_{rt} e^{-u_t w}` and :math:`G_r = \prod_t f_{rt}`, the
Laplace exponent is a single integral, however many times there are,

.. math::

    \psi_r = a_r \int (1 - G_r(w)) \frac{w^{-1 - \sigma} e^{-w}}{\Gamma(1 - \sigma)} \, dw,

and so is the weight of a new atom. The trapezoid rule in log w converges at a geometric rate. Below
the first node every integrand is :math:`w^{1 - \sigma}` times a quadratic to rounding, so that the
rest of the sum is three geometric series, which the weights of the first three nodes take in.
"""

import math
from typing import NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.kernels.topics.measures import LEAST, Grid, multiply, new_atoms

STEP = 0.3
# First and last node, in logs. The first is in units of 1 / max u, and leaves room for steps of u:
# with few observations and a small sigma, log u moves by tens at once.
FIRST, LAST = -32.0, 4.0
SERIES = np.arange(3)


class Factors(NamedTuple):
    """Nodes, and the factors there.

    Attributes
    ----------
    grid : Grid
        Nodes w (J,), exponentials of times and nodes (T, J), and G of regions and nodes (R, J).
    lost : array (R, J)
        1 - G.
    """

    grid: Grid
    lost: Array

    @classmethod
    def of(cls, q: Array, u: Array) -> "Factors":
        """Return the factors for q (R, T) and u (T,)."""
        first = FIRST - math.log(max(1.0, float((q * u).sum(axis=1).max()), float(u.max())))
        w = np.exp(np.arange(LAST, first, -STEP)[::-1])
        still, product, lost = (np.empty((n, len(w))) for n in (len(u), len(q), len(q)))
        grid = Grid(w, still, product)
        multiply(q, u, grid, lost)
        return cls(grid, lost)

    def weights(self, sigma: float) -> Array:
        """Weights (J,) of the nodes for integrals against the intensity with a = 1."""
        w, powers = self.grid.w, 1.0 - sigma + SERIES
        weights = STEP * np.exp(-sigma * np.log(w) - w - math.lgamma(1.0 - sigma))
        at_nodes = np.exp(STEP * np.outer(powers, SERIES))
        whole = at_nodes.sum(axis=1) + 1.0 / np.expm1(STEP * powers)
        weights[SERIES] *= np.linalg.solve(at_nodes, whole)
        return weights

    def exponents(self, sigma: float) -> Array:
        """Laplace exponents (R,) of processes with a = 1."""
        return self.lost @ self.weights(sigma)

    def without(self, q: Array, region: int, t: int) -> Array:
        """Product of the factors of all other times in a region, (J,)."""
        own = (1.0 - q[region, t]) + q[region, t] * self.grid.still[t]
        return self.grid.product[region] / np.maximum(own, LEAST)

    def new(self, q: Array, sigma: float) -> Array:
        """Weights (T, R) of a new atom of each region with a = 1 at each time."""
        out = np.empty(q.T.shape)
        new_atoms(q, self.grid, self.weights(sigma), out)
        return out
