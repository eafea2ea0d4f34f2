"""How wide a cluster is, guessed from a few rows that are not clustered yet.

The within-cluster variance lies between the distance of neighbours and the spread of everything.
The functions here propose a handful of values in between; the evidence decides among them.
"""

import numpy as np

from evermix._xp import Array

SHARES_OF_SPREAD = (1.0, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 64, 1 / 256)
MULTIPLES_OF_NEIGHBOURS = (1.0, 2.0, 4.0)
MAX_ROWS = 1000
LEAST_VARIANCE = 1e-200  # shares and squares of smaller ones underflow


def expected_variances(X: Array) -> list[Array]:
    """Return proposals for the within-cluster variance of each column, arrays (D,).

    Shares of the column variances, and multiples of half the mean squared difference between
    nearest neighbours.
    """
    spread = column_variances(X)
    near = _neighbour_variances(X, spread)
    return [c * spread for c in SHARES_OF_SPREAD] + [c * near for c in MULTIPLES_OF_NEIGHBOURS]


def column_variances(X: Array) -> Array:
    """Variance of each column of X (N, D), positive also for constant columns, (D,).

    A constant column says nothing about its scale: it gets a hundredth of the mean variance, and
    if all are constant (a single row), a hundredth of the largest square, or of 1.
    """
    size = np.max(np.abs(X), axis=0)
    variance = np.var(X - X[0], axis=0)
    known = variance > np.maximum((_rounding(X) * size) ** 2, LEAST_VARIANCE)
    fallback = variance[known].mean() if known.any() else max(1.0, float(size.max())) ** 2
    return np.where(known, variance, 0.01 * fallback)


def _rounding(X: Array) -> Array:
    """Spread of each column that may come from rounding alone, over its largest value, (D,).

    Numbers that are all whole in single precision have perhaps been rounded to it.
    """
    with np.errstate(over="ignore"):
        single = np.all(X.astype(np.float32) == X, axis=0)
    return np.where(single, 1e-7, 1e-14)


def share_of_spread(within: Array, spread: Array) -> float:
    """Return kappa at which the prior variance of cluster means, within / kappa, is the spread.

    Where clusters are as wide as everything, a new one must not come free. Its price grows with the
    number of columns, so kappa may reach 1 for many of them, but only 1/4 for few.
    """
    most = np.clip(len(spread) / 128, 0.25, 1.0)
    return float(np.clip(np.exp(np.mean(np.log(within / spread))), 1e-3, most))


def _neighbour_variances(X: Array, spread: Array) -> Array:
    """Half the mean squared difference of nearest neighbours in units of ``spread``, (D,)."""
    rows = X[np.linspace(0, len(X) - 1, min(len(X), MAX_ROWS)).astype(np.int64)]
    rows = np.unique(rows, axis=0)
    if len(rows) < 2:
        return spread
    scaled = (rows - rows[0]) / np.sqrt(spread)
    square = np.sum(scaled**2, axis=1)
    distance = square[:, None] + square - 2 * scaled @ scaled.T
    np.fill_diagonal(distance, np.inf)
    difference = rows - rows[np.argmin(distance, axis=1)]
    near = 0.5 * np.mean(difference**2, axis=0)
    return np.clip(near, 1e-6 * spread, spread)
