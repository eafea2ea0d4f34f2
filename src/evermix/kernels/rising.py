r"""Sums of log rising factorials over clusters, many factors to a log.

:math:`\log (a)_x = \log \Gamma(a + x) / \Gamma(a)` is, for a small whole x, the log of x factors.
Multiplication is cheap and a log is not, so factors of several statistics are multiplied before
one log is taken. Statistics lie statistic by statistic: the loops run over clusters.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Floats, Ints
from evermix.kernels.base import kernel
from evermix.kernels.special import log, log_rising

MAX_BLOCK = 24  # factors that share one log: floats hold 24 factors within 1e-12..1e12
HUGE = 1e300  # products beyond this may have overflowed
MAX_COUNT = 32  # counts up to this are written as factors


class Factors(NamedTuple):
    """Factors ``shift + stats[statistic]`` that wait for their log."""

    block: int  # how many share a log; less than MAX_BLOCK where the prior is tiny
    statistic: Ints  # scratch, int64 (MAX_BLOCK,)
    shift: Floats  # scratch (MAX_BLOCK,)
    products: Floats  # scratch (capacity,)


def factors(prior: Floats, capacity: int) -> Factors:
    """Return room for factors of statistics with these prior values (all > 0)."""
    digits = max(300 / MAX_BLOCK, -float(np.log10(np.min(prior))))
    return Factors(
        block=max(1, int(300 / digits)),
        statistic=np.zeros(MAX_BLOCK, dtype=np.int64),
        shift=np.zeros(MAX_BLOCK),
        products=np.zeros(capacity),
    )


@kernel
def add_log_rising(
    waiting: Factors,
    stats: Floats,
    prior: Floats,
    index: NDArray[np.integer[Any]],
    x: Floats,
    slots: int,
    out: Floats,
) -> None:
    """Add the sum over j of log (prior[s] + stats[s, k])_x[j], s = index[j], to ``out[k]``.

    ``stats`` is (S, capacity), ``prior`` (S,), ``index`` and ``x`` (n,).
    """
    n = 0
    for j in range(x.size):
        s = index[j]
        if x[j] > MAX_COUNT or x[j] != int(x[j]):
            _add_one(stats[s], prior[s], x[j], slots, out)
            continue
        for step in range(int(x[j])):
            waiting.statistic[n] = s
            waiting.shift[n] = prior[s] + step
            n += 1
            if n == waiting.block:
                _flush(waiting, n, stats, slots, out)
                n = 0
    _flush(waiting, n, stats, slots, out)


@kernel
def _add_one(row: Floats, prior: float, x: float, slots: int, out: Floats) -> None:
    for k in range(slots):
        out[k] += log_rising(prior + row[k], x)


@kernel
def _flush(waiting: Factors, n: int, stats: Floats, slots: int, out: Floats) -> None:
    """Add the log of the product of the n waiting factors to each slot."""
    products, statistic, shift = waiting.products, waiting.statistic, waiting.shift
    for k in range(slots):
        products[k] = 1.0
    j = 0
    while j + 4 <= n:  # four rows at a time: fewer passes over the products
        row0, row1 = stats[statistic[j]], stats[statistic[j + 1]]
        row2, row3 = stats[statistic[j + 2]], stats[statistic[j + 3]]
        shift0, shift1, shift2, shift3 = shift[j], shift[j + 1], shift[j + 2], shift[j + 3]
        for k in range(slots):
            left = (shift0 + row0[k]) * (shift1 + row1[k])
            right = (shift2 + row2[k]) * (shift3 + row3[k])
            products[k] *= left * right
        j += 4
    while j < n:
        row, shift0 = stats[statistic[j]], shift[j]
        for k in range(slots):
            products[k] *= shift0 + row[k]
        j += 1
    most = 0.0
    for k in range(slots):
        most = max(most, products[k])
    if most > HUGE:
        _add_logs(waiting, n, stats, slots, out)
        return
    for k in range(slots):
        out[k] += log(products[k])


@kernel
def _add_logs(waiting: Factors, n: int, stats: Floats, slots: int, out: Floats) -> None:
    """Add the logs of the n waiting factors one by one: their product overflows."""
    for j in range(n):
        row, shift = stats[waiting.statistic[j]], waiting.shift[j]
        for k in range(slots):
            out[k] += log(shift + row[k])
