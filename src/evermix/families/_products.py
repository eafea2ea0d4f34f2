"""Products of pairs of columns, each pair once: what a full covariance is linear in."""

import math
from functools import cache

import numpy as np

from evermix._xp import Array, alike, is_numpy, namespace

__all__ = ["folded", "unfolded", "with_products"]


def with_products(x: Array) -> Array:
    """Return rows x (N, D) and their products x_d x_e, d <= e, (N, D + D (D + 1) / 2)."""
    D = x.shape[1]
    if not is_numpy(x):
        parts = [x[:, d : d + 1] * x[:, d:] for d in range(D)]
        return namespace(x).concat([x, *parts], axis=1)
    # Column by column in one buffer, where writes are long: a quarter of the time.
    columns = np.empty((D + D * (D + 1) // 2, x.shape[0]))
    columns[:D] = x.T
    start = D
    for d in range(D):
        np.multiply(columns[d], columns[d:D], out=columns[start : start + D - d])
        start += D - d
    return columns.T


def folded(second: Array) -> Array:
    """Return flat matrices (K, D D) as coefficients of the products, (K, D (D + 1) / 2)."""
    xp, (upper, lower, half, _) = namespace(second), _places(math.isqrt(second.shape[1]))
    both = [xp.take(second, alike(side, second), axis=1) for side in (upper, lower)]
    return alike(half, second) * (both[0] + both[1])


def unfolded(sums: Array, D: int) -> Array:
    """Return sums of products (K, D (D + 1) / 2) as flat symmetric matrices, (K, D D)."""
    return namespace(sums).take(sums, alike(_places(D)[3], sums), axis=1)


@cache
def _places(D: int) -> tuple[Array, Array, Array, Array]:
    """Where entry (d, e), d <= e, of a flat matrix is, and (e, d); 1/2 on the diagonal; the way
    back, (D D,).
    """
    d, e = np.triu_indices(D)
    back = np.zeros((D, D), dtype=np.int64)
    back[d, e] = back[e, d] = np.arange(len(d))
    return d * D + e, e * D + d, np.where(d == e, 0.5, 1.0), back.ravel()
