r"""Moves of the weights of thinned measures, and the integral behind them.

An atom of jump w is absent at time t, or not chosen, with the factor
:math:`f_{rt}(w) = 1 - q_{rt} + q_{rt} e^{-u_t w}`. All that u and q depend on are integrals over w
of products of these, taken on one grid of nodes; the logs of the factors are kept, so that changing
one u or q costs one pass over the nodes.
"""

from math import exp, expm1, inf, log, log1p
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.kernels.base import kernel
from evermix.kernels.slices import implement_height, slice_step

__all__ = ["log_factor", "log_factors", "move_q", "move_u"]

WIDTH = 1.5
LOWEST, HIGHEST = -650.0, 650.0  # of logs
ODDS = 600.0  # of log odds


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
    """Write log factors of regions, times and nodes into ``out`` (R, T, J)."""
    for r in range(q.shape[0]):
        for t in range(u.size):
            for j in range(w.size):
                out[r, t, j] = log_factor(q[r, t], u[t] * w[j])


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
    w: Array,  # IN    (J,) nodes
    weight: Array,  # IN    (J,) their weights
    logs: Array,  # INOUT (R, T, J) log factors
    total: Array,  # INOUT (R, J) their sums
    rng: Any,
) -> None:
    """Move u of every time, one after another, jumps integrated out."""
    R, J, K = a.size, w.size, decay.size
    load, rest = np.ones(K), np.empty(J)
    for k in range(K):
        for t in range(u.size):
            if on[t, k]:
                load[k] += u[t]
    for t in range(u.size):
        rest[:] = 0.0
        for r in range(R):
            scale = a[r] * q[r, t]
            for j in range(J):
                rest[j] += scale * exp(total[r, j] - logs[r, t, j])
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
        for r in range(R):
            for j in range(J):
                new = log_factor(q[r, t], u[t] * w[j])
                total[r, j] += new - logs[r, t, j]
                logs[r, t, j] = new


@kernel
def move_q(
    on: Array,  # IN    (R, T) atoms of each region that are on, plus the law's first weight
    off: Array,  # IN    (R, T) those that are off, plus its second
    a: Array,  # IN    (R,)
    q: Array,  # INOUT (R, T)
    u: Array,  # IN    (T,)
    w: Array,  # IN    (J,) nodes
    weight: Array,  # IN    (J,) their weights
    logs: Array,  # INOUT (R, T, J) log factors
    total: Array,  # INOUT (R, J) their sums
    rng: Any,
) -> None:
    """Move q of every region and time, one after another."""
    for r in range(a.size):
        for t in range(u.size):
            cost = 0.0
            for j in range(w.size):
                cost -= weight[j] * exp(total[r, j] - logs[r, t, j]) * expm1(-u[t] * w[j])
            target = LogOdds(on[r, t], off[r, t], a[r] * cost)
            y = slice_step(target, log(q[r, t]) - log1p(-q[r, t]), WIDTH, rng)
            small = exp(-abs(y))
            odds = (1.0 if y > 0.0 else small) / (1.0 + small)
            q[r, t] = min(max(odds, 1e-250), 1.0 - 1e-15)
            for j in range(w.size):
                new = log_factor(q[r, t], u[t] * w[j])
                total[r, j] += new - logs[r, t, j]
                logs[r, t, j] = new
