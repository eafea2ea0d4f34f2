"""The array namespace and the special functions: the only file that knows where arrays live.

Everything above writes ``xp = namespace(x)`` and then the array API standard, so that the same
maths runs on any array library whose special functions are listed here.
"""

from typing import Any, TypeAlias

import array_api_compat
import numpy as np
from scipy import special

__all__ = [
    "Array",
    "digamma",
    "gammaln",
    "host",
    "logsumexp",
    "multidigamma",
    "multigammaln",
    "namespace",
]

Array: TypeAlias = Any
"""An array of any supported library; its shape stands in the docstring that uses it."""


def namespace(*arrays: Array) -> Any:
    """Return the array namespace that all ``arrays`` share."""
    return array_api_compat.array_namespace(*arrays)


def host(x: Array) -> Array:
    """Return an array of any library as a NumPy array."""
    return np.asarray(array_api_compat.to_device(x, "cpu"))


def gammaln(x: Array) -> Array:
    """Log of the gamma function."""
    return special.gammaln(x)


def digamma(x: Array) -> Array:
    """Derivative of the log gamma function."""
    return special.digamma(x)


def multigammaln(x: Array, dim: int) -> Array:
    """Log of the multivariate gamma function of dimension ``dim``, elementwise."""
    shifts = np.arange(dim) / 2
    return dim * (dim - 1) / 4 * np.log(np.pi) + gammaln(x[..., None] - shifts).sum(axis=-1)


def multidigamma(x: Array, dim: int) -> Array:
    """Derivative of :func:`multigammaln`."""
    return digamma(x[..., None] - np.arange(dim) / 2).sum(axis=-1)


def logsumexp(x: Array, axis: int | None = None) -> Array:
    """Log of the sum of exponentials along ``axis``."""
    return special.logsumexp(x, axis=axis)
