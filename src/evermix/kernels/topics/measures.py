r"""Moves of the weights of thinned measures, and the integrals behind them.

An atom of jump w is absent at time t, or not chosen, with the factor
:math:`f_{rt}(w) = 1 - q_{rt} + q_{rt} e^{-u_t w}`. All that u and q depend on are integrals over w
of products of these, taken on one grid of nodes. What is kept are the exponentials, which regions
share, and the products over times: to take out a factor, or to put in another, is a division.
"""

from math import exp, expm1, inf, log, log1p
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.kernels.base import kernel
from evermix.kernels.slice_sampling import HIGHEST, LOWEST, WIDTH, implement_height, slice_step

RAREST, SUREST = 1e-250, 1.0 - 1e-15  # between which probabilities q move
ODDS = 600.0  # of log odds
LEAST = 1e-300  # of a factor, so that it can be taken out of a product


class Grid(NamedTuple):
    """Nodes, and the factors there; ``still`` and ``product`` are   # INOUT."""

    w: Array  # (J,)
    still: Array  # (T, J) exp(-u w)
    product: Array  # (R, J) of the factors of all times


@kernel
def log_factor(q: float, x: float) -> float:
    """Log of 1 - q + q exp(-x) for x >= 0, finite also where the exponential underflows."""
    if q == 1.0:
        return -x
    if x < 0.5:
        return log1p(q * expm1(-x))
    return log(1.0 - q + q * exp(-x))


@kernel
def log_factors(q: Array, u: Array, w: Array, out: Array) -> None:
    """Write the logs of the products over times (T,) of factors at jumps (J,) into ``out`` (J,)."""
    out[:] = 0.0
    for t in range(u.size):
        for j in range(w.size):
            out[j] += log_factor(q[t], u[t] * w[j])


@kernel
def _factor(q: float, still: float) -> float:
    return max(1.0 - q + q * still, LEAST)


@kernel
def multiply(q: Array, u: Array, grid: Grid, lost: Array) -> None:
    """Write the exponentials and products of a grid, and what products lack to one, (R, J)."""
    w, still, product = grid
    product[:] = 1.0
    lost[:] = 0.0
    chosen = np.empty(w.size)
    for t in range(u.size):
        for j in range(w.size):
            still[t, j] = exp(-u[t] * w[j])
            chosen[j] = -expm1(-u[t] * w[j])
        for r in range(q.shape[0]):
            for j in range(w.size):
                product[r, j] *= _factor(q[r, t], still[t, j])
                lost[r, j] += (1.0 - lost[r, j]) * q[r, t] * chosen[j]


@kernel
def new_atoms(q: Array, grid: Grid, weight: Array, out: Array) -> None:
    """Write the weights of new atoms of each region at each time with a = 1 into ``out`` (T, R)."""
    w, still, product = grid
    for t in range(still.shape[0]):
        for r in range(q.shape[0]):
            total = 0.0
            for j in range(w.size):
                others = product[r, j] / _factor(q[r, t], still[t, j])
                total += weight[j] * w[j] * still[t, j] * others
            out[t, r] = q[r, t] * total


class LogU(NamedTuple):
    """The law of x = log u of one time."""

    n: float
    load: Array  # (K,) 1 + u of the other times at which the atom is on
    on: Array  # (K,) whether it is on at this time
    decay: Array  # (K,) n_k - sigma
    rest: Array  # (J,) intensity of atoms that are on at this time only as far as u goes
    w: Array  # (J,)


@kernel
def _log_u_height(target: LogU, x: float) -> float:
    if x < LOWEST or x > HIGHEST:
        return -inf
    e = exp(x)
    total = target.n * x
    for k in range(target.load.size):
        if target.on[k]:
            total -= target.decay[k] * log(target.load[k] + e)
    for j in range(target.w.size):
        total += target.rest[j] * expm1(-e * target.w[j])
    return total


implement_height(LogU, _log_u_height)


class LogOdds(NamedTuple):
    """The law q^on (1 - q)^off exp(-cost q), of the log odds of q."""

    on: float
    off: float
    cost: float


@kernel
def _odds_height(target: LogOdds, y: float) -> float:
    if abs(y) > ODDS:
        return -inf
    small = log1p(exp(-abs(y)))
    log_q, log_p = min(y, 0.0) - small, min(-y, 0.0) - small
    return target.on * log_q + target.off * log_p - target.cost * exp(log_q)


implement_height(LogOdds, _odds_height)


@kernel
def move_u(
    n: Array,  # IN    (T,) observations of each time
    a: Array,  # IN    (R,)
    q: Array,  # IN    (R, T)
    u: Array,  # INOUT (T,)
    on: Array,  # IN    (T, K) bool
    decay: Array,  # IN    (K,)
    grid: Grid,  # INOUT
    weight: Array,  # IN    (J,) of the nodes
    rng: Any,
) -> None:
    """Move u of every time, one after another, jumps integrated out."""
    w, still, product = grid
    R, J, K = a.size, w.size, decay.size
    load, rest, before = np.ones(K), np.empty(J), np.empty(J)
    for t in range(u.size):
        for k in range(K):
            if on[t, k]:
                load[k] += u[t]
    for t in range(u.size):
        rest[:] = 0.0
        for r in range(R):
            for j in range(J):
                rest[j] += a[r] * q[r, t] * product[r, j] / _factor(q[r, t], still[t, j])
        for j in range(J):
            rest[j] *= weight[j]
        for k in range(K):
            if on[t, k]:
                load[k] = max(load[k] - u[t], 1.0)
        target = LogU(n[t], load, on[t], decay, rest, w)
        u[t] = exp(slice_step(target, log(u[t]), WIDTH, rng))
        for k in range(K):
            if on[t, k]:
                load[k] += u[t]
        before[:] = still[t]
        for j in range(J):
            still[t, j] = exp(-u[t] * w[j])
        for r in range(R):
            for j in range(J):
                product[r, j] *= _factor(q[r, t], still[t, j]) / _factor(q[r, t], before[j])


@kernel
def move_q(
    on: Array,  # IN    (R, T) atoms of each region that are on, plus the law's first weight
    off: Array,  # IN    (R, T) those that are off, plus its second
    a: Array,  # IN    (R,)
    q: Array,  # INOUT (R, T)
    u: Array,  # IN    (T,)
    grid: Grid,  # INOUT
    weight: Array,  # IN    (J,) of the nodes
    rng: Any,
) -> None:
    """Move q of every region and time, one after another."""
    w, still, product = grid
    chosen = np.empty(w.size)  # weight of a node times the probability that its atom is chosen
    for t in range(u.size):
        for j in range(w.size):
            chosen[j] = -weight[j] * expm1(-u[t] * w[j])
        for r in range(a.size):
            cost = 0.0
            for j in range(w.size):
                product[r, j] /= _factor(q[r, t], still[t, j])
                cost += chosen[j] * product[r, j]
            target = LogOdds(on[r, t], off[r, t], a[r] * cost)
            y = slice_step(target, log(q[r, t]) - log1p(-q[r, t]), WIDTH, rng)
            small = exp(-abs(y))
            odds = (1.0 if y > 0.0 else small) / (1.0 + small)
            q[r, t] = min(max(odds, RAREST), SUREST)
            for j in range(w.size):
                product[r, j] *= _factor(q[r, t], still[t, j])
