"""Values of rows and parameters: where they leave the support, and how messages show them."""

from typing import Any

import numpy as np
from scipy import sparse

from evermix._xp import Array, Bools, namespace

INFINITE = 1e250  # stands in for an infinite parameter: times a statistic of zero it is zero


def first_outside(X: Array, inside: Bools) -> str:
    """Return the first value, or row, that a mask leaves out, and where it is."""
    p = int(np.argmin(inside))
    if sparse.issparse(X):
        matrix: Any = X
        row = int(np.searchsorted(matrix.indptr, p, side="right")) - 1
        return f"{matrix.data[p]} in row {row}, column {matrix.indices[p]}"
    if inside.ndim == 1:
        return f"{short(X[p])} in row {p}"
    row, column = divmod(p, X.shape[1])
    return f"{X[row, column]} in row {row}, column {column}"


def finite(params: Array) -> Array:
    """Return parameters (K, E) with infinities so large that only a zero makes up for them."""
    if type(params) is np.ndarray:  # as below, in half the time
        return params.clip(-INFINITE, INFINITE)
    return namespace(params).clip(params, -INFINITE, INFINITE)


def short(value: Any) -> str:
    """Return a value for a message; large arrays by their shape."""
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"<array {'x'.join(map(str, value.shape))}>"
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)
