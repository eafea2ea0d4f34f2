r"""Kernels of the Bernoulli family.

With the posterior probability p of a one in each column,

.. math::

    \log p(x | k) = \sum_d \log(1 - p_{kd}) + \sum_d x_d \log \frac{p_{kd}}{1 - p_{kd}}.
"""

import math
from typing import NamedTuple

from evermix._xp import Floats
from evermix.kernels.base import exact, implement, kernel
from evermix.kernels.rows import DenseRows


class BernoulliWork(NamedTuple):
    """What the kernels need, beside the rows."""

    stats: Floats  # INOUT (capacity, D): sum of x
    log_odds: Floats  # OUT (capacity, D)
    constants: Floats  # OUT (capacity,): log probability of a row of zeros
    a: Floats  # IN (D,)
    b: Floats  # IN (D,)


@kernel
def score(work: BernoulliWork, rows: DenseRows, i: int, slots: int, out: Floats) -> None:
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


@exact
def refresh(work: BernoulliWork, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's statistics."""
    stats, odds = work.stats[slot], work.log_odds[slot]
    constant = 0.0
    for d in range(work.a.size):
        ones = work.a[d] + stats[d]
        zeros = work.b[d] + (mass - stats[d])
        odds[d] = math.log(ones / zeros)
        constant += math.log(zeros / (ones + zeros))
    work.constants[slot] = constant


implement(BernoulliWork, score=score, add=add, refresh=refresh)
