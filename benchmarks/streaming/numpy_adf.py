"""Algorithm 1 of Tank, Foti and Fox (2015) in plain vectorised NumPy, misprints mended.

This is what one would write for the paper's mixture of multinomials without a compiler: statistics
lie word by word, a document is one expression over its words and all clusters, and only clusters
with a responsibility above rounding are updated.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln

__all__ = ["Result", "adf_multinomial", "mode_weight"]


class Result(NamedTuple):
    """Most probable cluster of each row (N,), and the masses of the clusters (K,)."""

    labels: np.ndarray
    mass: np.ndarray


def mode_weight(
    n: float, K: float, a: float, sigma: float, tau: float, v: float
) -> tuple[float, float]:
    """Return the weight of a new cluster at the mode of log U, and the mode; start from v.

    Newton's method on F(v) = log(a u (u + tau)^sigma) - log(n tau + sigma K u).
    """
    if sigma == 0.0:
        return a, v
    for _ in range(100):
        u = math.exp(v)
        F = math.log(a) + sigma * math.log(u + tau) + v - math.log(n * tau + sigma * K * u)
        if abs(F) < 1e-12:
            break
        v -= F / (1.0 + sigma * u / (u + tau) - sigma * K * u / (n * tau + sigma * K * u))
    return a * (math.exp(v) + tau) ** sigma, v


def adf_multinomial(
    X: sparse.csr_array, alpha: float, a: float, sigma: float, tau: float, birth: float
) -> Result:
    """Learn the documents X (N, V) in one pass with the published rule."""
    N, V = X.shape
    capacity, K = 256, 0
    stats, length = np.zeros((V, capacity)), np.zeros(capacity)
    mass, log_empty = np.zeros(capacity), np.zeros(capacity)
    labels = np.zeros(N, dtype=np.int64)
    v = math.log(tau)
    for i in range(N):
        some = slice(X.indptr[i], X.indptr[i + 1])
        words, x = X.indices[some], X.data[some]
        total = x.sum()
        if K + 1 == capacity:
            grow = ((0, 0), (0, capacity))
            stats, capacity = np.pad(stats, grow), 2 * capacity
            length, mass, log_empty = (np.pad(b, grow[1]) for b in (length, mass, log_empty))
        now = alpha + stats[words, : K + 1]
        rho = (gammaln(now + x[:, None]) - gammaln(now)).sum(axis=0)
        size = alpha * V + length[: K + 1]
        rho -= gammaln(size + total) - gammaln(size)
        if K:
            occupied = -np.expm1(log_empty[:K]).sum()
            omega, v = mode_weight(float(i), occupied, a, sigma, tau, v)
            with np.errstate(divide="ignore"):
                rho[:K] += np.log(np.maximum(mass[:K] - sigma, 0.0))
            rho[K] += math.log(omega)
        q = np.exp(rho - rho.max())
        q /= q.sum()
        if q[K] > birth:
            K += 1
        else:
            q = q[:K] / q[:K].sum()
        labels[i] = q.argmax()
        live = np.flatnonzero(q > 1e-16)
        q = q[live]
        mass[live] += q
        log_empty[live] += np.log1p(-np.minimum(q, 1.0 - 1e-12))
        stats[words[:, None], live] += x[:, None] * q
        length[live] += total * q
    return Result(labels, mass[:K])
