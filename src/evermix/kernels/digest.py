"""Digests of rows: sums over rows, so that parts may be taken in any order and anywhere."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Ints
from evermix.kernels.base import kernel

Words: TypeAlias = NDArray[np.uint64]

GOLDEN: Any = np.uint64(0x9E3779B97F4A7C15)
FIRST: Any = np.uint64(0xBF58476D1CE4E5B9)
SECOND: Any = np.uint64(0x94D049BB133111EB)
HALF: Any = np.uint64(32)
A: Any = np.uint64(30)
B: Any = np.uint64(27)
C: Any = np.uint64(31)
ONE: Any = np.uint64(1)


@kernel
def mixed(z: int) -> int:
    """Return a number of 64 bits, each of which depends on all of z."""
    z = (z ^ (z >> A)) * FIRST
    z = (z ^ (z >> B)) * SECOND
    return z ^ (z >> C)


@kernel
def multipliers(n: int) -> Words:
    """Return an odd number for each of n columns."""
    out = np.empty(n, dtype=np.uint64)
    for d in range(n):
        out[d] = mixed(GOLDEN * np.uint64(d + 1)) | ONE
    return out


@kernel
def _entry(bits: int, multiplier: int) -> int:
    z = (bits ^ (bits >> HALF)) * multiplier
    return z ^ (z >> HALF)


@kernel
def _put(total: Words, row: int, at: int) -> None:
    z = mixed(row + GOLDEN * np.uint64(at + 1))
    total[0] += z
    total[1] += mixed(z ^ GOLDEN)


@kernel
def digest_dense(bits: Words, multiplier: Words, first: int, total: Words) -> None:
    """Add dense rows, given by the bits (N, D) of their numbers, the first with this number.

    ``multiplier`` (D,) is that of each column.   Consumes: total (2,).
    """
    for i in range(bits.shape[0]):
        row: Any = np.uint64(0)
        for d in range(bits.shape[1]):
            row += _entry(bits[i, d], multiplier[d])
        _put(total, row, first + i)


@kernel
def digest_sparse(
    indptr: Ints, indices: Ints, bits: Words, multiplier: Words, first: int, total: Words
) -> None:
    """Add sparse rows, given by the bits (nnz,) of their entries.   Consumes: total (2,)."""
    for i in range(len(indptr) - 1):
        row: Any = np.uint64(0)
        for p in range(indptr[i], indptr[i + 1]):
            row += _entry(bits[p], multiplier[indices[p]])
        _put(total, row, first + i)
