"""Triangular factors of one cluster's scatter matrix.

A factor (D, D) holds the columns of the lower Cholesky factor L as its rows: ``factor[j, i]`` is
L[i, j] for i >= j. The inner loops below then run along memory. What lies left of the diagonal is
never read.
"""

import math

from evermix._xp import Array
from evermix.kernels.base import kernel

__all__ = ["log_diagonal", "quadratic", "update"]


@kernel
def update(factor: Array, v: Array, sign: float) -> None:
    """Turn the factor of A into that of A + sign v v^T, sign = 1 or -1.   Consumes: v.

    The rank-one update of Gill, Golub, Murray and Saunders (1974), by rotations.
    """
    D = v.size
    for j in range(D):
        row = factor[j]
        old = row[j]
        new = math.sqrt(old * old + sign * v[j] * v[j])
        c, s = new / old, v[j] / old
        c_inverse = old / new
        row[j] = new
        for i in range(j + 1, D):
            row[i] = (row[i] + sign * s * v[i]) * c_inverse
            v[i] = c * v[i] - s * row[i]


@kernel
def log_diagonal(factor: Array) -> float:
    """Sum of the logs of the diagonal: half the log determinant."""
    total = 0.0
    for j in range(factor.shape[0]):
        total += math.log(factor[j, j])
    return total


@kernel
def quadratic(factor: Array, inverse_diagonal: Array, r: Array) -> float:
    """Return r^T A^-1 r for the factor of A, by forward substitution.   Consumes: r.

    Two columns are eliminated at a time, so that r is read and written half as often.
    """
    D = r.size
    total = 0.0
    j = 0
    while j + 1 < D:
        first, second = factor[j], factor[j + 1]
        y = r[j] * inverse_diagonal[j]
        z = (r[j + 1] - y * first[j + 1]) * inverse_diagonal[j + 1]
        total += y * y + z * z
        for i in range(j + 2, D):
            r[i] -= y * first[i] + z * second[i]
        j += 2
    if j < D:
        y = r[j] * inverse_diagonal[j]
        total += y * y
    return total
