"""Many small Cholesky factors at once, and their inverses.

For tens of columns these loops take a third of the time of calls to LAPACK, matrix by matrix, and
they leave the threads of the BLAS alone.
"""

import math

import numpy as np

from evermix._xp import Array
from evermix.kernels.base import kernel
from evermix.kernels.whitening import dot


@kernel
def factor(B: Array, L: Array, ok: Array) -> None:
    """Write lower factors of B (K, D, D) into the lower triangles of L; ok (K,): which exist.

    Only the lower triangles of B are read.   Consumes: L, ok.
    """
    for k in range(B.shape[0]):
        ok[k] = _factor(B[k], L[k])


@kernel
def _factor(B: Array, L: Array) -> bool:
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
def invert(L: Array) -> None:
    """Replace lower triangular L (K, D, D), with zeros above, by their inverses.   Consumes: L."""
    row = np.empty(L.shape[1])
    for k in range(L.shape[0]):
        _invert(L[k], row)


@kernel
def _invert(L: Array, row: Array) -> None:
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
def gram(W: Array, scale: Array, out: Array) -> None:
    """Write scale W^T W into out (K, D, D), for lower triangular W (K, D, D) and scale (K,).

    Consumes: out.
    """
    for k in range(W.shape[0]):
        _gram(W[k], scale[k], out[k])


@kernel
def _gram(W: Array, scale: float, out: Array) -> None:
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
