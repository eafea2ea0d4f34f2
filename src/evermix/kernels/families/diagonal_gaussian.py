r"""Kernels of the DiagonalGaussian family.

With the posterior (kappa, m, a, b) of a cluster,

.. math::

    \log p(x | k) - \log h(x) = c - (a + \tfrac12) \sum_d \log(1 + z_d^2), \qquad
    z_d = (x_d - m_d) \sqrt{\frac{\kappa}{2 b_d (\kappa + 1)}}.

The exponent is the same for every column, so factors 1 + z^2 are multiplied before a log is taken.
"""

import math
from typing import NamedTuple

from evermix._xp import Floats
from evermix.kernels.base import exact, implement, kernel
from evermix.kernels.rows import DenseRows
from evermix.kernels.special import log

FACTORS = 64  # so many factors share one log
HUGE = 1e300


class DiagonalGaussianWork(NamedTuple):
    """What the kernels need, beside the rows; everything is about the family's origin."""

    stats: Floats  # INOUT (capacity, 2 D): sum of x, sum of x^2
    means: Floats  # OUT (capacity, D)
    inverse_scales: Floats  # OUT (capacity, D): z = (x - mean) * inverse_scale
    terms: Floats  # OUT (capacity, 2): c, a + 1/2
    prior_mean: Floats  # IN (D,)
    prior_rate: Floats  # IN (D,)
    kappa: float
    shape: float


@kernel
def score(work: DiagonalGaussianWork, rows: DenseRows, i: int, slots: int, out: Floats) -> None:
    """Product of Student-t predictives of row i in each slot."""
    x = rows.values[i]
    for k in range(slots):
        total = _sum_logs(x, work.means[k], work.inverse_scales[k])
        out[k] = work.terms[k, 0] - work.terms[k, 1] * total


@kernel
def _sum_logs(x: Floats, mean: Floats, inverse_scale: Floats) -> float:
    """Sum over d of log(1 + z_d^2)."""
    total = 0.0
    for start in range(0, x.size, FACTORS):
        stop = start + FACTORS
        total += _log_product(x[start:stop], mean[start:stop], inverse_scale[start:stop])
    return total


@kernel
def _log_product(x: Floats, mean: Floats, inverse_scale: Floats) -> float:
    product = 1.0
    for d in range(x.size):
        z = (x[d] - mean[d]) * inverse_scale[d]
        product *= 1.0 + z * z
    if product < HUGE:
        return log(product)
    total = 0.0  # a row far from everything: the product may overflow
    for d in range(x.size):
        total += math.log1p(((x[d] - mean[d]) * inverse_scale[d]) ** 2)
    return total


@kernel
def add(
    work: DiagonalGaussianWork, rows: DenseRows, i: int, slot: int, weight: float, mass: float
) -> None:
    """Add ``weight`` times row i to a slot; a negative weight takes it out."""
    x, stats = rows.values[i], work.stats[slot]
    D = x.size
    for d in range(D):
        stats[d] += weight * x[d]
        stats[D + d] += weight * x[d] * x[d]
    refresh(work, slot, mass)


@exact
def refresh(work: DiagonalGaussianWork, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's statistics."""
    D = work.prior_mean.size
    kappa, shape = work.kappa + mass, work.shape + 0.5 * mass
    stats, mean, inverse_scale = work.stats[slot], work.means[slot], work.inverse_scales[slot]
    shrink = kappa / (kappa + 1)
    log_rates = 0.0
    for d in range(D):
        prior = work.kappa * work.prior_mean[d]
        m = (prior + stats[d]) / kappa
        scatter = prior * work.prior_mean[d] + stats[D + d] - kappa * m * m
        # The last bits of the subtraction may be negative; the rate never shrinks.
        rate = work.prior_rate[d] + 0.5 * max(scatter, 0.0)
        mean[d] = m
        inverse_scale[d] = math.sqrt(0.5 * shrink / rate)
        log_rates += math.log(rate)
    gammas = math.lgamma(shape + 0.5) - math.lgamma(shape)
    work.terms[slot, 0] = D * (gammas + 0.5 * math.log(shrink)) - 0.5 * log_rates
    work.terms[slot, 1] = shape + 0.5


implement(DiagonalGaussianWork, score=score, add=add, refresh=refresh)
