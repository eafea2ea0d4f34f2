"""Rows of data as kernels take them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Floats, Ints


class DenseRows(NamedTuple):
    """Rows as one array."""

    values: Floats  # (N, D)


class PlaneRows(NamedTuple):
    """Rows by where they are in a plane, and how far from it."""

    values: Floats  # (N, Q)
    squares: Floats  # (N,): squared distances


class SparseRows(NamedTuple):
    """Rows as the three arrays of a CSR matrix."""

    indptr: Ints  # (N + 1,)
    indices: NDArray[np.int32]  # (nnz,)
    data: Floats  # (nnz,)


def plain(x: Any, dtype: type = np.float64) -> NDArray[Any]:
    """Return ``x`` as a contiguous, writable array: one memory type, so one compiled kernel."""
    if type(x) is np.ndarray and x.flags.carray and x.dtype == dtype:  # as below, in less time
        return x
    return np.require(x, dtype=dtype, requirements=["C", "W"])
