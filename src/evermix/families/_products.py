"""Products of pairs of columns, each pair once: what a full covariance is linear in."""

import math
from functools import cache

import array_api_compat
import numpy as np

from evermix._xp import Array, alike, is_numpy, multiply_into, namespace
from evermix.kernels.device import dispatch as device
from evermix.kernels.products import write_products
from evermix.kernels.rows import plain


def products(x: Array) -> Array:
    """Return products x_d x_e, d <= e, of rows x (N, D), (N, D (D + 1) / 2)."""
    return _lead_by(x, 0)


def with_products(x: Array) -> Array:
    """Return rows x (N, D) and their products x_d x_e, d <= e, (N, D + D (D + 1) / 2)."""
    out = _lead_by(x, x.shape[1])
    out[:, : x.shape[1]] = x
    return out


def _lead_by(x: Array, lead: int) -> Array:
    """Return products of rows after so many columns, (N, lead + D (D + 1) / 2)."""
    N, D = x.shape
    shape = N, lead + D * (D + 1) // 2
    if is_numpy(x):
        out = np.empty(shape)
        write_products(plain(x), out)
        return out
    out = namespace(x).empty(shape, dtype=x.dtype, device=array_api_compat.device(x))
    if device.can_write_products(x):
        device.write_products(x, out)
        return out
    for d in range(D):
        multiply_into(x[:, d : d + 1], x[:, d:], out[:, lead : lead + D - d])
        lead += D - d
    return out


def folded(second: Array) -> Array:
    """Return flat symmetric matrices (K, D D) as coefficients of the products."""
    upper, times, _ = _places(math.isqrt(second.shape[1]))
    once = namespace(second).take(second, alike(upper, second), axis=1)
    once *= alike(times, second)
    return once


def unfolded(sums: Array, D: int) -> Array:
    """Return sums of products (K, D (D + 1) / 2) as flat symmetric matrices, (K, D D)."""
    return namespace(sums).take(sums, alike(_places(D)[2], sums), axis=1)


@cache
def _places(D: int) -> tuple[Array, Array, Array]:
    """Where entries (d, e), d <= e, of a flat matrix are, how often they occur; the way back."""
    d, e = np.triu_indices(D)
    back = np.zeros((D, D), dtype=np.int64)
    back[d, e] = back[e, d] = np.arange(len(d))
    return d * D + e, np.where(d == e, 1.0, 2.0), back.ravel()
