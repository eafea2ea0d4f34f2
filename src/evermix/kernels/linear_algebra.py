r"""Small matrices of many clusters: Cholesky factors, their inverses, rank-one updates, products.

For tens of columns these loops take a third of the time of LAPACK called matrix by matrix, and they
leave the threads of the BLAS alone.

The *whitener* of a positive definite B = L L^T is W = L^{-1}, lower triangular with zeros above the
diagonal, so that :math:`x^T B^{-1} x = |W x|^2`. Its rows are independent dot products, which
vector units do faster than the chain of a triangular solve, and a rank-one change of B is one pass
over its rows.
"""

import math

import numpy as np

from evermix._xp import Bools, Floats
from evermix.kernels.base import exact, kernel

LEAST = 1e-13  # share of B in the direction of v that must be left for its digits to mean anything


@exact
def copy(W: Floats, into: Floats) -> None:
    """Copy a whitener (assigning the array would take seconds to compile)."""
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            into[i, j] = W[i, j]


@kernel
def squared_length(W: Floats, x: Floats) -> float:
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
def update(W: Floats, v: Floats, weight: float, total: Floats) -> None:
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
def half_log_det(W: Floats) -> float:
    """Return log |B| / 2, which is minus the sum of the logs of the diagonal of W."""
    total = 0.0
    for i in range(W.shape[0]):
        total -= math.log(W[i, i])
    return total


@kernel
def dot(row: Floats, x: Floats, n: int) -> float:
    """Return the product of the first n entries of two rows."""
    total = 0.0
    for j in range(n):
        total += row[j] * x[j]
    return total


@kernel
def factor(B: Floats, L: Floats, ok: Bools) -> None:
    """Write lower factors of B (K, D, D) into the lower triangles of L; ok (K,): which exist.

    Only the lower triangles of B are read.   Consumes: L, ok.
    """
    for k in range(B.shape[0]):
        ok[k] = _factor(B[k], L[k])


@kernel
def _factor(B: Floats, L: Floats) -> bool:
    D = B.shape[0]
    for j in range(D):
        row = L[j]
        left = B[j, j] - dot(row, row, j)
        if not 0.0 < left < math.inf:
            return False
        row[j] = math.sqrt(left)
        scale = 1.0 / row[j]
        i = j + 1
        while i + 4 <= D:  # four rows at a time: row j is read once for all of them
            row0, row1, row2, row3 = L[i], L[i + 1], L[i + 2], L[i + 3]
            z0 = z1 = z2 = z3 = 0.0
            for m in range(j):
                z0 += row0[m] * row[m]
                z1 += row1[m] * row[m]
                z2 += row2[m] * row[m]
                z3 += row3[m] * row[m]
            row0[j] = (B[i, j] - z0) * scale
            row1[j] = (B[i + 1, j] - z1) * scale
            row2[j] = (B[i + 2, j] - z2) * scale
            row3[j] = (B[i + 3, j] - z3) * scale
            i += 4
        while i < D:
            L[i, j] = (B[i, j] - dot(L[i], row, j)) * scale
            i += 1
    return True


@kernel
def invert(L: Floats) -> None:
    """Replace lower triangular L (K, D, D), with zeros above, by their inverses.   Consumes: L."""
    row = np.empty(L.shape[1])
    for k in range(L.shape[0]):
        _invert(L[k], row)


@kernel
def _invert(L: Floats, row: Floats) -> None:
    """Row i is what remains of the i-th unit vector after the rows before it, scaled."""
    for i in range(L.shape[0]):
        out = L[i]
        for m in range(i):
            row[m] = out[m]
            out[m] = 0.0
        scale = 1.0 / out[i]
        j = 0
        while j + 4 <= i:
            a0, a1, a2, a3 = row[j], row[j + 1], row[j + 2], row[j + 3]
            row0, row1, row2, row3 = L[j], L[j + 1], L[j + 2], L[j + 3]
            for m in range(j + 4):
                out[m] -= (a0 * row0[m] + a1 * row1[m]) + (a2 * row2[m] + a3 * row3[m])
            j += 4
        while j < i:
            a, before = row[j], L[j]
            for m in range(j + 1):
                out[m] -= a * before[m]
            j += 1
        for m in range(i):
            out[m] *= scale
        out[i] = scale


@kernel
def gram(W: Floats, scale: Floats, out: Floats) -> None:
    """Write scale W^T W into out (K, D, D), for lower triangular W (K, D, D) and scale (K,).

    Consumes: out.
    """
    for k in range(W.shape[0]):
        _gram(W[k], scale[k], out[k])


@kernel
def _gram(W: Floats, scale: float, out: Floats) -> None:
    """Row i of the lower triangle is made of the rows of W from i on; then it is mirrored."""
    D = W.shape[0]
    for i in range(D):
        total = out[i]
        for j in range(i + 1):
            total[j] = 0.0
        m = i
        while m + 4 <= D:
            row0, row1, row2, row3 = W[m], W[m + 1], W[m + 2], W[m + 3]
            a0, a1, a2, a3 = row0[i], row1[i], row2[i], row3[i]
            for j in range(i + 1):
                total[j] += (a0 * row0[j] + a1 * row1[j]) + (a2 * row2[j] + a3 * row3[j])
            m += 4
        while m < D:
            row = W[m]
            a = row[i]
            for j in range(i + 1):
                total[j] += a * row[j]
            m += 1
        for j in range(i + 1):
            total[j] *= scale
            out[j, i] = total[j]


@kernel
def write_products(x: Floats, out: Floats) -> None:
    """Write products x_d x_e, d <= e, of rows x (N, D) into the last columns of out.

    Consumes: out.
    """
    D = x.shape[1]
    first = out.shape[1] - D * (D + 1) // 2
    for n in range(x.shape[0]):
        row, products, place = x[n], out[n], first
        for d in range(D):
            factor, shift = row[d], place - d
            for e in range(d, D):
                products[shift + e] = factor * row[e]
            place += D - d
