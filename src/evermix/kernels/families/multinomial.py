r"""Kernels of the Multinomial family.

.. math::

    \log p(x | k) - \log h(x) = \sum_w \log (\alpha_w + s_{kw})_{x_w}
        - \log (\alpha_\cdot + s_{k\cdot})_N,

with the rising factorial :math:`(a)_x = \Gamma(a + x) / \Gamma(a)`.
"""

from typing import NamedTuple

import numpy as np

from evermix._xp import Floats, Ints
from evermix.kernels.base import exact, implement, kernel, strict
from evermix.kernels.rising import Factors, add_log_rising
from evermix.kernels.rows import SparseRows
from evermix.kernels.special import log_rising

FAINT = 1e-6  # soft counts below this do not matter when clusters are compared


class MultinomialWork(NamedTuple):
    """What the kernels need, beside the rows."""

    stats: Floats  # INOUT (V + 1, capacity): words, then lengths
    alpha: Floats  # IN (V,)
    alpha_sum: float
    waiting: Factors


@kernel
def score(work: MultinomialWork, rows: SparseRows, i: int, slots: int, out: Floats) -> None:
    """Dirichlet-multinomial predictive of document i in each slot."""
    start, stop = rows.indptr[i], rows.indptr[i + 1]
    index, x = rows.indices[start:stop], rows.data[start:stop]
    length = x.sum()
    if length == 0:  # exactly as likely everywhere: rounding must not draw it to one cluster
        out[:slots] = 0.0
        return
    totals = work.stats[work.alpha.size]
    for k in range(slots):
        out[k] = -log_rising(work.alpha_sum + totals[k], length)
    add_log_rising(work.waiting, work.stats, work.alpha, index, x, slots, out)


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


@exact
def refresh(work: MultinomialWork, slot: int, mass: float) -> None:
    """Nothing is derived from the statistics, so there is nothing to compute."""


@kernel
def log_marginals(stats: Floats, prior: Floats, out: Floats) -> None:
    """Log marginal likelihood of the first clusters into ``out`` (K,); stats (V + 1, capacity)."""
    lengths = prior.size - 1
    for k in range(out.size):
        out[k] = -log_rising(prior[lengths], stats[lengths, k])
    for w in range(lengths):
        for k in range(out.size):
            if stats[w, k] > FAINT:
                out[k] += log_rising(prior[w], stats[w, k])


@kernel
def fuse_pairs(stats: Floats, prior: Floats, pairs: Ints, times: Floats, out: Floats) -> None:
    """Log marginal likelihood of pairs (P, 2) of clusters fused, minus apart, into ``out`` (P,).

    Here ``stats`` (K, V + 1) lie cluster by cluster: a pair reads two whole rows, and multiplies
    them by ``times[p]``.

    Each word adds log Gamma(p + a + b) + log Gamma(p) - log Gamma(p + a) - log Gamma(p + b), which
    is zero unless both clusters have the word; the lengths subtract the same.
    """
    lengths = prior.size - 1
    common = np.empty((3, lengths))  # prior, count in a, count in b: contiguous, for vector code
    for p in range(pairs.shape[0]):
        a, b = stats[pairs[p, 0]], stats[pairs[p, 1]]
        n, t = 0, times[p]
        for w in range(lengths):
            if a[w] > FAINT and b[w] > FAINT:
                common[0, n], common[1, n], common[2, n] = prior[w], t * a[w], t * b[w]
                n += 1
        total = 0.0
        for j in range(n):
            total += _interaction(common[0, j], common[1, j], common[2, j])
        out[p] = total - _interaction(prior[lengths], t * a[lengths], t * b[lengths])


@strict
def _interaction(p: float, x: float, y: float) -> float:
    return log_rising(p + x, y) - log_rising(p, y)


implement(MultinomialWork, score=score, add=add, refresh=refresh)
