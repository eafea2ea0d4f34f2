r"""Moves of the weights of random measures: u and q, also of documents."""

from math import exp, expm1, inf, log, log1p
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Bools, Floats, Ints
from evermix.kernels.base import kernel
from evermix.kernels.slice_sampling import HIGHEST, LOWEST, WIDTH, implement_height, slice_step

RAREST, SUREST = 1e-250, 1.0 - 1e-15  # between which probabilities q move
ODDS = 600.0  # of log odds
LEAST = 1e-300  # of a factor, so that it can be taken out of a product


# ---- mixed measures ------------------------------------------------------------------------


class LogWeight(NamedTuple):
    r"""The law of :math:`x = \log u_t`, or of :math:`x = \log q_{rt}` for a single region.

    With :math:`U_r = \sum_t q_{rt} u_t = U_r^{\mathrm{rest}} + s_r e^x` its log density is

    .. math::

        c x - b e^x - \sum_r \phi_r(U_r) - \sum_r d_r \log(1 + U_r).
    """

    c: float
    b: float
    slope: Floats  # (R,) s_r
    rest: Floats  # (R,) U_r without this time
    a: Floats  # (R,)
    decay: Floats  # (R,) d_r
    sigma: float


@kernel
def laplace_exponent(a: float, sigma: float, U: float) -> float:
    """Laplace laplace_exponent (a / sigma) ((1 + U)^sigma - 1); a log(1 + U) for sigma = 0."""
    x = log1p(U)
    y = sigma * x
    return a * x * (expm1(y) / y if y > 1e-12 else 1.0)


@kernel
def _log_weight_height(target: LogWeight, x: float) -> float:
    if x < LOWEST or x > HIGHEST:
        return -inf
    e = exp(x)
    total = target.c * x - target.b * e
    for r in range(target.slope.size):
        if target.slope[r] > 0.0:
            U = target.rest[r] + target.slope[r] * e
            total -= laplace_exponent(target.a[r], target.sigma, U) + target.decay[r] * log1p(U)
    return total


implement_height(LogWeight, _log_weight_height)


@kernel
def move_mixed_u(
    n: Floats,  # IN    (T,) observations of each time
    a: Floats,  # IN    (R,)
    sigma: float,
    decay: Floats,  # IN    (R,)
    q: Floats,  # IN    (R, T)
    u: Floats,  # INOUT (T,)
    rng: Any,
) -> None:
    """Move u of every time, one after another."""
    U = q @ u
    slope, rest = np.empty(a.size), np.empty(a.size)
    for t in range(u.size):
        for r in range(a.size):
            slope[r] = q[r, t]
            rest[r] = max(U[r] - q[r, t] * u[t], 0.0)
        target = LogWeight(n[t], 0.0, slope, rest, a, decay, sigma)
        u[t] = exp(slice_step(target, log(u[t]), WIDTH, rng))
        for r in range(a.size):
            U[r] = rest[r] + slope[r] * u[t]


