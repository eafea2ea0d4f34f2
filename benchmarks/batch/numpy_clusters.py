"""Clusters whose statistics grow and shrink, in plain NumPy; every slot from K on is empty."""

from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from benchmarks.streaming.numpy_gaussian import GaussianClusters

__all__ = ["Clusters", "Documents", "TunedDocuments", "Vectors"]

BLOCK = 24  # factors that share one log: floats hold 24 factors within 1e-12..1e12


class Clusters(Protocol):
    """What a sweep asks of clusters; the rows are theirs too."""

    capacity: int

    def log_predictive(self, i: int, slots: int) -> np.ndarray:
        """Log predictive of row i, (slots,)."""

    def add(self, i: int, slots: np.ndarray, q: np.ndarray) -> None:
        """Add q (n,), of either sign, times row i to the slots (n,)."""

    def move(self, source: int, target: int) -> None:
        """Move a cluster to another slot, and leave its own empty."""

    def grow(self) -> None:
        """Double the room."""


class Documents:
    """Multinomial clusters of the documents X (N, V).

    Statistics lie word by word, and a document is one expression over its words and all clusters.
    """

    def __init__(self, X: sparse.csr_array, alpha: float, capacity: int = 128):
        self.X, self.alpha, self.capacity = X, alpha, capacity
        self.totals = X.sum(axis=1)
        self.stats, self.length = np.zeros((X.shape[1], capacity)), np.zeros(capacity)

    def log_predictive(self, i: int, slots: int) -> np.ndarray:
        """Dirichlet-multinomial predictive of document i without its coefficient, (slots,)."""
        size = self.alpha * self.X.shape[1] + self.length[:slots]
        return self._log_rising(i, slots) - gammaln(size + self.totals[i]) + gammaln(size)

    def _log_rising(self, i: int, slots: int) -> np.ndarray:
        words, x = self._document(i)
        now = self.alpha + self.stats[words, :slots]
        return (gammaln(now + x[:, None]) - gammaln(now)).sum(axis=0)

    def add(self, i: int, slots: np.ndarray, q: np.ndarray) -> None:
        """Add q (n,), of either sign, times document i to the slots (n,)."""
        words, x = self._document(i)
        self.stats[words[:, None], slots] += x[:, None] * q
        self.length[slots] += self.totals[i] * q

    def move(self, source: int, target: int) -> None:
        """Move a cluster to another slot, and leave its own empty."""
        for values in (self.stats, self.length):
            values[..., target] = values[..., source]
            values[..., source] = 0.0

    def rebuild(self, r: sparse.csr_array) -> None:
        """Compute all statistics from responsibilities (N, K)."""
        K = r.shape[1]
        self.stats[:, :K], self.stats[:, K:] = (self.X.T @ r).toarray(), 0.0
        self.length[:K], self.length[K:] = self.totals @ r, 0.0

    def grow(self) -> None:
        """Double the room."""
        self.stats = np.pad(self.stats, ((0, 0), (0, self.capacity)))
        self.length = np.pad(self.length, (0, self.capacity))
        self.capacity *= 2

    def _document(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        some = slice(self.X.indptr[i], self.X.indptr[i + 1])
        return self.X.indices[some], self.X.data[some]


class TunedDocuments(Documents):
    """The same for whole counts, where log Gamma(a + x) / Gamma(a) is a product of x factors.

    Every token is one factor, and 24 factors share a log.
    """

    def __init__(self, X: sparse.csr_array, alpha: float, capacity: int = 128):
        super().__init__(X, alpha, capacity)
        times = X.data.astype(np.int64)
        ends = np.cumsum(times)
        self.words = np.repeat(X.indices, times)
        self.shift = alpha + np.arange(len(self.words)) - np.repeat(ends - times, times)
        self.start = np.append(0, ends)[X.indptr]

    def _log_rising(self, i: int, slots: int) -> np.ndarray:
        some = slice(self.start[i], self.start[i + 1])
        factors = self.stats[self.words[some], :slots]
        factors += self.shift[some, None]
        blocks = np.arange(0, len(factors), BLOCK)
        return np.log(np.multiply.reduceat(factors, blocks, axis=0)).sum(axis=0)


class Vectors:
    """Gaussian clusters with full covariances of the rows X (N, D); at most 255 of them."""

    capacity = 256

    def __init__(self, X: np.ndarray, mean: np.ndarray, kappa: float, nu: float, B: np.ndarray):
        self.X, self.clusters = X, GaussianClusters(self.capacity, mean, kappa, nu, B)

    def log_predictive(self, i: int, slots: int) -> np.ndarray:
        """Student-t density of row i, (slots,)."""
        return self.clusters.log_predictive(self.X[i], slots)

    def add(self, i: int, slots: np.ndarray, q: np.ndarray) -> None:
        """Add q (n,), of either sign, times row i to the slots (n,)."""
        for k, share in zip(slots, q, strict=True):
            self.clusters.add(k, self.X[i], share)

    def move(self, source: int, target: int) -> None:
        """Move a cluster to another slot, and leave its own empty."""
        for values in (self.clusters.mass, self.clusters.sums, self.clusters.squares):
            values[target], values[source] = values[source], 0.0
        self.clusters.refresh(target)
        self.clusters.refresh(source)

    def grow(self) -> None:
        """Refuse: the benchmark has a few dozen clusters."""
        raise ValueError(f"The NumPy version for vectors has room for {self.capacity} clusters.")
