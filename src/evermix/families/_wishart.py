r"""The Wishart distribution, with B the inverse of its scale matrix: E[Lambda] = nu B^-1."""

import math
from functools import cache

import numpy as np

from evermix._xp import Array, multidigamma, multigammaln, namespace

__all__ = [
    "draw_covariance_factor",
    "draw_precision_factors",
    "expected_log_det",
    "folded",
    "inverse",
    "log_det",
    "log_normaliser",
    "products",
    "squares",
    "unfolded",
    "whiteners",
]


def _cholesky(B: Array) -> Array:
    """Return the factor of matrices B (..., D, D) that are positive definite up to rounding.

    Rows 1e10 standard deviations from the rest cancel all digits of the other directions. Such a
    cluster gets the least ridge that makes up for it, instead of ending the stream.
    """
    xp = namespace(B)
    try:
        return xp.linalg.cholesky(B)
    except np.linalg.LinAlgError:
        D = B.shape[-1]
        flat = [_ridged_cholesky(b) for b in xp.reshape(B, (-1, D, D))]
        return xp.reshape(xp.stack(flat), B.shape)


def _ridged_cholesky(B: Array) -> Array:
    if not np.all(np.isfinite(B)):
        raise ValueError("a cluster's scatter matrix overflowed. Rescale the features or weights.")
    eps = np.finfo(np.float64).eps
    size = np.abs(np.diagonal(B))
    size = np.maximum(size, eps * size.max() if size.any() else 1.0)
    ridge = 0.0
    while True:  # ends: from 1 / eps on, the ridge dominates
        try:
            return np.linalg.cholesky(B + ridge * np.diag(size))
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, eps)


def log_det(B: Array) -> Array:
    """Log determinant of positive definite matrices B (K, D, D), (K,)."""
    xp = namespace(B)
    return 2 * xp.sum(xp.log(xp.linalg.diagonal(_cholesky(B))), axis=-1)


def log_normaliser(nu: Array, B: Array) -> Array:
    """Log of the integral of |Lambda|^((nu-D-1)/2) exp(-tr(Lambda B)/2), (K,)."""
    D = B.shape[-1]
    return 0.5 * nu * (D * math.log(2) - log_det(B)) + multigammaln(nu / 2, D)


def expected_log_det(nu: Array, B: Array) -> Array:
    """E log|Lambda|, (K,)."""
    D = B.shape[-1]
    return multidigamma(nu / 2, D) + D * math.log(2) - log_det(B)


def whiteners(B: Array) -> Array:
    """Return W, lower triangular, with B^-1 = W^T W, for matrices B (..., D, D)."""
    xp = namespace(B)
    return xp.tril(xp.linalg.inv(_cholesky(B)))


def inverse(B: Array) -> Array:
    """Return B^-1 of positive definite matrices B (K, D, D)."""
    W = whiteners(B)
    return namespace(B).matrix_transpose(W) @ W


def squares(x: Array, B: Array) -> Array:
    """Return x^T B^-1 x of every row of x (N, D) for one matrix B (D, D), (N,)."""
    return namespace(x).sum((x @ whiteners(B).T) ** 2, axis=1)


def products(x: Array) -> Array:
    """Products x_d x_e, d <= e, of every row of x (N, D), (N, D (D + 1) / 2)."""
    xp, D = namespace(x), x.shape[1]
    return xp.concat([x[:, d : d + 1] * x[:, d:] for d in range(D)], axis=1)


def folded(second: Array) -> Array:
    """Return flat matrices (K, D D) as coefficients of :func:`products`, (K, D (D + 1) / 2)."""
    xp, (upper, lower, half, _) = namespace(second), _places(math.isqrt(second.shape[1]))
    both = (xp.take(second, xp.asarray(side), axis=1) for side in (upper, lower))
    return xp.asarray(half) * (next(both) + next(both))


def unfolded(sums: Array, D: int) -> Array:
    """Return sums of products (K, D (D + 1) / 2) as flat symmetric matrices, (K, D D)."""
    xp = namespace(sums)
    return xp.take(sums, xp.asarray(_places(D)[3]), axis=1)


@cache
def _places(D: int) -> tuple[Array, Array, Array, Array]:
    """Where entry (d, e), d <= e, of a flat matrix is, and (e, d); 1/2 on the diagonal; the way
    back, (D D,).
    """
    d, e = np.triu_indices(D)
    back = np.zeros((D, D), dtype=np.int64)
    back[d, e] = back[e, d] = np.arange(len(d))
    return d * D + e, e * D + d, np.where(d == e, 0.5, 1.0), back.ravel()


def draw_covariance_factor(nu: float, B: Array, rng: np.random.Generator) -> Array:
    """Draw A (D, D) such that A A^T is a covariance: the inverse of a Wishart(nu, B) precision.

    Bartlett's decomposition: with B = C C^T and a random triangular T, the precision is
    (C^-T T)(C^-T T)^T, so that A = C T^-T.
    """
    (T,) = _draw_bartlett(np.array([nu]), B.shape[0], rng)
    return _cholesky(B) @ np.linalg.inv(T).T


def draw_precision_factors(nu: Array, B: Array, rng: np.random.Generator) -> Array:
    """Draw R (K, D, D) such that R R^T are Wishart(nu, B) precisions, for nu (K,), B (K, D, D)."""
    return whiteners(B).transpose(0, 2, 1) @ _draw_bartlett(nu, B.shape[-1], rng)


def _draw_bartlett(nu: Array, D: int, rng: np.random.Generator) -> Array:
    """Draw triangular T (K, D, D) such that T T^T are Wishart(nu, I)."""
    d = np.arange(D)
    T = np.tril(rng.standard_normal((len(nu), D, D)), -1)
    T[:, d, d] = np.sqrt(rng.chisquare(nu[:, None] - d))
    return T
