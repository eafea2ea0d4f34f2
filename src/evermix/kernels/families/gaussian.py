r"""Kernels of the Gaussian family.

With the posterior (kappa, m, nu, B) of a cluster and :math:`q = (x - m)^T B^{-1} (x - m)`,

.. math::

    \log p(x | k) - \log h(x) = c - \tfrac{\nu + 1}{2} \log(1 + \tfrac{\kappa}{\kappa + 1} q).

Adding a row changes B by a multiple of :math:`(x - m)(x - m)^T`: a rank-one update.
"""

import math
from typing import NamedTuple

from evermix._xp import Floats
from evermix.kernels.base import exact, implement, kernel
from evermix.kernels.linear_algebra import copy, half_log_det, squared_length, update
from evermix.kernels.rows import DenseRows, PlaneRows


class GaussianWork(NamedTuple):
    """What the kernels need, beside the rows; everything is about the family's origin."""

    stats: Floats  # INOUT (capacity, D + D D): sum of x, sum of x x^T
    whiteners: Floats  # INOUT (capacity, D, D)
    means: Floats  # OUT (capacity, D)
    terms: Floats  # OUT (capacity, 3): c, kappa / (kappa + 1), (nu + 1) / 2
    prior_whitener: Floats  # IN (D, D)
    prior_mean: Floats  # IN (D,)
    kappa: float
    nu: float
    residual: Floats  # scratch (D,)
    scratch: Floats  # scratch (D,)


@kernel
def score(work: GaussianWork, rows: DenseRows | PlaneRows, i: int, slots: int, out: Floats) -> None:
    """Student-t predictive of row i in each slot."""
    for k in range(slots):
        _subtract_mean(work, rows, i, k)
        q = squared_length(work.whiteners[k], work.residual)
        out[k] = work.terms[k, 0] - work.terms[k, 2] * math.log1p(work.terms[k, 1] * q)


@kernel
def _subtract_mean(work: GaussianWork, rows: DenseRows | PlaneRows, i: int, slot: int) -> None:
    x, mean, residual = rows.values[i], work.means[slot], work.residual
    for d in range(x.size):
        residual[d] = x[d] - mean[d]


@kernel
def add(
    work: GaussianWork, rows: DenseRows | PlaneRows, i: int, slot: int, weight: float, mass: float
) -> None:
    """Add ``weight`` times row i to a slot; a negative weight takes it out."""
    x, stats = rows.values[i], work.stats[slot]
    D = x.size
    kappa = work.kappa + mass
    _subtract_mean(work, rows, i, slot)
    update(work.whiteners[slot], work.residual, (kappa - weight) * weight / kappa, work.scratch)
    for d in range(D):
        step = weight * x[d]
        stats[d] += step
        for e in range(D):
            stats[D + d * D + e] += step * x[e]
    refresh(work, slot, mass)


@exact
def refresh(work: GaussianWork, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's statistics and whitener, which is reset if empty."""
    if mass == 0.0:
        copy(work.prior_whitener, work.whiteners[slot])
    D = work.prior_mean.size
    kappa, nu = work.kappa + mass, work.nu + mass
    for d in range(D):
        total = work.kappa * work.prior_mean[d] + work.stats[slot, d]
        work.means[slot, d] = total / kappa
    gammas = math.lgamma(0.5 * (nu + 1)) - math.lgamma(0.5 * (nu + 1 - D))
    scale = 0.5 * D * math.log(2.0 * kappa / (kappa + 1))
    work.terms[slot, 0] = gammas + scale - half_log_det(work.whiteners[slot])
    work.terms[slot, 1] = kappa / (kappa + 1)
    work.terms[slot, 2] = 0.5 * (nu + 1)


implement(GaussianWork, score=score, add=add, refresh=refresh)
