r"""Full covariances: the Wishart distribution, and products of pairs of columns, each pair once.

B is the inverse of the Wishart's scale matrix: E[Lambda] = nu B^-1. Products are what the log
likelihood is linear in.
"""

import math
from functools import cache

import array_api_compat
import numpy as np

from evermix._xp import (
    Array,
    Floats,
    Ints,
    alike,
    host,
    is_numpy,
    multidigamma,
    multigammaln,
    multiply_into,
    namespace,
)
from evermix.kernels.device import dispatch as device
from evermix.kernels.linear_algebra import factor, gram, invert, write_products
from evermix.kernels.rows import plain


def _cholesky(B: Array) -> Array:
    """Return the factor of matrices B (..., D, D) that are positive definite up to rounding.

    Rows 1e10 standard deviations from the rest cancel all digits of the other directions. Such a
    cluster gets the least ridge that makes up for it, instead of ending the stream.
    """
    if not is_numpy(B):
        try:
            return namespace(B).linalg.cholesky(B)
        except (np.linalg.LinAlgError, RuntimeError):  # what PyTorch raises is a RuntimeError
            return alike(_cholesky(host(B)), B)
    flat = _stack(B)
    L, ok = np.zeros(flat.shape), np.empty(len(flat), dtype=np.bool_)
    factor(flat, L, ok)
    for k in np.flatnonzero(~ok):
        L[k] = _ridged_cholesky(flat[k])
    return L.reshape(B.shape)


def _stack(B: Floats) -> Floats:
    """Return matrices (..., D, D) as one stack (K, D, D) for the kernels."""
    return plain(B.reshape(-1, *B.shape[-2:]))


def _ridged_cholesky(B: Floats) -> Floats:
    if not np.all(np.isfinite(B)):
        raise ValueError("a cluster's scatter matrix overflowed. Rescale the features or weights.")
    eps = np.finfo(np.float64).eps
    size: Floats = np.abs(np.diagonal(B))
    size = np.maximum(size, eps * size.max() if size.any() else 1.0)
    ridge = 0.0
    while True:  # ends: from 1 / eps on, the ridge dominates
        try:
            return np.asarray(np.linalg.cholesky(B + ridge * np.diag(size)), dtype=np.float64)
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, eps)


def log_det(B: Array) -> Array:
    """Log determinant of positive definite matrices B (K, D, D), (K,)."""
    return 2 * _log_diagonal(_cholesky(B))


def _log_diagonal(L: Array) -> Array:
    xp = namespace(L)
    return xp.sum(xp.log(xp.linalg.diagonal(L)), axis=-1)


def log_normaliser(nu: Array, B: Array) -> Array:
    """Log of the integral of |Lambda|^((nu-D-1)/2) exp(-tr(Lambda B)/2), (K,)."""
    D = B.shape[-1]
    return 0.5 * nu * (D * math.log(2) - log_det(B)) + multigammaln(nu / 2, D)


def expected_log_det(nu: float, B: Floats) -> float:
    """E log|Lambda| of one matrix B (D, D)."""
    return float(_expected_log_dets(np.array([nu]), log_det(B[None]), B.shape[-1])[0])


def mean_params(nu: Array, B: Array) -> tuple[Array, Array]:
    """E[-Lambda / 2] (K, D, D) and E[log|Lambda| / 2] (K,) of B (K, D, D), one factor for both."""
    W = whiteners(B)
    if is_numpy(W):
        half = np.empty(W.shape)
        gram(W, -0.5 * nu, half)
    else:
        half = (-0.5 * nu)[:, None, None] * (namespace(W).matrix_transpose(W) @ W)
    return half, 0.5 * _expected_log_dets(nu, whitener_log_det(W), B.shape[-1])


def _expected_log_dets(nu: Array, log_dets: Array, D: int) -> Array:
    return multidigamma(nu / 2, D) + D * math.log(2) - log_dets


def whiteners(B: Array) -> Array:
    """Return W, lower triangular, with B^-1 = W^T W, for matrices B (..., D, D)."""
    xp, L = namespace(B), _cholesky(B)
    if not is_numpy(L):
        return xp.tril(xp.linalg.inv(L))
    W = _stack(L)
    invert(W)
    return W.reshape(B.shape)


def whiteners_with_room(B: Floats, capacity: int) -> Floats:
    """Return whiteners of matrices B (K, D, D), followed by zeros, (capacity, D, D)."""
    W = np.zeros((capacity, *B.shape[1:]))
    W[: len(B)] = whiteners(B)
    return W


def squares(x: Array, B: Array) -> Array:
    """Return x^T B^-1 x of every row of x (N, D) for one matrix B (D, D), (N,)."""
    return _squared_lengths(x, alike(whiteners(B), x))


def whitened_squares(x: Array, W: Array, mean: Array | None = None) -> Array:
    """Return squared lengths of W (x - mean) (N, K) for rows x (N, D), W (K, D, D), mean (K, D)."""
    centred = (x if mean is None else x - mean[k, :] for k in range(W.shape[0]))
    return namespace(x).stack(
        [_squared_lengths(y, W[k, :, :]) for k, y in enumerate(centred)], axis=1
    )


def _squared_lengths(x: Array, W: Array) -> Array:
    return namespace(x).sum((x @ W.T) ** 2, axis=1)


def whitener_log_det(W: Array) -> Array:
    """Log determinant (K,) of the matrices B whose whiteners are W (K, D, D)."""
    return -2 * _log_diagonal(W)


def draw_covariance_factor(nu: float, B: Floats, rng: np.random.Generator) -> Floats:
    """Draw A (D, D) such that A A^T is a covariance: the inverse of a Wishart(nu, B) precision.

    Bartlett's decomposition: with B = C C^T and a random triangular T, the precision is
    (C^-T T)(C^-T T)^T, so that A = C T^-T.
    """
    (T,) = _draw_bartlett(np.array([nu]), B.shape[0], rng)
    return _cholesky(B) @ np.linalg.inv(T).T


def draw_precision_factors(nu: Floats, B: Floats, rng: np.random.Generator) -> Floats:
    """Draw R (K, D, D) such that R R^T are Wishart(nu, B) precisions, for nu (K,), B (K, D, D)."""
    return whiteners(B).transpose(0, 2, 1) @ _draw_bartlett(nu, B.shape[-1], rng)


def _draw_bartlett(nu: Floats, D: int, rng: np.random.Generator) -> Floats:
    """Draw triangular T (K, D, D) such that T T^T are Wishart(nu, I)."""
    d = np.arange(D)
    T = np.tril(rng.standard_normal((len(nu), D, D)), -1)
    T[:, d, d] = np.sqrt(rng.chisquare(nu[:, None] - d))
    return T


# ---- products of pairs of columns -----------------------------------------------------------


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
def _places(D: int) -> tuple[Ints, Floats, Ints]:
    """Where entries (d, e), d <= e, of a flat matrix are, how often they occur; the way back."""
    d, e = np.triu_indices(D)
    back = np.zeros((D, D), dtype=np.int64)
    back[d, e] = back[e, d] = np.arange(len(d))
    return d * D + e, np.where(d == e, 1.0, 2.0), back.ravel()
