r"""Kernels of the Multinomial family.

.. math::

    \log p(x | k) - \log h(x) = \sum_w \log (\alpha_w + s_{kw})_{x_w}
        - \log (\alpha_\cdot + s_{k\cdot})_N,

with the rising factorial :math:`(a)_x = \Gamma(a + x) / \Gamma(a)`. Statistics lie word by word,
so that the inner loops run over clusters; small counts multiply their factors and share one log.
"""

from typing import NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.kernels.base import implement, kernel
from evermix.kernels.rows import SparseRows
from evermix.kernels.special import log, log_rising, strict

__all__ = ["MAX_BLOCK", "MultinomialWork", "fuse_pairs"]

MAX_BLOCK = 24  # factors that share one log
MAX_COUNT = 32  # counts up to this are written as factors
FAINT = 1e-9  # soft counts below this do not matter when clusters are compared


class MultinomialWork(NamedTuple):
    """What the kernels need, beside the rows."""

    stats: Array  # INOUT (V + 1, capacity): words, then lengths
    alpha: Array  # IN (V,)
    alpha_sum: float
    block: int  # factors per log, at most MAX_BLOCK; less where alpha is tiny
    words: Array  # scratch, int64 (MAX_BLOCK,)
    shifts: Array  # scratch (MAX_BLOCK,)
    products: Array  # scratch (capacity,)


@kernel
def score(work: MultinomialWork, rows: SparseRows, i: int, slots: int, out: Array) -> None:
    """Dirichlet-multinomial predictive of document i in each slot."""
    start, stop = rows.indptr[i], rows.indptr[i + 1]
    length = 0.0
    for p in range(start, stop):
        length += rows.data[p]
    totals = work.stats[work.alpha.size]
    for k in range(slots):
        out[k] = -log_rising(work.alpha_sum + totals[k], length)
    n = 0
    for p in range(start, stop):
        w, x = rows.indices[p], rows.data[p]
        if x > MAX_COUNT or x != int(x):
            _add_rising(work.stats[w], work.alpha[w], x, slots, out)
            continue
        for j in range(int(x)):
            work.words[n] = w
            work.shifts[n] = work.alpha[w] + j
            n += 1
            if n == work.block:
                _add_product(work, n, slots, out)
                n = 0
    if n > 0:
        _add_product(work, n, slots, out)


@kernel
def _add_rising(stats: Array, alpha: float, x: float, slots: int, out: Array) -> None:
    for k in range(slots):
        out[k] += log_rising(alpha + stats[k], x)


@kernel
def _add_product(work: MultinomialWork, n: int, slots: int, out: Array) -> None:
    """Add the log of the product of n factors ``shifts[j] + stats[words[j], k]`` to each slot."""
    products = work.products
    for k in range(slots):
        products[k] = 1.0
    j = 0
    while j + 4 <= n:  # four rows at a time: fewer passes over the products
        row0, row1 = work.stats[work.words[j]], work.stats[work.words[j + 1]]
        row2, row3 = work.stats[work.words[j + 2]], work.stats[work.words[j + 3]]
        shift0, shift1 = work.shifts[j], work.shifts[j + 1]
        shift2, shift3 = work.shifts[j + 2], work.shifts[j + 3]
        for k in range(slots):
            left = (shift0 + row0[k]) * (shift1 + row1[k])
            right = (shift2 + row2[k]) * (shift3 + row3[k])
            products[k] *= left * right
        j += 4
    while j < n:
        row, shift = work.stats[work.words[j]], work.shifts[j]
        for k in range(slots):
            products[k] *= shift + row[k]
        j += 1
    for k in range(slots):
        out[k] += log(products[k])


@kernel
def add(
    work: MultinomialWork, rows: SparseRows, i: int, slot: int, weight: float, mass: float
) -> None:
    """Add ``weight`` times document i to a slot."""
    lengths = work.alpha.size
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        x = weight * rows.data[p]
        work.stats[rows.indices[p], slot] += x
        work.stats[lengths, slot] += x


@kernel
def open_slot(work: MultinomialWork, slot: int) -> None:
    """Nothing is derived from the statistics, so there is nothing to set."""


@kernel
def fuse_pairs(stats: Array, prior: Array, pairs: Array, out: Array) -> None:
    """Log marginal likelihood of pairs (P, 2) of clusters fused, minus apart, into ``out`` (P,).

    Here ``stats`` (K, V + 1) lie cluster by cluster: a pair reads two whole rows.

    Each word adds log Gamma(p + a + b) + log Gamma(p) - log Gamma(p + a) - log Gamma(p + b), which
    is zero unless both clusters have the word; the lengths subtract the same.
    """
    lengths = prior.size - 1
    common = np.empty((3, lengths))  # prior, count in a, count in b: contiguous, for vector code
    for p in range(pairs.shape[0]):
        a, b = stats[pairs[p, 0]], stats[pairs[p, 1]]
        n = 0
        for w in range(lengths):
            if a[w] > FAINT and b[w] > FAINT:
                common[0, n], common[1, n], common[2, n] = prior[w], a[w], b[w]
                n += 1
        total = 0.0
        for j in range(n):
            total += _interaction(common[0, j], common[1, j], common[2, j])
        out[p] = total - _interaction(prior[lengths], a[lengths], b[lengths])


@strict
def _interaction(p: float, x: float, y: float) -> float:
    return log_rising(p + x, y) - log_rising(p, y)


implement(MultinomialWork, score=score, add=add, open_slot=open_slot)
