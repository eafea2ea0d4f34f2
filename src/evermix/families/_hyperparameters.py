"""Hyperparameters: checks of those that are given, guesses of those that are open.

Guesses are about how wide a cluster is, from a few rows that are not clustered yet. The variance
within a cluster lies between the distance of neighbours and the spread of everything; a handful of
values in between are proposed, and the evidence decides among them.
"""

import numpy as np

from evermix._xp import Floats

SHARES_OF_SPREAD = (1.0, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 64, 1 / 256)
MULTIPLES_OF_NEIGHBOURS = (1.0, 2.0, 4.0)
SHARE = 0.25  # variance of a typical cluster over that of everything, as a first guess
RIDGE = 0.01  # weight of the variances in the guess of a covariance, which may be singular
MAX_ROWS = 1000
EXTREME = 100.0  # widths of the middle half of all rows, beyond which numbers say nothing of scales
LEAST_VARIANCE = 1e-200  # shares and squares of smaller ones underflow


def as_given(value: float | Floats) -> float | Floats:
    """Return a number as a float and anything else as a float64 array, in its own shape."""
    return float(value) if np.ndim(value) == 0 else np.array(value, dtype=np.float64)


def positive(name: str, value: object) -> float:
    """Return a positive number as a float."""
    number = np.asarray(value, dtype=np.float64)
    if number.shape != () or not 0 < number < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return float(number)


def column(name: str, value: object, n_features: int) -> Floats:
    """Return a number or an array (D,) as a float64 array (D,)."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n_features,)) or not np.all(np.isfinite(array)):
        raise ValueError(
            f"{name} must be a finite number or one per column, shape ({n_features},), "
            f"got {_shown(array)}."
        )
    return np.broadcast_to(array, (n_features,)).copy()


def positive_columns(name: str, value: object, n_features: int) -> Floats:
    """Return a positive number or a positive array (D,) as a float64 array (D,)."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n_features,)) or not np.all((array > 0) & (array < np.inf)):
        raise ValueError(
            f"{name} must be a positive number or one per column, shape ({n_features},), "
            f"got {_shown(array)}."
        )
    return np.broadcast_to(array, (n_features,)).copy()


def positive_as_given(name: str, value: float | Floats, n_features: int) -> float | Floats:
    """Return a positive number as a float and a positive array (D,) as a float64 array."""
    positive_columns(name, value, n_features)
    return as_given(value)


def degrees(nu: object, n_features: int) -> float:
    """Return degrees of freedom for which the expected covariance exists, as a float."""
    number = positive("nu", nu)
    if number <= n_features + 1:
        raise ValueError(
            f"nu must be larger than D + 1 = {n_features + 1} (scale is the expected covariance, "
            f"which exists only then), got {number}."
        )
    return number


def covariance(scale: object, n_features: int) -> Floats:
    """Return a number, variances (D,) or a covariance (D, D) as a positive definite (D, D)."""
    D, array = n_features, np.asarray(scale, dtype=np.float64)
    if array.shape in ((), (D,)) and np.all((array > 0) & (array < np.inf)):
        return np.diag(np.broadcast_to(array, (D,)))
    if array.shape == (D, D) and _is_symmetric(array) and _is_positive_definite(array):
        return array
    raise ValueError(
        f"scale must be a positive number, ({D},) variances or a positive definite ({D}, {D}) "
        f"covariance, got {_shown(array)}."
    )


def _is_symmetric(array: Floats) -> bool:
    """Whether a matrix is symmetric up to rounding; most are so exactly, which takes less time."""
    return bool((array == array.T).all()) or np.allclose(array, array.T)


def _is_positive_definite(array: Floats) -> bool:
    unit = np.sqrt(np.abs(np.diagonal(array)))  # columns may have very different scales
    if not (np.all(np.isfinite(array)) and np.all(unit > 0)):
        return False
    return bool(np.linalg.eigvalsh(array / unit / unit[:, None])[0] > 0)


def _shown(array: Floats) -> str:
    if array.size <= 4:
        return repr(array.tolist())
    return f"shape {array.shape} with least value {np.min(array)}"


# ---- guesses --------------------------------------------------------------------------------


def expected_variances(X: Floats) -> list[Floats]:
    """Return proposals for the within-cluster variance of each column, arrays (D,).

    Shares of the column variances, and multiples of half the mean squared difference between
    nearest neighbours.
    """
    spread = column_variances(X)
    near = _neighbour_variances(X, spread)
    return [c * spread for c in SHARES_OF_SPREAD] + [c * near for c in MULTIPLES_OF_NEIGHBOURS]


def without_extremes(X: Floats) -> Floats:
    """Return rows X (N, D) with numbers far from all others drawn in, for a first guess of scales.

    A typing error or a mark for a gap, such as 999999, would hide everything else.
    """
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    width = np.where(high > low, EXTREME * (high - low), np.inf)
    return np.clip(X, low - width, high + width)


def typical_covariance(X: Floats) -> Floats:
    """Return a first guess of the covariance of a cluster, a share of that of rows X, (D, D)."""
    spread = column_variances(X)
    centred = X - X.mean(axis=0)
    whole = centred.T @ centred / len(X)
    return SHARE * ((1 - RIDGE) * whole + RIDGE * np.diag(spread))


def column_variances(X: Floats) -> Floats:
    """Variance of each column of X (N, D), positive also for constant columns, (D,).

    A constant column says nothing about its scale: it gets a hundredth of the mean variance, and
    if all are constant (a single row), a hundredth of the largest square, or of 1.
    """
    size = np.max(np.abs(X), axis=0)
    variance = np.var(X - X[0], axis=0)
    known = variance > np.maximum((_rounding(X) * size) ** 2, LEAST_VARIANCE)
    fallback = variance[known].mean() if known.any() else max(1.0, float(size.max())) ** 2
    return np.where(known, variance, 0.01 * fallback)


def _rounding(X: Floats) -> Floats:
    """Spread of each column that may come from rounding alone, over its largest value, (D,).

    Numbers that are all whole in single precision have perhaps been rounded to it.
    """
    with np.errstate(over="ignore"):
        single = np.all(X.astype(np.float32) == X, axis=0)
    return np.where(single, 1e-7, 1e-14)


def share_of_spread(within: Floats, spread: Floats) -> float:
    """Return kappa at which the prior variance of cluster means, within / kappa, is the spread.

    Where clusters are as wide as everything, a new one must not come free. Its price grows with the
    number of columns, so kappa may reach 1 for many of them, but only 1/4 for few.
    """
    most = np.clip(len(spread) / 128, 0.25, 1.0)
    return float(np.clip(np.exp(np.mean(np.log(within / spread))), 1e-3, most))


def _neighbour_variances(X: Floats, spread: Floats) -> Floats:
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
