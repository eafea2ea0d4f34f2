"""Partitions as arrays: a common numbering, and losses between one partition and many."""

from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from evermix._xp import Array
from evermix.kernels.partitions import number_clusters, shared_terms, size_terms

Loss: TypeAlias = Literal["vi", "binder"]
"""Variation of information, in nats; or Binder's loss, the share of pairs that disagree."""


def numbered(labels: Array) -> tuple[Array, Array]:
    """Number the clusters of each partition 0, 1, ... in the order in which they appear.

    Parameters
    ----------
    labels : int32 array (M, N)
        M partitions of N rows; any numbers.

    Returns
    -------
    codes : int32 array (M, N)
        The same partitions; two that are equal have equal codes.
    K : int64 array (M,)
        How many clusters each has.
    """
    low, high = int(labels.min()), int(labels.max())
    if high - low > max(labels.size, 2**16):  # a table from one to the other would be too large
        ranks = np.unique(labels, return_inverse=True)[1]
        labels, low = ranks.reshape(labels.shape).astype(np.int32), 0
    codes = np.empty(labels.shape, dtype=np.int32)
    K = np.empty(len(labels), dtype=np.int64)
    number_clusters(labels, low, codes, K)
    return codes, K


def entropies(codes: Array) -> Array:
    """Entropy (M,), in nats, of the cluster sizes of each partition (M, N), numbered from 0."""
    N = codes.shape[1]
    return np.maximum(np.log(N) - _size_terms(codes, _terms("vi", N)), 0.0)


def expected_losses(candidates: Array, draws: Array, loss: Loss) -> Array:
    """Mean loss (C,) between each candidate and all draws.

    With N_A, N_B and N_AB the sizes of the clusters of two partitions and of their intersections,
    both losses are sum f(N_A) + sum f(N_B) - 2 sum f(N_AB): with f(n) = n log(n) / N it is the
    variation of information, with f(n) = (n / N)^2 it is Binder's loss.

    Parameters
    ----------
    candidates : int32 array (C, N)
        Partitions, numbered from 0.
    draws : int32 array (M, N)
        Partitions, numbered from 0.
    loss : {"vi", "binder"}
    """
    f = _terms(loss, draws.shape[1])
    shared = np.array([shared_terms(candidate, draws, f) for candidate in candidates])
    losses = _size_terms(candidates, f) + _size_terms(draws, f).mean() - 2.0 * shared
    return np.maximum(losses, 0.0)  # the last bits of a difference may be negative


def _terms(loss: Loss, N: int) -> Array:
    n = np.arange(N + 1.0)
    if loss == "vi":
        return special.xlogy(n, n) / N
    if loss == "binder":
        return (n / N) ** 2
    raise ValueError(f"loss must be 'vi' or 'binder', got {loss!r}.")


def _size_terms(codes: Array, f: Array) -> Array:
    out = np.empty(len(codes))
    size_terms(codes, f, out)
    return out
