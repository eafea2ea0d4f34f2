"""The array namespace and the special functions: the only file that knows where arrays live.

Everything above writes ``xp = namespace(x)`` and then the array API standard, so that the same
maths runs on any array library.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from scipy import sparse, special

__all__ = [
    "Array",
    "alike",
    "digamma",
    "gammaln",
    "host",
    "is_numpy",
    "logsumexp",
    "multidigamma",
    "multigammaln",
    "namespace",
    "nth_largest",
    "take_rows",
]

Array: TypeAlias = Any
"""An array of any supported library; its shape stands in the docstring that uses it."""


def namespace(*arrays: Array) -> Any:
    """Return the array namespace that all ``arrays`` share."""
    return array_api_compat.array_namespace(*arrays)


def is_numpy(x: Array) -> bool:
    """Whether an array (or a number) is NumPy's own."""
    return isinstance(x, np.ndarray | np.generic)


def host(x: Array) -> Array:
    """Return an array of any library as a NumPy array."""
    if array_api_compat.is_torch_array(x) or array_api_compat.is_cupy_array(x):
        x = array_api_compat.to_device(x, "cpu")
    return np.asarray(x)


def alike(values: Array, x: Array) -> Array:
    """Return a NumPy array as one of the library of ``x``, where ``x`` is."""
    if is_numpy(x):
        return values
    return namespace(x).asarray(values, device=array_api_compat.device(x))


def gammaln(x: Array) -> Array:
    """Log of the gamma function."""
    return _by_scipy(special.gammaln, x)


def digamma(x: Array) -> Array:
    """Derivative of the log gamma function."""
    return _by_scipy(special.digamma, x)


def multigammaln(x: Array, dim: int) -> Array:
    """Log of the multivariate gamma function of dimension ``dim``, elementwise."""
    shifted = x[..., None] - alike(np.arange(dim) / 2, x)
    constant = dim * (dim - 1) / 4 * math.log(math.pi)
    return constant + namespace(x).sum(gammaln(shifted), axis=-1)


def multidigamma(x: Array, dim: int) -> Array:
    """Derivative of :func:`multigammaln`."""
    shifted = x[..., None] - alike(np.arange(dim) / 2, x)
    return namespace(x).sum(digamma(shifted), axis=-1)


def logsumexp(x: Array, axis: int | None = None) -> Array:
    """Log of the sum of exponentials along ``axis``."""
    return special.logsumexp(x, axis=axis)


def _by_scipy(function: Callable[[Array], Array], x: Array) -> Array:
    """Apply a special function to a number or an array; other libraries' arrays go there and back.

    They hold hyperparameters of clusters, not data: there are few of them.
    """
    if is_numpy(x) or isinstance(x, float):
        return function(x)
    return alike(function(host(x)), x)


def nth_largest(x: Array, n: int) -> Array:
    """The n-th largest entry of each row of x (N, K), (N, 1)."""
    if isinstance(x, np.ndarray):
        return np.partition(x, -n, axis=1)[:, -n][:, None]
    return namespace(x).sort(x, axis=1)[:, -n][:, None]


def take_rows(x: Array, rows: Array) -> Array:
    """Return some rows of a matrix x (N, F), which may be sparse."""
    if sparse.issparse(x):
        matrix: Any = x
        return matrix[rows]
    return namespace(x).take(x, alike(rows, x), axis=0)
