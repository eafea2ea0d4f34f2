"""A plain collapsed Gibbs sampler of the Dirichlet multinomial mixture ("movie group process").

Yin and Wang (2014): a text of words w leaves its cluster and joins cluster k with probability
proportional to ``(m_k + alpha) prod_w rising(n_kw + beta, c_w) / rising(n_k + V beta, c)``.
"""

import numpy as np
from numba import njit
from scipy import sparse

__all__ = ["gsdmm"]


def gsdmm(
    X: sparse.csr_array, K: int, alpha: float, beta: float, sweeps: int, seed: int
) -> np.ndarray:
    """Return the clusters of the texts (N,) after some sweeps from random labels.

    X holds whole counts (N, V); at most K clusters are used.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, X.shape[0])
    words = np.zeros((X.shape[1], K))
    # One uniform for every draw, so that the seed alone decides.
    uniforms = rng.random((sweeps, X.shape[0]))
    _sample(X.indptr, X.indices, X.data, labels, words, alpha, beta, uniforms)
    return labels


@njit(cache=True)
def _sample(indptr, indices, counts, labels, words, alpha, beta, uniforms):
    """Sweep over the texts, changing the labels."""
    V, K = words.shape
    texts, totals, logs = np.zeros(K), np.zeros(K), np.empty(K)
    for i in range(labels.size):
        _move(indptr, indices, counts, words, texts, totals, i, labels[i], 1.0)
    for sweep in range(uniforms.shape[0]):
        for i in range(labels.size):
            _move(indptr, indices, counts, words, texts, totals, i, labels[i], -1.0)
            logs[:] = np.log(texts + alpha)
            length = 0.0
            for j in range(indptr[i], indptr[i + 1]):
                for repeat in range(int(counts[j])):
                    row = words[indices[j]]
                    for k in range(K):
                        ratio = (row[k] + beta + repeat) / (totals[k] + V * beta + length)
                        logs[k] += np.log(ratio)
                    length += 1.0
            labels[i] = _draw(logs, uniforms[sweep, i])
            _move(indptr, indices, counts, words, texts, totals, i, labels[i], 1.0)


@njit(cache=True)
def _move(indptr, indices, counts, words, texts, totals, i, k, sign):
    """Add a text to a cluster, or take it out."""
    texts[k] += sign
    for j in range(indptr[i], indptr[i + 1]):
        words[indices[j], k] += sign * counts[j]
        totals[k] += sign * counts[j]


@njit(cache=True)
def _draw(logs, uniform):
    shares = np.cumsum(np.exp(logs - logs.max()))
    return min(np.searchsorted(shares, uniform * shares[-1]), logs.size - 1)
