r"""Kernels of the VonMisesFisher family, and the integral over the sphere that it needs.

With :math:`S_D(z) = \int \exp(z \mu_1) d\mu` over all unit vectors of D columns, and the sum s of
the rows of a cluster and of its prior,

.. math::

    \log p(x | k) = \log S_D(c |s + x|) - \log S_D(c |s|) - \log S_D(c).

:math:`S_D(z) = (2 \pi)^{v+1} I_v(z) z^{-v}`, where v = D/2 - 1. Debye's expansion gives I for large
orders; for small ones it is used at a larger order, from which the recurrence
:math:`I_v = I_{v+2} + 2 (v + 1) I_{v+1} / z` leads back without loss.
"""

import math
from typing import NamedTuple

from evermix._xp import Floats
from evermix.kernels.base import exact, implement, kernel
from evermix.kernels.rows import DenseRows

LEAST_ORDER = 40.0  # at which four terms of Debye's expansion have an error of 1e-11
BLOCK = 16  # rows that take turns with each row of a metric, so that both stay in fast memory


class VonMisesFisherWork(NamedTuple):
    """What the kernels need, beside the rows."""

    stats: Floats  # INOUT (capacity, D): sum of x
    sums: Floats  # OUT (capacity, D): the same with the prior's part
    squares: Floats  # OUT (capacity,): squared length of these
    constants: Floats  # OUT (capacity,)
    prior: Floats  # IN (D,)
    concentration: Floats  # IN (1,)


@kernel
def turn(X: Floats, metric: Floats, Z: Floats) -> None:
    """Write the directions of rows X (N, D) times a metric (D, D).

    A row is rounded in the same way whichever others come with it, unlike in products of matrices.
    """
    N, D = X.shape
    for start in range(0, N, BLOCK):
        end = min(start + BLOCK, N)
        Z[start:end] = 0.0
        for d in range(D):
            for i in range(start, end):
                x = X[i, d]
                for j in range(D):
                    Z[i, j] += x * metric[d, j]
        for i in range(start, end):
            square = 0.0
            for j in range(D):
                square += Z[i, j] * Z[i, j]
            inverse = 1.0 / math.sqrt(square)
            for j in range(D):
                Z[i, j] *= inverse


@exact
def debye(v: float, z: float) -> float:
    """Log of I_v(z) z^-v for an order v of at least LEAST_ORDER."""
    root = math.sqrt(v * v + z * z)
    p = v / root
    q = p * p
    u1 = p * (3.0 - 5.0 * q) / 24.0
    u2 = q * (81.0 + q * (-462.0 + q * 385.0)) / 1152.0
    u3 = p * q * (30375.0 + q * (-369603.0 + q * (765765.0 - q * 425425.0))) / 414720.0
    u4 = 4465125.0 + q * (-94121676.0 + q * (349922430.0 + q * (-446185740.0 + q * 185910725.0)))
    u4 *= q * q / 39813120.0
    series = (u1 + (u2 + (u3 + u4 / v) / v) / v) / v
    lead = root - v * math.log(v + root) - 0.5 * math.log(2.0 * math.pi * root)
    return lead + math.log1p(series)


@exact
def log_sphere(z: float, D: int) -> float:
    """Log of the integral of exp(z mu_1) over all unit vectors mu of D columns."""
    v = 0.5 * D - 1.0
    steps = max(0, math.ceil(LEAST_ORDER - v))
    order = v + steps
    value = debye(order, z)
    if steps > 0:
        ratio, product = math.exp(debye(order + 1.0, z) - value), 1.0  # I_{v+1} / (z I_v)
        for step in range(steps):
            order -= 1.0
            inverse = 2.0 * (order + 1.0) + z * z * ratio
            product *= inverse
            ratio = 1.0 / inverse
            if step % 8 == 7:
                value += math.log(product)
                product = 1.0
        value += math.log(product)
    return value + (v + 1.0) * math.log(2.0 * math.pi)


@kernel
def score(work: VonMisesFisherWork, rows: DenseRows, i: int, slots: int, out: Floats) -> None:
    """Predictive of row i in each slot."""
    x, c = rows.values[i], work.concentration[0]
    length = 0.0
    for d in range(x.size):
        length += x[d] * x[d]
    for k in range(slots):
        total = work.sums[k]
        along = 0.0
        for d in range(x.size):
            along += total[d] * x[d]
        square = max(work.squares[k] + 2.0 * along + length, 0.0)
        out[k] = log_sphere(c * math.sqrt(square), x.size) + work.constants[k]


@kernel
def add(
    work: VonMisesFisherWork, rows: DenseRows, i: int, slot: int, weight: float, mass: float
) -> None:
    """Add ``weight`` times row i to a slot; a negative weight takes it out."""
    x, stats = rows.values[i], work.stats[slot]
    for d in range(x.size):
        stats[d] += weight * x[d]
    refresh(work, slot, mass)


@exact
def refresh(work: VonMisesFisherWork, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's statistics."""
    square, D, c = 0.0, work.prior.size, work.concentration[0]
    for d in range(D):
        total = work.prior[d] + work.stats[slot, d]
        work.sums[slot, d] = total
        square += total * total
    work.squares[slot] = square
    work.constants[slot] = -log_sphere(c * math.sqrt(square), D) - log_sphere(c, D)


implement(VonMisesFisherWork, score=score, add=add, refresh=refresh)
