r"""The Wishart distribution, with B the inverse of its scale matrix: E[Lambda] = nu B^-1."""

import math

import numpy as np

from evermix._xp import Array, alike, host, is_numpy, multidigamma, multigammaln, namespace
from evermix.kernels.cholesky import factor, gram, invert
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


def _stack(B: Array) -> Array:
    """Return matrices (..., D, D) as one stack (K, D, D) for the kernels."""
    return plain(B.reshape(-1, *B.shape[-2:]))


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
    return 2 * _log_diagonal(_cholesky(B))


def _log_diagonal(L: Array) -> Array:
    xp = namespace(L)
    return xp.sum(xp.log(xp.linalg.diagonal(L)), axis=-1)


def log_normaliser(nu: Array, B: Array) -> Array:
    """Log of the integral of |Lambda|^((nu-D-1)/2) exp(-tr(Lambda B)/2), (K,)."""
    D = B.shape[-1]
    return 0.5 * nu * (D * math.log(2) - log_det(B)) + multigammaln(nu / 2, D)


def expected_log_det(nu: float, B: Array) -> float:
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


def squares(x: Array, B: Array) -> Array:
    """Return x^T B^-1 x of every row of x (N, D) for one matrix B (D, D), (N,)."""
    return whitened_squares(x, alike(whiteners(B), x))


def whitened_squares(x: Array, W: Array) -> Array:
    """Return the squared lengths of W x (N,) for every row of x (N, D) and one matrix W (D, D)."""
    return namespace(x).sum((x @ W.T) ** 2, axis=1)


def whitener_log_det(W: Array) -> Array:
    """Log determinant (K,) of the matrices B whose whiteners are W (K, D, D)."""
    return -2 * _log_diagonal(W)


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
