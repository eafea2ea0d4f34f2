r"""Whiteners: what scoring under a full covariance needs of one cluster's scatter matrix.

The whitener of a positive definite B = L L^T is W = L^{-1}, lower triangular with zeros above the
diagonal: :math:`x^T B^{-1} x = |W x|^2`. Its rows are independent dot products, which vector
units do faster than the chain of a triangular solve, and a rank-one change of B is a pass over
its rows.
"""

import math

from evermix._xp import Array
from evermix.kernels.base import exact, kernel

LEAST = 1e-13  # share of B in the direction of v that must be left for its digits to mean anything


@exact
def copy(W: Array, into: Array) -> None:
    """Copy a whitener (assigning the array would take seconds to compile)."""
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            into[i, j] = W[i, j]


@kernel
def squared_length(W: Array, x: Array) -> float:
    """Return |W x|^2."""
    D = x.size
    total = 0.0
    i = 0
    while i + 4 <= D:  # four rows at a time: x is read once for all of them
        row0, row1, row2, row3 = W[i], W[i + 1], W[i + 2], W[i + 3]
        z0 = z1 = z2 = z3 = 0.0
        for j in range(i + 4):
            z0 += row0[j] * x[j]
            z1 += row1[j] * x[j]
            z2 += row2[j] * x[j]
            z3 += row3[j] * x[j]
        total += (z0 * z0 + z1 * z1) + (z2 * z2 + z3 * z3)
        i += 4
    while i < D:
        z = dot(W[i], x, i + 1)
        total += z * z
        i += 1
    return total


@kernel
def update(W: Array, v: Array, weight: float, total: Array) -> None:
    r"""Turn the whitener of B into that of B + weight v v^T.   Consumes: total (scratch).

    With p = W v, row i of the new whitener is what remains of row i after the rows before it
    have predicted it under the covariance I + weight p p^T, scaled to unit variance:

    .. math::

        w_i' = \sqrt{t_{i-1} / t_i}
            \Big(w_i - \frac{weight\, p_i}{t_{i-1}} \sum_{j<i} p_j w_j\Big),
        \qquad t_i = 1 + weight \sum_{j \le i} p_j^2.

    A negative weight takes v out again. If v was millions of standard deviations from the rest,
    no digits of the rest are left: B then stays as it is, too wide, until it is computed anew.
    """
    D = v.size
    if weight < 0.0 and 1.0 + weight * squared_length(W, v) < LEAST:
        return
    total[:] = 0.0
    t = 1.0
    for i in range(D):
        row = W[i]
        p = dot(row, v, i + 1)
        t_new = t + weight * p * p
        shrink = math.sqrt(t / t_new)
        predict = weight * p / t
        for j in range(i + 1):
            old = row[j]
            row[j] = shrink * (old - predict * total[j])
            total[j] += p * old
        t = t_new


@exact
def half_log_det(W: Array) -> float:
    """Return log |B| / 2, which is minus the sum of the logs of the diagonal of W."""
    total = 0.0
    for i in range(W.shape[0]):
        total -= math.log(W[i, i])
    return total


@kernel
def dot(row: Array, x: Array, n: int) -> float:
    """Return the product of the first n entries of two rows."""
    total = 0.0
    for j in range(n):
        total += row[j] * x[j]
    return total
