r"""Kernels of the Poisson family.

With the posterior shape a and rate b of a cluster,

.. math::

    \log p(x | k) - \log h(x) = \sum_d \log (a_{kd})_{x_d}
        - \sum_d a_{kd} \log(1 + 1 / b_{kd}) - \sum_d x_d \log(1 + b_{kd}),

with the rising factorial :math:`(a)_x = \Gamma(a + x) / \Gamma(a)`. Statistics lie column by
column, so that the inner loops run over clusters.
"""

import math
from typing import NamedTuple

from evermix._xp import Floats, Ints
from evermix.kernels.base import exact, implement, kernel
from evermix.kernels.rising import Factors, add_log_rising
from evermix.kernels.rows import DenseRows


class PoissonWork(NamedTuple):
    """What the kernels need, beside the rows."""

    stats: Floats  # INOUT (D, capacity): sum of x
    log_rates: Floats  # OUT (D, capacity): log(1 + b)
    constants: Floats  # OUT (capacity,): log probability of a row of zeros
    shape: Floats  # IN (D,)
    rate: Floats  # IN (D,)
    columns: Ints  # IN, (D,): 0, 1, ..., D - 1
    waiting: Factors


@kernel
def score(work: PoissonWork, rows: DenseRows, i: int, slots: int, out: Floats) -> None:
    """Negative binomial predictive of row i in each slot."""
    x = rows.values[i]
    for k in range(slots):
        out[k] = work.constants[k]
    for d in range(x.size):
        if x[d] > 0:
            log_rate = work.log_rates[d]
            for k in range(slots):
                out[k] -= x[d] * log_rate[k]
    add_log_rising(work.waiting, work.stats, work.shape, work.columns, x, slots, out)


@kernel
def add(work: PoissonWork, rows: DenseRows, i: int, slot: int, weight: float, mass: float) -> None:
    """Add ``weight`` times row i to a slot; a negative weight takes it out."""
    x = rows.values[i]
    for d in range(x.size):
        work.stats[d, slot] += weight * x[d]
    refresh(work, slot, mass)


@exact
def refresh(work: PoissonWork, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's statistics."""
    constant = 0.0
    for d in range(work.shape.size):
        rate = work.rate[d] + mass
        constant -= (work.shape[d] + work.stats[d, slot]) * math.log1p(1.0 / rate)
        work.log_rates[d, slot] = math.log(1.0 + rate)
    work.constants[slot] = constant


implement(PoissonWork, score=score, add=add, refresh=refresh)
