r"""Kernels of the Multinomial family.

.. math::

    \log p(x | k) - \log h(x) = \sum_w \log (\alpha_w + s_{kw})_{x_w}
        - \log (\alpha_\cdot + s_{k\cdot})_N,

with the rising factorial :math:`(a)_x = \Gamma(a + x) / \Gamma(a)`. Statistics lie word by word,
so that the inner loops run over clusters; small counts multiply their factors and share one log.
"""

from typing import NamedTuple

from evermix._xp import Array
from evermix.kernels.base import implement, kernel
from evermix.kernels.rows import SparseRows
from evermix.kernels.special import log, log_rising

__all__ = ["MAX_BLOCK", "MultinomialWork"]

MAX_BLOCK = 24  # factors that share one log
MAX_COUNT = 32  # counts up to this are written as factors


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


implement(MultinomialWork, score=score, add=add, open_slot=open_slot)
