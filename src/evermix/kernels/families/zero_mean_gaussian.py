r"""Kernels of the ZeroMeanGaussian family.

With the posterior (nu, B) of a cluster,

.. math::

    \log p(x | k) - \log h(x) = c - \tfrac{\nu + 1}{2} \log(1 + x^T B^{-1} x).
"""

import math
from typing import NamedTuple

from evermix._xp import Floats
from evermix.kernels.base import exact, implement, kernel
from evermix.kernels.linear_algebra import copy, half_log_det, squared_length, update
from evermix.kernels.rows import DenseRows


class ZeroMeanGaussianWork(NamedTuple):
    """What the kernels need, beside the rows."""

    stats: Floats  # INOUT (capacity, D D): sum of x x^T
    whiteners: Floats  # INOUT (capacity, D, D)
    terms: Floats  # OUT (capacity, 2): c, (nu + 1) / 2
    prior_whitener: Floats  # IN (D, D)
    nu: float
    scratch: Floats  # scratch (D,)


@kernel
def score(work: ZeroMeanGaussianWork, rows: DenseRows, i: int, slots: int, out: Floats) -> None:
    """Student-t predictive of row i in each slot."""
    x = rows.values[i]
    for k in range(slots):
        q = squared_length(work.whiteners[k], x)
        out[k] = work.terms[k, 0] - work.terms[k, 1] * math.log1p(q)


@kernel
def add(
    work: ZeroMeanGaussianWork, rows: DenseRows, i: int, slot: int, weight: float, mass: float
) -> None:
    """Add ``weight`` times row i to a slot; a negative weight takes it out."""
    x, stats = rows.values[i], work.stats[slot]
    D = x.size
    update(work.whiteners[slot], x, weight, work.scratch)
    for d in range(D):
        step = weight * x[d]
        for e in range(D):
            stats[d * D + e] += step * x[e]
    refresh(work, slot, mass)


@exact
def refresh(work: ZeroMeanGaussianWork, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's mass and whitener, which is reset if empty."""
    if mass == 0.0:
        copy(work.prior_whitener, work.whiteners[slot])
    D, nu = work.scratch.size, work.nu + mass
    gammas = math.lgamma(0.5 * (nu + 1)) - math.lgamma(0.5 * (nu + 1 - D))
    scale = 0.5 * D * math.log(2.0) - half_log_det(work.whiteners[slot])
    work.terms[slot, 0] = gammas + scale
    work.terms[slot, 1] = 0.5 * (nu + 1)


implement(ZeroMeanGaussianWork, score=score, add=add, refresh=refresh)
