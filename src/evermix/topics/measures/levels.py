r"""Atoms without observations: the jumps of a tilted generalised gamma process above a level.

Their intensity is :math:`a / \Gamma(1 - \sigma) \, w^{-1 - \sigma} e^{-w} g(w)` with a tilt g that
falls: finitely many lie above any level. On cells of a geometric grid, :math:`e^{-w} g(w)` is at
most what it is at the left end, and the power has an inverse; proposals are thinned to the exact
law.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from evermix._xp import Floats, Ints

STEP = 0.25  # of the grid, in logs
SMALL = 1e-6  # a sigma that is taken for zero where formulas divide by it
MAX_FRESH = 1000  # atoms without observations that a sweep draws, beside one for each observation
MAX_ENTRIES = 2**22  # of a table of observations, or parameters, and atoms
LARGEST = 5.0  # log of the largest jump: beyond, the intensity is below 1e-60


def jumps_above(
    log_level: float,
    a: float,
    sigma: float,
    log_tilt: Callable[[Floats], Floats],
    rng: np.random.Generator,
) -> Floats:
    """Draw all jumps above a level; their logs, in no order.

    ``log_tilt`` is log g of jumps (J,), at most 0 and falling.
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
    """Log of a level with about ``number`` jumps between it and one, or less; tilt left out."""
    span = number * math.gamma(1.0 - sigma) / a
    return -span if sigma == 0.0 else -math.log1p(sigma * span) / sigma


def lowest_level(n: int, width: int, a: float, sigma: float) -> float:
    """Log of the level above which there are as many atoms as a sweep may draw.

    There are n observations (rows, or tables), and ``width`` numbers are kept of an atom.
    """
    return level_of(min(MAX_ENTRIES / width, MAX_FRESH + n), a, sigma)


def levels_of_regions(level: Floats, floor: float, times: Ints, q: Floats) -> Floats:
    """Lowest log level (R,), not below a floor, of the observations (N,) that may move there."""
    least = np.full(q.shape[1], np.inf)
    np.minimum.at(least, times, np.where(level >= floor, level, np.inf))
    return np.where(q > 0, least, np.inf).min(axis=1)


def number_above(log_level: Floats, sigma: float) -> Floats:
    r"""Mean number of jumps above levels for a = 1: :math:`\Gamma(-\sigma, L)/\Gamma(1-\sigma)`."""
    level = np.exp(log_level)
    if sigma < SMALL:
        return special.exp1(level)
    near = np.exp(-sigma * log_level - level) / math.gamma(1.0 - sigma)
    return (near - special.gammaincc(1.0 - sigma, level)) / sigma


def mean_below(log_level: Floats, sigma: float) -> Floats:
    """Upper bound on the mean sum of the jumps below levels, a = 1; close if they are small."""
    return np.exp((1.0 - sigma) * log_level) / math.gamma(2.0 - sigma)


def exponent_below(log_level: Floats, U: Floats, sigma: float) -> Floats:
    r"""Laplace exponent at U of the jumps below levels, a = 1.

    With c = 1 + U and the regularised lower gamma function P it is

    .. math::

        \frac{c^\sigma P(1 - \sigma, c L) - P(1 - \sigma, L)}{\sigma}
        - \frac{L^{-\sigma} (e^{-L} - e^{-c L})}{\sigma \Gamma(1 - \sigma)}.
    """
    level, c = np.exp(log_level), 1.0 + U
    if sigma < SMALL:
        return np.log(c) + special.exp1(c * level) - special.exp1(level)
    whole = c**sigma * special.gammainc(1.0 - sigma, c * level)
    whole -= special.gammainc(1.0 - sigma, level)
    edge = np.exp(-sigma * log_level - level) * -np.expm1(-U * level)
    return (whole - edge / math.gamma(1.0 - sigma)) / sigma
