r"""Generalised Stirling numbers: in how many ways customers share tables.

:math:`S(n, t)` is the sum, over the seatings of n customers at t tables, of
:math:`\prod_\tau \Gamma(n_\tau - \sigma) / \Gamma(1 - \sigma)`. It follows the recursion
:math:`S(n + 1, t) = S(n, t - 1) + (n - t \sigma) S(n, t)` from :math:`S(0, 0) = 1`. The numbers
overflow, their ratios do not: all is built from :math:`r(n, t) = S(n, t - 1) / S(n, t)`.
"""

from math import log

import numpy as np

from evermix._xp import Floats, Ints
from evermix.kernels.base import kernel


@kernel
def _next_row(n: int, sigma: float, row: Floats) -> None:
    """Turn r(n, 0..) into r(n + 1, 0..), in place; ``row[0]`` stays zero."""
    if n == 0:
        return
    last = row.size - 1
    for t in range(min(n + 1, last), 0, -1):
        below = row[t - 1] + n - (t - 1) * sigma
        row[t] = below if t == n + 1 else row[t] * below / (row[t] + n - t * sigma)
    row[1] = 0.0


@kernel
def seat_ratios(
    sigma: float,
    out: Floats,  # OUT (n_max + 1, t_max + 1, 2)
) -> None:
    r"""Write what one more customer does to the number of seatings, with t of n indicators set.

    ``out[n, t, 0]`` is for a customer who sits down at one of t tables,
    :math:`S(n + 1, t) / S(n, t) \cdot (n + 1 - t) / (n + 1)`; ``out[n, t, 1]`` for one who opens
    another, :math:`S(n + 1, t + 1) / S(n, t) \cdot (t + 1) / (n + 1)`.
    """
    t_max = out.shape[1] - 1
    row = np.zeros(t_max + 2)
    for n in range(out.shape[0]):
        for t in range(t_max + 1):
            if t > n or (t == 0 and n > 0):
                out[n, t, 0] = out[n, t, 1] = 0.0
                continue
            stay = row[t] + n - t * sigma
            leave = 1.0 if t == n else 1.0 + (n - (t + 1) * sigma) / row[t + 1]
            out[n, t, 0] = stay * (n + 1.0 - t) / (n + 1.0)
            out[n, t, 1] = leave * (t + 1.0) / (n + 1.0)
        _next_row(n, sigma, row)


@kernel
def log_stirling_sum(
    sigma: float,
    times: Ints,  # IN (n_max + 1, t_max + 1): how often each S(n, t) is a factor
) -> float:
    """Log of a product of generalised Stirling numbers S(n, t), 1 <= t <= n."""
    n_max, t_max = times.shape[0] - 1, times.shape[1] - 1
    row, log_s = np.zeros(t_max + 1), np.zeros(t_max + 1)
    total = 0.0
    for n in range(1, n_max + 1):  # log_s[t] is log S(n, t); S(n, n) = 1
        if n > 1:
            for t in range(1, min(n - 1, t_max) + 1):
                log_s[t] += log(row[t] + (n - 1) - t * sigma)
            _next_row(n - 1, sigma, row)
        for t in range(1, min(n, t_max) + 1):
            if times[n, t] > 0:
                total += times[n, t] * log_s[t]
    return total
