"""A sweep of Gibbs sampling for Gibbs-type mixtures in plain NumPy.

One row after the other is taken out of its cluster and put into cluster k with probability
proportional to (n_k - sigma) times its predictive there, or into a new one, of weight
omega(n - 1, K), which is computed once for every K.
"""

from functools import cache

import numpy as np

from benchmarks.batch.numpy_clusters import Clusters
from benchmarks.batch.numpy_weights import new_weight

__all__ = ["Chain"]

ONE = np.ones(1)


class Chain:
    """A partition of the rows of ``clusters``, given by labels 0..K-1, and its sampler."""

    def __init__(
        self, clusters: Clusters, labels: np.ndarray, a: float, sigma: float, tau: float
    ) -> None:
        self.clusters, self.labels, self.sigma = clusters, labels.copy(), sigma
        self.K, n = int(labels.max()) + 1, len(labels) - 1
        self.omega = cache(lambda K: new_weight(n, K, a, sigma, tau))
        while self.K + 1 >= clusters.capacity:
            clusters.grow()
        self.sizes = np.zeros(clusters.capacity)
        for i, k in enumerate(labels):
            self._put(i, k)

    def sweep(self, rng: np.random.Generator) -> None:
        """Move every row once, in random order."""
        for i in rng.permutation(len(self.labels)):
            self._take(i)
            K = self.K
            rho = self.clusters.log_predictive(i, K + 1)
            weights = np.append(self.sizes[:K] - self.sigma, self.omega(K))
            total = np.cumsum(weights * np.exp(rho - rho.max()))
            k = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
            if k == K:
                self._open()
            self._put(i, k)

    def _put(self, i: int, k: int) -> None:
        self.labels[i] = k
        self.sizes[k] += 1.0
        self.clusters.add(i, np.array([k]), ONE)

    def _take(self, i: int) -> None:
        """Take row i out; if that empties its cluster, the last one takes the place."""
        k = self.labels[i]
        self.sizes[k] -= 1.0
        self.clusters.add(i, np.array([k]), -ONE)
        if self.sizes[k]:
            return
        self.K -= 1
        if k == self.K:
            self.clusters.move(self.K + 1, k)  # an empty one: a difference leaves rounding errors
            return
        self.clusters.move(self.K, k)
        self.sizes[k], self.sizes[self.K] = self.sizes[self.K], 0.0
        self.labels[self.labels == self.K] = k

    def _open(self) -> None:
        self.K += 1
        if self.K + 1 >= self.clusters.capacity:
            self.clusters.grow()
            self.sizes = np.pad(self.sizes, (0, self.clusters.capacity - len(self.sizes)))
