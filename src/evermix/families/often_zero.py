"""Columns of numbers that are often 0, for which whether they are has a probability of its own."""

import warnings
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import numpy as np
from scipy.stats import spearmanr

from evermix._xp import Floats
from evermix.families.amounts import ENOUGH, ZEROS, knee_of
from evermix.families.kinds import alone
from evermix.families.zero_inflated import ZeroInflated

SPIKE = 3  # times that 0 is more frequent than any other number
FEWEST, ROWS = 100, 500  # rows that are needed to see what follows what, and that are looked at
NEAREST = 3  # columns that numbers may follow
SHARE = 0.3  # of the rows, without zeros in these columns, that is looked at at least
FOLLOWS = 0.2  # share of the variance within clusters, from which on they do
MOST = {"full": 6, "diag": 10}  # clusters, by their covariances
LEAST_VARIANCE = 1e-4  # of columns with variance one

Name = TypeVar("Name", bound=Hashable)


def zero_inflated(columns: Mapping[Name, Floats], apart: bool = False) -> dict[Name, ZeroInflated]:
    """Return families of those columns of numbers (N,) that are often 0 and follow no others.

    Where the numbers that are not 0 follow other columns, a covariance says more; that does not
    matter if all columns are ``apart`` in any case.
    """
    found = {}
    for name, values in columns.items():
        others = [] if apart else [each for other, each in columns.items() if other != name]
        if has_spike(values) and not _follow(values, others):
            found[name] = ZeroInflated(alone(0, knee_of(values[values != 0])).family)
    return found


def has_spike(values: Floats) -> bool:
    """Whether exactly 0 is in so many rows that a normal distribution of all does not suit them."""
    known = values[np.isfinite(values)]
    rest = known[known != 0]
    zeros = len(known) - len(rest)
    if len(rest) < ENOUGH or zeros <= ZEROS * len(known):
        return False
    return zeros > SPIKE * int(np.unique(rest, return_counts=True)[1].max())


def _follow(values: Floats, others: list[Floats]) -> bool:
    """Return whether numbers that are not 0 follow other columns (N,) within clusters.

    Two mixtures of normal distributions, with full covariances and without, are fitted to the
    columns that are most alike. The numbers follow these if the first is better by BIC, and
    explains their variance within its clusters. Of few rows the covariance is kept. Zeros of other
    columns tell of clusters too: rows that have them are left out, unless most would be.
    """
    some = np.flatnonzero(np.isfinite(values) & (values != 0))
    if len(some) < FEWEST:
        return bool(others)
    values, others = values[some], [each[some] for each in others]
    alike = [_alike(values, each) for each in others]
    least, rows = max(FEWEST, SHARE * len(some)), np.ones(len(some), dtype=np.bool_)
    found: list[Floats] = []
    for j in np.argsort(alike)[::-1]:
        both = rows & np.isfinite(others[j]) & (others[j] != 0)
        if alike[j] > 0 and np.count_nonzero(both) >= least and len(found) < NEAREST:
            rows, found = both, [*found, others[j]]
    if not found:
        return False
    left = np.flatnonzero(rows)
    left = left[np.linspace(0, len(left) - 1, min(len(left), ROWS)).astype(np.int64)]
    X = np.column_stack([_scaled(each[left]) for each in (values, *found)])
    full, apart = (_fitted(X, covariances) for covariances in MOST)
    if apart.bic(X) <= full.bic(X):
        return False
    parts = full.covariances_  # (K, d, d); the numbers are the first column
    spread = [part[0, 0] for part in parts]
    rest = [1 / np.linalg.inv(part)[0, 0] for part in parts]  # variance given the other columns
    return bool(full.weights_ @ rest < (1 - FOLLOWS) * (full.weights_ @ spread))


def _fitted(X: Floats, covariances: str) -> Any:
    """Return a mixture of normal distributions of rows X (N, d), with K by BIC."""
    from sklearn.mixture import GaussianMixture

    d = X.shape[1]
    size = 2 * d if covariances == "diag" else d + d * (d + 1) / 2  # parameters of a cluster
    found = []
    for K in range(1, MOST[covariances] + 1):
        if K > 1 and 3 * K * size > len(X):
            break
        mixture = GaussianMixture(K, covariance_type=covariances, random_state=0)
        mixture.set_params(reg_covar=LEAST_VARIANCE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it need not converge
            found.append(mixture.fit(X))
    return min(found, key=lambda mixture: mixture.bic(X))


def _scaled(values: Floats) -> Floats:
    """Return numbers with variance one, on the log scale if they are amounts."""
    knee = knee_of(values)
    scaled = np.arcsinh(values / knee) if knee else values
    return (scaled - scaled.mean()) / (scaled.std() or 1.0)


def _alike(values: Floats, other: Floats) -> float:
    """Correlation of ranks where another column is known and not 0; 0 in fewer rows than say so."""
    both = np.isfinite(other) & (other != 0)
    if np.count_nonzero(both) < FEWEST or not np.ptp(values[both]) or not np.ptp(other[both]):
        return 0.0
    return abs(float(spearmanr(values[both], other[both]).statistic))
