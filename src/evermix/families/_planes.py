"""Planes in which rows of many columns vary most, and how many directions they take."""

from typing import NamedTuple

import numpy as np

from evermix._xp import Floats

ROWS = 1024  # that directions are found from
MOST = 20  # directions of an open rank: clusters have as many variances squared
EXPLAINED = 0.8  # share of the variance after which further directions are noise
OUTGROWN = 0.005  # share of the variance that another plane must explain in addition
CERTAIN = 4.0  # standard errors by which it must do so
COMMENSURABLE = 30.0  # ratio of the ranges of columns up to which they have the same units


class Frame(NamedTuple):
    """Where a plane lies: rows are divided by the units of their columns first."""

    centre: Floats  # (D,), a point of the plane
    units: Floats  # (D,)
    basis: Floats  # (Q, D), orthonormal


def frame(X: Floats, rank: int | None, units: Floats | None) -> Frame:
    """Return the plane through the mean of rows X (N, D) in which they vary most."""
    X = X[np.linspace(0, len(X) - 1, min(len(X), ROWS)).astype(np.int64)]
    centre, units = X.mean(axis=0), column_units(X) if units is None else units
    _, lengths, directions = np.linalg.svd((X - centre) / units, full_matrices=False)
    q = n_directions(lengths**2 / len(X), *X.shape) if rank is None else rank
    basis = directions[:q]
    if len(basis) < q:  # fewer rows than directions: any others will do
        basis = np.linalg.qr(np.vstack([basis, np.eye(X.shape[1])]).T)[0].T[:q]
    return Frame(centre, units, _upright(basis))


def outgrown(X: Floats, now: Frame) -> bool:
    """Whether rows X (N, D) vary much in directions outside a plane.

    Another plane is found from half of the rows, and the two are compared on the other half.
    """
    other = frame(X[::2], None, now.units)
    x = (X[1::2] - other.centre) / now.units
    gains = np.sum((x @ other.basis.T) ** 2, axis=1) - np.sum((x @ now.basis.T) ** 2, axis=1)
    sure = CERTAIN * gains.std() * np.sqrt(len(x))
    return bool(gains.sum() > max(OUTGROWN * np.sum(x**2), sure))


def column_units(X: Floats) -> Floats:
    """Return what columns of X (N, D) are divided by: 1, or their ranges where those differ much.

    Ranges, not standard deviations: a pixel that is rarely set has a small deviation, but its
    values are those of the others.
    """
    ranges = np.ptp(X, axis=0)
    varied = ranges > 0
    if not varied.any():
        return np.ones(X.shape[1])
    low, high = np.quantile(ranges[varied], [0.1, 0.9])
    if high <= COMMENSURABLE * low:
        return np.ones(X.shape[1])
    return np.where(varied, ranges, 1.0)


def n_directions(variances: Floats, N: int, D: int) -> int:
    """Return how many directions stand out, given all variances, descending, of N rows.

    They are above what noise alone would reach (Marchenko and Pastur), and explain no more of the
    variance than EXPLAINED; there is at least one, and at most MOST.
    """
    variances = variances[: min(N - 1, D)] if N > 1 else variances
    variances = variances[variances > 0]
    if not len(variances):
        return 1
    ratio = D / N
    typical = max(ratio, 1.0) - min(ratio, 1.0) / 3  # median of the positive ones, unit noise
    noise = np.median(variances) / typical
    loud = int(np.sum(variances > noise * (1 + np.sqrt(ratio)) ** 2))
    share = np.cumsum(variances) / variances.sum()
    enough = int(np.searchsorted(share, EXPLAINED)) + 1
    return max(min(loud, enough, MOST, D - 1), 1)


def checked_basis(basis: object, D: int, rank: int | None) -> Floats:
    """Return given directions (Q, D), or raise ValueError."""
    array = np.asarray(basis, dtype=np.float64)
    q = len(array) if rank is None and array.ndim == 2 else rank
    if array.shape != (q, D) or not np.allclose(array @ array.T, np.eye(len(array)), atol=1e-6):
        wanted = f"({'rank' if rank is None else rank}, {D})"
        raise ValueError(
            f"basis must be orthonormal rows of shape {wanted}, got shape {array.shape}."
        )
    return array


def _upright(basis: Floats) -> Floats:
    """Return directions with the sign that makes the largest entry positive."""
    largest = np.take_along_axis(basis, np.abs(basis).argmax(axis=1)[:, None], axis=1)
    return np.asarray(basis * np.sign(largest))
