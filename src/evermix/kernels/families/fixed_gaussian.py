r"""Kernels of the FixedGaussian family.

With the posterior mean m and the counts kappa of a cluster, and known variances v,

.. math::

    \log p(x | k) - \log h(x) = c - \sum_d \frac{\kappa_d}{2 v_d (\kappa_d + 1)} (x_d - m_d)^2
        + \sum_d \frac{x_d^2}{2 v_d}.
"""

import math
from typing import NamedTuple

from evermix._xp import Floats
from evermix.kernels.base import exact, implement, kernel
from evermix.kernels.rows import DenseRows

FACTORS = 16  # so many factors share one log
SMALL = 1e-15  # smaller ones have a log of their own: the product of all others stays a number


class FixedGaussianWork(NamedTuple):
    """What the kernels need, beside the rows; everything is about the family's origin."""

    stats: Floats  # INOUT (capacity, D): sum of x
    means: Floats  # OUT (capacity, D)
    weights: Floats  # OUT (capacity, D): of squared differences
    constants: Floats  # OUT (capacity,)
    prior_mean: Floats  # IN (D,)
    kappa: Floats  # IN (D,)
    half_precision: Floats  # IN (D,): 1 / (2 v)


@kernel
def score(work: FixedGaussianWork, rows: DenseRows, i: int, slots: int, out: Floats) -> None:
    """Gaussian predictive of row i in each slot."""
    x = rows.values[i]
    base = 0.0
    for d in range(x.size):
        base += work.half_precision[d] * x[d] * x[d]
    for k in range(slots):
        mean, weight = work.means[k], work.weights[k]
        total = 0.0
        for d in range(x.size):
            total += weight[d] * (x[d] - mean[d]) ** 2
        out[k] = work.constants[k] + (base - total)


@kernel
def add(
    work: FixedGaussianWork, rows: DenseRows, i: int, slot: int, weight: float, mass: float
) -> None:
    """Add ``weight`` times row i to a slot; a negative weight takes it out."""
    x, stats = rows.values[i], work.stats[slot]
    for d in range(x.size):
        stats[d] += weight * x[d]
    refresh(work, slot, mass)


@exact
def refresh(work: FixedGaussianWork, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's statistics."""
    constant, product = 0.0, 1.0
    for d in range(work.kappa.size):
        kappa = work.kappa[d] + mass
        shrink = kappa / (kappa + 1)
        total = work.kappa[d] * work.prior_mean[d] + work.stats[slot, d]
        work.means[slot, d] = total / kappa
        work.weights[slot, d] = shrink * work.half_precision[d]
        if shrink < SMALL:
            constant += math.log(shrink)
        else:
            product *= shrink
        if d % FACTORS == FACTORS - 1:
            constant += math.log(product)
            product = 1.0
    work.constants[slot] = 0.5 * (constant + math.log(product))


implement(FixedGaussianWork, score=score, add=add, refresh=refresh)
