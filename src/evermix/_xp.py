"""Arrays of any library: their namespace, conversions, and special functions.

Code for all libraries writes ``xp = namespace(x)`` and then uses the array API standard. Where only
NumPy's arrays can be, types are ``numpy.typing.NDArray``.
"""

import importlib
import math
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evermix._csr import DeviceCSR, is_foreign_csr

DOUBLES = ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0))
"""Compute capabilities of CUDA devices with fast doubles: those of data centres."""

Array: TypeAlias = Any
"""An array of any supported library; its shape stands in the docstring that uses it."""
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
"""Arrays that are always NumPy's."""

_OF_NUMPY = (np.ndarray, np.generic)
NUMPY = array_api_compat.array_namespace(np.empty(0))


def namespace(*arrays: Array) -> Any:
    """Return the array namespace that all ``arrays`` share."""
    for x in arrays:
        if type(x) is not np.ndarray:
            return array_api_compat.array_namespace(*arrays)
    return NUMPY  # as above, in a tenth of the time


def is_numpy(x: Array) -> bool:
    """Whether an array (or a number) is NumPy's own."""
    return isinstance(x, _OF_NUMPY)


def is_foreign(x: Any) -> bool:
    """Whether this is an array, dense or sparse, of PyTorch, CuPy or another standard library.

    Libraries whose arrays cannot be changed in place (JAX) or are not computed yet (Dask) do not
    count.
    """
    if type(x) is np.ndarray:  # as below, in a tenth of the time
        return False
    if is_foreign_csr(x):
        return True
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
    """Return an array of any library as a NumPy array, a sparse one as a SciPy matrix."""
    if is_foreign_csr(x):
        x = DeviceCSR.of(x)
    if isinstance(x, DeviceCSR):
        return x.host()
    if array_api_compat.is_torch_array(x) or array_api_compat.is_cupy_array(x):
        x = array_api_compat.to_device(x, "cpu")
    return np.asarray(x)


def alike(values: Array, x: Array) -> Array:
    """Return an array in the library and on the device of ``x``.

    Real numbers get the precision of ``x`` if that is real too. ``values`` is a NumPy array, or is
    on the device of ``x`` already.
    """
    if is_numpy(x):
        return values
    xp = namespace(x)
    if is_numpy(values):
        real = values.dtype.kind == "f" and xp.isdtype(x.dtype, "real floating")
        dtype = x.dtype if real else None
        return xp.asarray(values, dtype=dtype, device=array_api_compat.device(x))
    real = all(xp.isdtype(each.dtype, "real floating") for each in (values, x))
    return xp.astype(values, x.dtype, copy=False) if real else values


def real(x: Array) -> Array:
    """Return an array of floats: integers in double precision, half precision in single.

    (Sums in half precision would be useless.)
    """
    xp = namespace(x)
    if not xp.isdtype(x.dtype, "real floating"):
        return doubled(x)
    return _cast(x, xp.float32) if xp.finfo(x.dtype).bits < 32 else x


def precise(x: Array) -> Array:
    """Return rows in double precision where that costs little, else unchanged.

    A variance is a small difference of large sums, and a likelihood a small sum of large terms: in
    single precision they keep few digits. Devices of data centres multiply doubles at least half as
    fast as singles, other devices up to 64 times slower. Products of sparse rows are limited by
    memory, so they are always made in double precision.
    """
    if array_api_compat.is_torch_array(x) and x.is_cuda:
        cuda = importlib.import_module("torch.cuda")
        return doubled(x) if cuda.get_device_capability(x.device) in DOUBLES else x
    if array_api_compat.is_cupy_array(x):
        capability = int(x.device.compute_capability)
        return doubled(x) if divmod(capability, 10) in DOUBLES else x
    return doubled(x) if isinstance(x, DeviceCSR) else x


def filled(value: float, x: Array, n: int) -> Array:
    """Return an array (n,) of a number, on the device of ``x``; a float gets its precision."""
    if type(x) is np.ndarray and x.dtype == np.float64:  # as below, in a tenth of the time
        values = np.empty(n)
        values.fill(value)
        return values
    xp = namespace(x)
    precise = x.dtype if xp.isdtype(x.dtype, "real floating") else xp.float64
    dtype = xp.int64 if isinstance(value, int) else precise
    return xp.full((n,), value, dtype=dtype, device=array_api_compat.device(x))


def doubled(x: Array) -> Array:
    """Return an array in double precision."""
    if is_numpy(x):
        return x.astype(np.float64, copy=False)
    return _cast(x, namespace(x).float64)


def _cast(x: Array, dtype: Any) -> Array:
    if isinstance(x, DeviceCSR):
        return x.astype(dtype)
    return namespace(x).astype(x, dtype, copy=False)


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


def xlogy(x: Array, y: Array) -> Array:
    """Return x log y of numbers >= 0, elementwise; zero where x is zero."""
    if array_api_compat.is_torch_array(x) or array_api_compat.is_cupy_array(x):
        return _special("xlogy", x, y)
    xp = namespace(x)
    return x * xp.log(xp.where(x > 0, y, 1.0))


def logsumexp(x: Array, axis: int | None = None) -> Array:
    """Log of the sum of exponentials along ``axis``."""
    if is_numpy(x):
        return special.logsumexp(x, axis=axis)
    xp = namespace(x)
    peak = xp.max(x, axis=axis, keepdims=True)
    peak = xp.where(xp.isfinite(peak), peak, 0.0)
    total = xp.log(xp.sum(xp.exp(x - peak), axis=axis, keepdims=True))
    return xp.squeeze(total + peak, axis=tuple(range(x.ndim)) if axis is None else axis)


def _special(name: str, *given: Array) -> Array:
    """Apply a special function to numbers or arrays, on their device.

    Arrays of libraries without such a function are copied to the host and back.
    """
    x, function = given[0], getattr(special, name)
    if is_numpy(x) or isinstance(x, float):
        return function(*given)
    if array_api_compat.is_torch_array(x):
        return getattr(importlib.import_module("torch.special"), name)(*given)
    if array_api_compat.is_cupy_array(x):
        return getattr(importlib.import_module("cupyx.scipy.special"), name)(*given)
    return alike(function(*(host(each) for each in given)), x)


def summed_by(places: Array, values: Array, n: int) -> Array:
    """Return the sums (n,) of values (M,) by their places (M,) in 0..n-1."""
    if array_api_compat.is_torch_array(values) or array_api_compat.is_cupy_array(values):
        return namespace(values).bincount(places, values, minlength=n)
    return alike(np.bincount(host(places), host(values), minlength=n), values)


def nth_largest(x: Array, n: int) -> Array:
    """Return the n-th largest entry of each row of x (N, K), as (N, 1)."""
    if isinstance(x, np.ndarray):
        return np.partition(x, -n, axis=1)[:, -n][:, None]
    return namespace(x).sort(x, axis=1)[:, -n][:, None]


def take_rows(x: Array, rows: Array) -> Array:
    """Return some rows of a matrix x (N, F), which may be sparse."""
    if sparse.issparse(x):
        matrix: Any = x
        return matrix[rows]
    if isinstance(x, DeviceCSR):
        return x.take(rows)
    return namespace(x).take(x, alike(rows, x), axis=0)
