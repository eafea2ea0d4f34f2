r"""Moves of the weights of mixed measures: u of each time, q of each region and time.

With :math:`U_r = \sum_t q_{rt} u_t`, the log density of :math:`x = \log u_t`, or of
:math:`x = \log q_{rt}` for a single region, is

.. math::

    c x - b e^x - \sum_r \phi_r(U_r) - \sum_r d_r \log(1 + U_r), \qquad
    U_r = U_r^{\mathrm{rest}} + s_r e^x.
"""

from math import exp, expm1, inf, log, log1p
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.kernels.base import kernel
from evermix.kernels.slice_sampling import HIGHEST, LOWEST, WIDTH, implement_height, slice_step


class Weight(NamedTuple):
    """The log density above."""

    c: float
    b: float
    slope: Array  # (R,) s_r
    rest: Array  # (R,) U_r without this time
    a: Array  # (R,)
    decay: Array  # (R,) d_r
    sigma: float


@kernel
def exponent(a: float, sigma: float, U: float) -> float:
    """Laplace exponent (a / sigma) ((1 + U)^sigma - 1); a log(1 + U) for sigma = 0."""
    x = log1p(U)
    y = sigma * x
    return a * x * (expm1(y) / y if y > 1e-12 else 1.0)


@kernel
def _height(target: Weight, x: float) -> float:
    if x < LOWEST or x > HIGHEST:
        return -inf
    e = exp(x)
    total = target.c * x - target.b * e
    for r in range(target.slope.size):
        if target.slope[r] > 0.0:
            U = target.rest[r] + target.slope[r] * e
            total -= exponent(target.a[r], target.sigma, U) + target.decay[r] * log1p(U)
    return total


implement_height(Weight, _height)


@kernel
def move_u(
    n: Array,  # IN    (T,) observations of each time
    a: Array,  # IN    (R,)
    sigma: float,
    decay: Array,  # IN    (R,)
    q: Array,  # IN    (R, T)
    u: Array,  # INOUT (T,)
    rng: Any,
) -> None:
    """Move u of every time, one after another."""
    U = q @ u
    slope, rest = np.empty(a.size), np.empty(a.size)
    for t in range(u.size):
        for r in range(a.size):
            slope[r] = q[r, t]
            rest[r] = max(U[r] - q[r, t] * u[t], 0.0)
        target = Weight(n[t], 0.0, slope, rest, a, decay, sigma)
        u[t] = exp(slice_step(target, log(u[t]), WIDTH, rng))
        for r in range(a.size):
            U[r] = rest[r] + slope[r] * u[t]


@kernel
def move_q(
    n: Array,  # IN    (R, T) observations of each region and time
    shape: float,  # of the Gamma law of q
    rate: float,
    a: Array,  # IN    (R,)
    sigma: float,
    decay: Array,  # IN    (R,)
    q: Array,  # INOUT (R, T)
    u: Array,  # IN    (T,)
    rng: Any,
) -> None:
    """Move q of every region and time, one after another."""
    slope, rest = np.empty(1), np.empty(1)
    for r in range(a.size):
        U = 0.0
        for t in range(u.size):
            U += q[r, t] * u[t]
        for t in range(u.size):
            slope[0] = u[t]
            rest[0] = max(U - q[r, t] * u[t], 0.0)
            target = Weight(
                shape + n[r, t], rate, slope, rest, a[r : r + 1], decay[r : r + 1], sigma
            )
            q[r, t] = exp(slice_step(target, log(q[r, t]), WIDTH, rng))
            U = rest[0] + q[r, t] * u[t]
