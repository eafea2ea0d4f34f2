"""The same algorithm for Gaussian clusters with full covariances, in plain vectorised NumPy.

Each cluster keeps its mean, the inverse of its Cholesky factor and the constant of its predictive,
so that a row is one batched product over all clusters, and only clusters with a responsibility
above rounding are computed anew. (The prior is a DP: the weight of a new cluster costs nothing.)
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import gammaln

from benchmarks.streaming.numpy_adf import Result

__all__ = ["GaussianClusters", "adf_gaussian"]


class GaussianClusters:
    """Normal-Wishart posteriors with everything that the predictive needs; slot K is empty."""

    def __init__(self, capacity: int, mean: np.ndarray, kappa: float, nu: float, B: np.ndarray):
        D = len(mean)
        self.prior = mean, kappa, nu, B
        self.mass = np.zeros(capacity)
        self.sums, self.squares = np.zeros((capacity, D)), np.zeros((capacity, D, D))
        self.means, self.whiteners = np.zeros((capacity, D)), np.zeros((capacity, D, D))
        self.constant, self.shrink, self.power = np.zeros((3, capacity))
        for k in range(capacity):
            self.refresh(k)

    def refresh(self, k: int) -> None:
        """Compute what follows from the statistics of cluster k."""
        mean, kappa0, nu0, B0 = self.prior
        D = len(mean)
        kappa, nu = kappa0 + self.mass[k], nu0 + self.mass[k]
        m = (kappa0 * mean + self.sums[k]) / kappa
        B = B0 + self.squares[k] + kappa0 * np.outer(mean, mean) - kappa * np.outer(m, m)
        L = cholesky(B, lower=True, check_finite=False)
        self.means[k] = m
        self.whiteners[k] = solve_triangular(L, np.eye(D), lower=True, check_finite=False)
        self.shrink[k], self.power[k] = kappa / (kappa + 1), 0.5 * (nu + 1)
        self.constant[k] = (
            gammaln(0.5 * (nu + 1))
            - gammaln(0.5 * (nu + 1 - D))
            + 0.5 * D * np.log(self.shrink[k] / np.pi)
            - np.log(np.diag(L)).sum()
        )

    def log_predictive(self, x: np.ndarray, slots: int) -> np.ndarray:
        """Student-t density of x in each slot, (slots,)."""
        z = self.whiteners[:slots] @ (x - self.means[:slots])[:, :, None]
        squared = np.einsum("kdi,kdi->k", z, z)
        return self.constant[:slots] - self.power[:slots] * np.log1p(self.shrink[:slots] * squared)

    def add(self, k: int, x: np.ndarray, q: float) -> None:
        """Add q times the row x to cluster k."""
        self.mass[k] += q
        self.sums[k] += q * x
        self.squares[k] += q * np.outer(x, x)
        self.refresh(k)


def adf_gaussian(
    X: np.ndarray, mean: np.ndarray, kappa: float, nu: float, B: np.ndarray, a: float, birth: float
) -> Result:
    """Learn the rows X (N, D) in one pass; at most 255 clusters."""
    clusters, K = GaussianClusters(256, mean, kappa, nu, B), 0
    labels = np.zeros(len(X), dtype=np.int64)
    for i, x in enumerate(X):
        rho = clusters.log_predictive(x, K + 1)
        rho += np.log(np.append(clusters.mass[:K], a))
        q = np.exp(rho - rho.max())
        q /= q.sum()
        if K == 0 or q[K] > birth:
            K += 1
        else:
            q = q[:K] / q[:K].sum()
        labels[i] = q.argmax()
        for k in np.flatnonzero(q > 1e-16):
            clusters.add(k, x, q[k])
    return Result(labels, clusters.mass[:K])
