r"""Kernels of the low-rank Gaussian family: a Gaussian in a plane, and squared distances from it.

With rate b and count c of a cluster, a row at squared distance :math:`\rho` from the plane has

.. math::

    \log p(\rho | k) - \log h(\rho) =
    \log \frac{\Gamma(ac + a)}{\Gamma(ac)} - a \log b - (ac + a) \log(1 + \rho / b).
"""

import math
from typing import NamedTuple

import numpy as np

from evermix._xp import Floats
from evermix.kernels.base import exact, implement, kernel
from evermix.kernels.families import gaussian
from evermix.kernels.families.gaussian import GaussianWork
from evermix.kernels.rows import PlaneRows


class LowRankGaussianWork(NamedTuple):
    """What the kernels need, beside the rows."""

    stats: Floats  # INOUT (capacity, Q + Q Q + 1): those in the plane, sum of squared distances
    plane: GaussianWork  # it has the same statistics
    terms: Floats  # OUT (capacity, 3): constant, a c + a, 1 / b
    shape: float  # a
    prior_count: float
    prior_rate: float


@kernel
def project(
    X: Floats, centre: Floats, units: Floats, basis: Floats, Z: Floats, squares: Floats
) -> None:
    """Write where rows X (N, D) are in the plane, and squared distances from it.

    One row at a time: a product of matrices rounds a row by how many others there are.
    """
    y = np.empty(X.shape[1])
    for i in range(X.shape[0]):
        for d in range(y.size):
            y[d] = (X[i, d] - centre[d]) / units[d]
        for j in range(basis.shape[0]):
            along = 0.0
            for d in range(y.size):
                along += y[d] * basis[j, d]
            Z[i, j] = along
        for j in range(basis.shape[0]):
            along = Z[i, j]
            for d in range(y.size):
                y[d] -= along * basis[j, d]
        square = 0.0
        for d in range(y.size):
            square += y[d] * y[d]
        squares[i] = square


@kernel
def score(work: LowRankGaussianWork, rows: PlaneRows, i: int, slots: int, out: Floats) -> None:
    """Student-t predictive in the plane times that of the distance, of row i in each slot."""
    gaussian.score(work.plane, rows, i, slots, out)
    square = rows.squares[i]
    for k in range(slots):
        out[k] += work.terms[k, 0] - work.terms[k, 1] * math.log1p(square * work.terms[k, 2])


@kernel
def add(
    work: LowRankGaussianWork, rows: PlaneRows, i: int, slot: int, weight: float, mass: float
) -> None:
    """Add ``weight`` times row i to a slot; a negative weight takes it out."""
    work.stats[slot, work.stats.shape[1] - 1] += weight * rows.squares[i]
    gaussian.add(work.plane, rows, i, slot, weight, mass)
    _refresh_distance(work, slot, mass)


@exact
def refresh(work: LowRankGaussianWork, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's statistics."""
    gaussian.refresh(work.plane, slot, mass)
    _refresh_distance(work, slot, mass)


@exact
def _refresh_distance(work: LowRankGaussianWork, slot: int, mass: float) -> None:
    a, before = work.shape, work.shape * (work.prior_count + mass)
    rate = work.prior_rate + work.stats[slot, work.stats.shape[1] - 1]
    rising = math.lgamma(before + a) - math.lgamma(before)
    work.terms[slot, 0] = rising - a * math.log(rate)
    work.terms[slot, 1] = before + a
    work.terms[slot, 2] = 1.0 / rate


implement(LowRankGaussianWork, score=score, add=add, refresh=refresh)
