"""How rows of data are handed to kernels."""

from typing import NamedTuple

import numpy as np

from evermix._xp import Array


class DenseRows(NamedTuple):
    """Rows as one array."""

    values: Array  # float64 (N, D)


class SparseRows(NamedTuple):
    """Rows as the three arrays of a CSR matrix."""

    indptr: Array  # int64 (N + 1,)
    indices: Array  # int32 (nnz,)
    data: Array  # float64 (nnz,)


def plain(x: Array, dtype: type = np.float64) -> Array:
    """Return ``x`` as a contiguous, writable array: one memory type, so one compiled kernel."""
    return np.require(x, dtype=dtype, requirements=["C", "W"])
