"""A lap of EP for mixtures of multinomials in plain NumPy.

A row's site is its vector of responsibilities. One row after the other its site is taken out, its
responsibilities are computed from what is left, and put back: a cluster of mass S_k, occupied with
probability p_k, weighs S_k - sigma p_k, a new one omega(n, sum of p). The first lap has no sites
yet, and is assumed density filtering.
"""

import numpy as np
from scipy import sparse

from benchmarks.batch.numpy_clusters import Documents
from benchmarks.batch.numpy_weights import NewWeight

__all__ = ["Sites"]

HARD = 1.0 - 1e-12  # a responsibility from here on counts as certain
NEGLIGIBLE = 1e-16  # smaller responsibilities are lost in rounding
EMPTY = 1e-6  # mass below which a cluster has lost its last row


class Sites:
    """The sites of the rows of ``clusters``, and the masses that follow from them."""

    def __init__(
        self, clusters: Documents, N: int, a: float, sigma: float, tau: float, birth: float
    ) -> None:
        self.clusters, self.sigma, self.birth = clusters, sigma, birth
        self.omega = NewWeight(a, sigma, tau)
        self.K = 0
        # Mass, log probability of being empty, certain rows.
        self.counts = np.zeros((3, clusters.capacity))
        self.rows: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0, int), np.empty(0))] * N
        self.labels = np.zeros(N, dtype=np.int64)

    def lap(self) -> None:
        """Visit every row once, then drop small clusters and rounding errors."""
        for i in range(len(self.rows)):
            self._take(i)
            self._put(i, self._responsibilities(i))
        self._tidy()

    def _responsibilities(self, i: int) -> np.ndarray:
        """Return the responsibilities of row i, with the new cluster last if it is opened."""
        rho, K = self.clusters.log_predictive(i, self.K + 1), self.K
        mass, log_empty, hard = self.counts[:, :K]
        occupied = np.minimum(mass, np.where(hard > 0, 1.0, -np.expm1(log_empty)))
        new = self.omega(mass.sum(), occupied.sum()) if K else 1.0
        q = np.append(mass - self.sigma * occupied, new) * np.exp(rho - rho.max())
        q /= q.sum()
        return q if q[K] > self.birth else q[:K] / q[:K].sum()

    def _put(self, i: int, q: np.ndarray) -> None:
        if len(q) > self.K:
            self._open()
        self.labels[i] = q.argmax()
        slots = np.flatnonzero(q > NEGLIGIBLE)
        self.rows[i] = slots, q[slots]
        self.clusters.add(i, *self.rows[i])
        self.counts[:, slots] += _counts(q[slots])

    def _take(self, i: int) -> None:
        """Take row i out; a cluster that it leaves without mass is a hole until the lap ends."""
        slots, q = self.rows[i]
        self.clusters.add(i, slots, -q)
        self.counts[:, slots] -= _counts(q)
        gone = slots[self.counts[0, slots] < EMPTY]
        self.counts[:, gone] = 0.0
        np.minimum(self.counts[1], 0.0, out=self.counts[1])

    def _tidy(self) -> None:
        lengths = [len(slots) for slots, _ in self.rows]
        slots, q = (np.concatenate(values) for values in zip(*self.rows, strict=True))
        r = sparse.csr_array((q, slots, np.append(0, np.cumsum(lengths))), (len(lengths), self.K))
        kept = np.flatnonzero(self.counts[0, : self.K] >= self.birth)
        r, self.K = r[:, kept], len(kept)
        cuts = r.indptr[1:-1]
        self.rows = list(zip(np.split(r.indices, cuts), np.split(r.data, cuts), strict=True))
        self.clusters.rebuild(r)
        self.counts[:] = 0.0
        for values, of in zip(self.counts, _counts(r.data), strict=True):
            values[: self.K] = np.bincount(r.indices, of, minlength=self.K)
        self.labels = r.argmax(axis=1)

    def _open(self) -> None:
        self.K += 1
        if self.K + 1 >= self.clusters.capacity:
            self.clusters.grow()
            room = self.clusters.capacity - self.counts.shape[1]
            self.counts = np.pad(self.counts, ((0, 0), (0, room)))


def _counts(q: np.ndarray) -> np.ndarray:
    """Return what responsibilities (n,) add to mass, log probability of empty, and certain rows."""
    hard = q >= HARD
    return np.array([q, np.log1p(-np.where(hard, 0.0, q)), hard])
