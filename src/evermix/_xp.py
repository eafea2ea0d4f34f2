"""The array namespace and the special functions: the only file that knows where arrays live.

Everything above writes ``xp = namespace(x)`` and then the array API standard, so that the same
maths runs on any array library.
"""

import importlib
import math
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from scipy import sparse, special

__all__ = [
    "Array",
    "alike",
    "digamma",
    "doubled",
    "gammaln",
    "filled",
    "host",
    "is_foreign",
    "is_numpy",
    "logsumexp",
    "multidigamma",
    "multiply_into",
    "multigammaln",
    "namespace",
    "nth_largest",
    "real",
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


def is_foreign(x: Any) -> bool:
    """Whether this is an array of another library that follows the standard: PyTorch, CuPy.

    Those that cannot be changed in place (JAX), or are not there yet (Dask), are not meant.
    """
    if not array_api_compat.is_array_api_obj(x) or is_numpy(x) or sparse.issparse(x):
        return False
    return not (array_api_compat.is_jax_array(x) or array_api_compat.is_dask_array(x))


def multiply_into(a: Array, b: Array, out: Array) -> None:
    """Write a b into a part of an array.   Consumes: out."""
    if array_api_compat.is_torch_array(out) or array_api_compat.is_cupy_array(out):
        namespace(out).multiply(a, b, out=out)  # no copy
    else:
        out[...] = a * b


def host(x: Array) -> Array:
    """Return an array of any library as a NumPy array."""
    if array_api_compat.is_torch_array(x) or array_api_compat.is_cupy_array(x):
        x = array_api_compat.to_device(x, "cpu")
    return np.asarray(x)


def alike(values: Array, x: Array) -> Array:
    """Return a NumPy array as one of the library of ``x``, where ``x`` is.

    Real numbers get the precision of ``x``, if that has real numbers too. What is there already
    stays as it is.
    """
    if is_numpy(x) or not is_numpy(values):
        return values
    xp = namespace(x)
    real = values.dtype.kind == "f" and xp.isdtype(x.dtype, "real floating")
    dtype = x.dtype if real else None
    return xp.asarray(values, dtype=dtype, device=array_api_compat.device(x))


def real(x: Array) -> Array:
    """Return an array of real numbers: as precise as they are, whole ones in double precision."""
    return x if namespace(x).isdtype(x.dtype, "real floating") else doubled(x)


def filled(value: float, x: Array, n: int) -> Array:
    """Return n times the same number, (n,), where ``x`` is, and as precise if it is no integer."""
    xp = namespace(x)
    precise = x.dtype if xp.isdtype(x.dtype, "real floating") else xp.float64
    dtype = xp.int64 if isinstance(value, int) else precise
    return xp.full((n,), value, dtype=dtype, device=array_api_compat.device(x))


def doubled(x: Array) -> Array:
    """Return an array in double precision."""
    if is_numpy(x):
        return x.astype(np.float64, copy=False)
    xp = namespace(x)
    return xp.astype(x, xp.float64, copy=False)


def gammaln(x: Array) -> Array:
    """Log of the gamma function."""
    return _special("gammaln", x)


def digamma(x: Array) -> Array:
    """Derivative of the log gamma function."""
    return _special("digamma", x)


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


def _special(name: str, x: Array) -> Array:
    """Apply a special function to a number or an array, where that is.

    Arrays of libraries that have no such function go to the host and back.
    """
    if array_api_compat.is_torch_array(x):
        return getattr(importlib.import_module("torch.special"), name)(x)
    if array_api_compat.is_cupy_array(x):
        return getattr(importlib.import_module("cupyx.scipy.special"), name)(x)
    function = getattr(special, name)
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
