r"""Atoms without observations: the jumps of a tilted generalised gamma process above a level.

Their intensity is :math:`a / \Gamma(1 - \sigma) \, w^{-1 - \sigma} e^{-w} g(w)` with a tilt g that
falls: finitely many lie above any level. On cells of a geometric grid, :math:`e^{-w} g(w)` is at
most what it is at the left end, and the power has an inverse; proposals are thinned to the exact
law.
"""

import math
from collections.abc import Callable

import numpy as np

from evermix._xp import Array

__all__ = ["jumps_above", "level_of"]

STEP = 0.25  # of the grid, in logs
LARGEST = 5.0  # log of the largest jump: beyond, the intensity is below 1e-60


def jumps_above(
    log_level: float,
    a: float,
    sigma: float,
    log_tilt: Callable[[Array], Array],
    rng: np.random.Generator,
) -> Array:
    """Draw all jumps above a level; their logs, in no order.

    Parameters
    ----------
    log_level : float
    a, sigma : float
    log_tilt : callable
        Log g of jumps (J,), at most 0 and falling.
    rng : Generator
    """
    if log_level >= LARGEST:
        return np.empty(0)
    cells = math.ceil((LARGEST - log_level) / STEP)
    left = log_level + STEP * np.arange(cells)
    w = np.exp(left)
    log_top = log_tilt(w) - w
    # The integral of w^(-1 - sigma) over a cell.
    span = STEP if sigma == 0.0 else -math.expm1(-sigma * STEP) / sigma
    mean = a / math.gamma(1.0 - sigma) * np.exp(log_top - sigma * left) * span
    cell = np.repeat(np.arange(cells), rng.poisson(mean))
    share = rng.random(len(cell))
    if sigma == 0.0:
        log_w = left[cell] + STEP * share
    else:
        log_w = left[cell] - np.log1p(share * math.expm1(-sigma * STEP)) / sigma
    w = np.exp(log_w)
    keep = log_tilt(w) - w - log_top[cell] > -rng.standard_exponential(len(cell))
    return log_w[keep]


def level_of(number: float, a: float, sigma: float) -> float:
    """Log of a level above which about ``number`` jumps lie, at most that many, tilt left out."""
    span = number * math.gamma(1.0 - sigma) / a
    return -span if sigma == 0.0 else -math.log1p(sigma * span) / sigma