@kernel
def move_mixed_q(
    n: Floats,  # IN    (R, T) observations of each region and time
    shape: float,  # of the Gamma law of q
    rate: float,
    a: Floats,  # IN    (R,)
    sigma: float,
    decay: Floats,  # IN    (R,)
    q: Floats,  # INOUT (R, T)
    u: Floats,  # IN    (T,)
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
            target = LogWeight(
                shape + n[r, t], rate, slope, rest, a[r : r + 1], decay[r : r + 1], sigma
            )
            q[r, t] = exp(slice_step(target, log(q[r, t]), WIDTH, rng))
            U = rest[0] + q[r, t] * u[t]


# ---- thinned measures ----------------------------------------------------------------------


class Grid(NamedTuple):
    r"""Nodes, and the factors there; ``still`` and ``product`` are   # INOUT.

    An atom of jump w is absent at time t, or not chosen, with the factor
    :math:`f_{rt}(w) = 1 - q_{rt} + q_{rt} e^{-u_t w}`. u and q depend only on integrals over w of
    products of these. The grid keeps the exponentials, which regions share, and the products over
    times: a factor is taken out by a division.
    """

    w: Floats  # (J,)
    still: Floats  # (T, J) exp(-u w)
    product: Floats  # (R, J) of the factors of all times


@kernel
def log_factor(q: float, x: float) -> float:
    """Log of 1 - q + q exp(-x) for x >= 0, finite also where the exponential underflows."""
    if q == 1.0:
        return -x
    if x < 0.5:
        return log1p(q * expm1(-x))
    return log(1.0 - q + q * exp(-x))


@kernel
def log_factors(q: Floats, u: Floats, w: Floats, out: Floats) -> None:
    """Write the logs of the products over times (T,) of factors at jumps (J,) into ``out`` (J,)."""
    out[:] = 0.0
    for t in range(u.size):
        for j in range(w.size):
            out[j] += log_factor(q[t], u[t] * w[j])


@kernel
def _factor(q: float, still: float) -> float:
    return max(1.0 - q + q * still, LEAST)


@kernel
def fill_grid(q: Floats, u: Floats, grid: Grid, lost: Floats) -> None:
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
def new_atoms(q: Floats, grid: Grid, weight: Floats, out: Floats) -> None:
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
    load: Floats  # (K,) 1 + u of the other times at which the atom is on
    on: Bools  # (K,) whether it is on at this time
    decay: Floats  # (K,) n_k - sigma
    rest: Floats  # (J,) intensity of atoms that are on at this time only as far as u goes
    w: Floats  # (J,)


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
def _log_odds_height(target: LogOdds, y: float) -> float:
    if abs(y) > ODDS:
        return -inf
    small = log1p(exp(-abs(y)))
    log_q, log_p = min(y, 0.0) - small, min(-y, 0.0) - small
    return target.on * log_q + target.off * log_p - target.cost * exp(log_q)


implement_height(LogOdds, _log_odds_height)


@kernel
def move_thinned_u(
    n: Floats,  # IN    (T,) observations of each time
    a: Floats,  # IN    (R,)
    q: Floats,  # IN    (R, T)
    u: Floats,  # INOUT (T,)
    on: Bools,  # IN    (T, K) bool
    decay: Floats,  # IN    (K,)
    grid: Grid,  # INOUT
    weight: Floats,  # IN    (J,) of the nodes
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
def move_thinned_q(
    on: Floats,  # IN    (R, T) atoms of each region that are on, plus the law's first weight
    off: Floats,  # IN    (R, T) those that are off, plus its second
    a: Floats,  # IN    (R,)
    q: Floats,  # INOUT (R, T)
    u: Floats,  # IN    (T,)
    grid: Grid,  # INOUT
    weight: Floats,  # IN    (J,) of the nodes
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


# ---- documents -----------------------------------------------------------------------------


class DocumentU(NamedTuple):
    r"""The law of :math:`v = \log u` of a document with n words at T tables.

    .. math::

        n v - \frac{a}{\sigma} ((1 + u)^\sigma - 1) - (n - \sigma T) \log(1 + u)
    """

    n: float
    a: float
    sigma: float
    decay: float  # n - sigma T


@kernel
def _document_u_height(target: DocumentU, v: float) -> float:
    if v < LOWEST or v > HIGHEST:
        return -inf
    u = exp(v)
    return target.n * v - laplace_exponent(target.a, target.sigma, u) - target.decay * log1p(u)


implement_height(DocumentU, _document_u_height)


@kernel
def draw_document_u(n: int, tables: int, a: float, sigma: float, u: float, rng: Any) -> float:
    """Move u of a document that has words; draw it anew where sigma is zero."""
    if sigma == 0.0:
        # u / (1 + u) is Beta(n, a); a small Gamma draw may underflow.
        return min(rng.standard_gamma(n) / max(rng.standard_gamma(a), 1e-250), 1e250)
    target = DocumentU(n, a, sigma, n - sigma * tables)
    return exp(slice_step(target, log(u), WIDTH, rng))


@kernel
def move_document_u(
    n: Ints,  # IN    (D,) int64 words of each document
    tables: Ints,  # IN    (D,) int64
    a: float,
    sigma: float,
    u: Floats,  # INOUT (D,)
    rng: Any,
) -> None:
    """Move u of every document that has words."""
    for d in range(n.size):
        if n[d] > 0:
            u[d] = draw_document_u(n[d], tables[d], a, sigma, u[d], rng)
