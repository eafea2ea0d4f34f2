"""Columns of numbers that are often 0, for which whether they are has a probability of its own."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np
from scipy.stats import rankdata, spearmanr

from evermix._xp import Floats
from evermix.families.amounts import ENOUGH, ZEROS, knee_of
from evermix.families.kinds import alone
from evermix.families.zero_inflated import ZeroInflated

SPIKE = 3  # times that 0 is more frequent than any other number
LOOKED_AT, PLACES = 2000, 40  # rows, and places among them
FEWEST, LEAST, MOST = 100, 20, 200  # rows that say anything; those around a place
NEAREST = 4  # columns that numbers may follow
SHARE = 0.3  # of the rows, without zeros in these columns, that is looked at at least
FOLLOWS = 0.2  # share of the variance around a place, from which on they do

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
    """Whether numbers that are not 0 follow other columns (N,) among rows that are alike there.

    Columns that are independent within clusters may rise together in all rows, but hardly do among
    neighbours, which are mostly of one cluster. So the mean of adjusted R squared over several
    places counts, by ranks. Zeros of other columns tell of clusters too: rows that have them are
    left out, unless most would be.
    """
    some = np.flatnonzero(np.isfinite(values) & (values != 0))
    some = some[np.linspace(0, len(some) - 1, min(len(some), LOOKED_AT)).astype(np.int64)]
    values, others = values[some], [each[some] for each in others]
    alike = [_alike(values, each) for each in others]
    least, rows = max(FEWEST, SHARE * len(some)), np.ones(len(some), dtype=np.bool_)
    found: list[Floats] = []
    for j in np.argsort(alike)[::-1]:
        both = rows & (others[j] != 0)
        if alike[j] > 0 and np.count_nonzero(both) >= least and len(found) < NEAREST:
            rows, found = both, [*found, others[j]]
    if not found:
        return False
    y, Z = rankdata(values[rows]), np.column_stack([_ranks(each[rows]) for each in found])
    n, (k, p) = len(y), (int(np.clip(len(y) // 8, LEAST, MOST)), Z.shape[1])
    shares = []
    for i in np.linspace(0, n - 1, min(n, PLACES)).astype(np.int64):
        near = np.argpartition(np.sum((Z - Z[i]) ** 2, axis=1), k - 1)[:k]
        design, part = np.column_stack([np.ones(k), Z[near]]), y[near]
        rest = part - design @ np.linalg.lstsq(design, part, rcond=None)[0]
        spread = np.var(part, ddof=1)
        shares.append(1 - rest @ rest / (k - p - 1) / spread if spread > 0 else 0.0)
    return float(np.mean(shares)) > FOLLOWS


def _alike(values: Floats, other: Floats) -> float:
    """Correlation of ranks where another column is known and not 0; 0 in fewer rows than say so."""
    both = np.isfinite(other) & (other != 0)
    if np.count_nonzero(both) < FEWEST or not np.ptp(values[both]) or not np.ptp(other[both]):
        return 0.0
    return abs(float(spearmanr(values[both], other[both]).statistic))


def _ranks(values: Floats) -> Floats:
    """Ranks from 0 to 1; what is missing is in the middle."""
    known, ranks = np.isfinite(values), np.full(len(values), 0.5)
    n = int(np.count_nonzero(known))
    ranks[known] = np.asarray(rankdata(values[known])) / max(n, 1)
    return ranks
