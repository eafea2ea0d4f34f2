"""How much a new cluster weighs under the NGGP, in plain NumPy.

After n observations in K clusters it is omega = sigma K + n E[tau / (U + tau)] / E[U / (U + tau)],
with U the auxiliary variable of James, Lijoi and Prunster (2009).
"""

import math

import numpy as np

from benchmarks.streaming.numpy_adf import mode_weight

__all__ = ["NewWeight", "new_weight"]

FRESH = 1e-3  # relative change of n or K that asks for a new quadrature


def new_weight(n: float, K: float, a: float, sigma: float, tau: float) -> float:
    """Return omega by the trapezoid rule in v = log u, out to where the density has vanished."""
    if sigma == 0.0:
        return a
    _, mode = mode_weight(n, K, a, sigma, tau, math.log(tau))
    u = math.exp(mode)
    curvature = (n - sigma * K) * tau * u / (u + tau) ** 2
    curvature += a * u * (u + tau) ** (sigma - 2.0) * (tau + sigma * u)
    h, nodes = min(0.25, 0.5 / math.sqrt(curvature)), 32
    while True:
        v = mode + h * np.arange(-nodes, nodes + 1)
        u = np.exp(v)
        g = n * v - (n - sigma * K) * np.log(u + tau) - a / sigma * (u + tau) ** sigma
        g -= g[nodes]
        if max(g[0], g[-1]) < -38.0:
            break
        nodes *= 2
    density = np.exp(g)
    return sigma * K + n * np.sum(density * tau / (u + tau)) / np.sum(density * u / (u + tau))


class NewWeight:
    """The weight of a new cluster, computed again only where n or K has moved by 0.1 %."""

    def __init__(self, a: float, sigma: float, tau: float):
        self.prior = a, sigma, tau
        self.n = self.K = self.value = 0.0

    def __call__(self, n: float, K: float) -> float:
        """Return omega."""
        if abs(n - self.n) > FRESH * self.n or abs(K - self.K) > FRESH * self.K:
            self.n, self.K, self.value = n, K, new_weight(n, K, *self.prior)
        return self.value
