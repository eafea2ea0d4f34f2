r"""Kernels of the Bernoulli family.

With the posterior probability p of a one in each column,

.. math::

    \log p(x | k) = \sum_d \log(1 - p_{kd}) + \sum_d x_d \log \frac{p_{kd}}{1 - p_{kd}}.
"""

from typing import NamedTuple

from evermix._xp import Array
from evermix.kernels.base import implement, kernel
from evermix.kernels.rows import DenseRows
from evermix.kernels.special import log

__all__ = ["BernoulliWork", "refresh_all"]


class BernoulliWork(NamedTuple):
    """What the kernels need, beside the rows."""

    stats: Array  # INOUT (capacity, D): sum of x
    log_odds: Array  # OUT (capacity, D)
    constants: Array  # OUT (capacity,): log probability of a row of zeros
    a: Array  # IN (D,)
    b: Array  # IN (D,)


@kernel
def score(work: BernoulliWork, rows: DenseRows, i: int, slots: int, out: Array) -> None:
    """Beta-Bernoulli predictive of row i in each slot."""
    x = rows.values[i]
    for k in range(slots):
        odds = work.log_odds[k]
        total = 0.0
        for d in range(x.size):
            total += x[d] * odds[d]
        out[k] = work.constants[k] + total


@kernel
def add(
    work: BernoulliWork, rows: DenseRows, i: int, slot: int, weight: float, mass: float
) -> None:
    """Add ``weight`` times row i to a slot; a negative weight takes it out."""
    x, stats = rows.values[i], work.stats[slot]
    for d in range(x.size):
        stats[d] += weight * x[d]
    refresh(work, slot, mass)


@kernel
def refresh(work: BernoulliWork, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's statistics."""
    stats, odds = work.stats[slot], work.log_odds[slot]
    constant = 0.0
    for d in range(work.a.size):
        ones = work.a[d] + stats[d]
        zeros = work.b[d] + (mass - stats[d])
        odds[d] = log(ones / zeros)
        constant += log(zeros / (ones + zeros))
    work.constants[slot] = constant


@kernel
def refresh_all(work: BernoulliWork, mass: Array, K: int) -> None:
    """Compute what is derived, for slots 0..K (the last is empty)."""
    for k in range(K):
        refresh(work, k, mass[k])
    open_slot(work, K)


@kernel
def open_slot(work: BernoulliWork, slot: int) -> None:
    """Give an empty slot what follows from the prior."""
    refresh(work, slot, 0.0)


implement(BernoulliWork, score=score, add=add, open_slot=open_slot)
