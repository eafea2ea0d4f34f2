"""Columns of a few numbers: levels, counts, totals of one price, and what follows a price."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import rankdata

from evermix._xp import Floats
from evermix.families.amounts import ZEROS
from evermix.families.kinds import WHOLE

FEW = 10  # different numbers up to which they are levels
FEW_WHOLE = 20  # different whole numbers up to which they are: floors, rooms, hours
LARGEST_COUNT = 100  # up to which counts are: guests, visits, children
SMALL_COUNT = 4  # up to which most of those that are not 0 may be, where 1 is a rarity
LEVELS, RISING, SAME = 3, 0.8, 0.7  # more levels, correlation of ranks, neighbours alike
ENOUGH, DIGITS = 50, 1e-6  # rows that show that there is one price, relative error of numbers
ONES = 0.2  # rows with 1 for each with 0, from which on whole numbers are counts
FEWEST = 3  # rows for each different word or number, below which they say little


def is_few(values: Floats) -> bool:
    """Whether numbers are few different ones, each of them often; whole ones may be more.

    Counts from 0 or 1 on may be more again: there they lie on a few points, for each of which a
    Gaussian would open a cluster.
    """
    known = values[~np.isnan(values)]
    if np.isinf(known).any():
        return False
    whole, different = bool(np.all(known == np.rint(known))), len(np.unique(known))
    if are_counts(known):
        return FEWEST * different <= len(known)
    return different <= min(FEW_WHOLE if whole else FEW, len(known) // 10)


def are_counts(values: Floats) -> bool:
    """Whether numbers are small counts from 0 or 1 on, or totals of one price.

    Those from 1 on may be 0 in a few rows.
    """
    known = values[np.isfinite(values)]
    some = known[known != 0]
    few_zeros = len(known) - len(some) <= ZEROS * len(known)
    return _most_are_small(some - 1 if few_zeros else _in_steps(known))


def _most_are_small(known: Floats) -> bool:
    """Whether numbers are whole ones from 0 on, with many zeros, and enough ones or small ones."""
    zeros, ones = (int(np.count_nonzero(known == number)) for number in (0, 1))
    small = bool(np.all((known >= 0) & (known <= LARGEST_COUNT) & (known == np.rint(known))))
    few = int(np.count_nonzero(known <= SMALL_COUNT)) - zeros
    many_small = ones >= ONES * zeros or 2 * few >= len(known) - zeros
    return small and zeros > ZEROS * len(known) and many_small


def followed(levels: Floats, columns: Mapping[str, Floats]) -> str | None:
    """The column of numbers, such as a price, of which whole numbers are a multiple in most rows.

    Rows that are neighbours by that column have the same level. So the levels are numbers that
    share a covariance with it: if both were independent in a cluster, there would be one for each
    level.
    """
    for name, values in columns.items():
        seen = np.isfinite(values) & np.isfinite(levels)
        if np.mean(seen) < WHOLE:  # too many gaps for a covariance
            continue
        known = levels[seen][np.argsort(values[seen], kind="stable")]
        if len(np.unique(known)) > LEVELS and _rank_correlation(known) > RISING:
            if np.mean(np.diff(known) == 0) >= SAME:
                return name
    return None


def totals(numbers: Mapping[str, Floats], counts: Mapping[str, Floats]) -> dict[str, str]:
    """Return columns of numbers that are multiples of one of few numbers, and which that is.

    They would count what is known once more. As levels both would be independent within clusters,
    so that there would be one for each level.
    """
    others = {
        name: [one for one, few in counts.items() if one != name and _is_total(values, few)]
        for name, values in numbers.items()
    }
    return {name: one for name, some in others.items() for one in some if not others[one]}


def _is_total(values: Floats, counts: Floats) -> bool:
    """Whether numbers say nothing beside others: up to rounding there is one price in all rows.

    Of two columns the whole numbers stay, and of these the smaller ones.
    """
    seen = np.isfinite(values) & np.isfinite(counts)
    values, counts = values[seen], counts[seen]
    some = counts != 0
    if np.count_nonzero(some) < ENOUGH or np.mean(seen) < 0.5 or values[~some].any():
        return False
    prices, slack = values[some] / counts[some], _rounding(values) / np.abs(counts[some])
    low, high = np.max(prices - slack), np.min(prices + slack)
    later = (not _are_whole(values), low) > (not _are_whole(counts), 1.0)
    one = later and 0 < low <= high * (1 + DIGITS)
    return one and len(np.unique(counts[some])) >= LEVELS


def _rounding(values: Floats) -> float:
    """Half a unit of the last decimal of numbers."""
    places = (d for d in range(9) if np.allclose(values, np.round(values, d), DIGITS, 0.0))
    return float(0.5 * 10.0 ** -next(places, 9))


def _are_whole(values: Floats) -> bool:
    return bool(np.all(values == np.rint(values)))


def _in_steps(known: Floats) -> Floats:
    """Return numbers in units of their smallest difference, if all are multiples of it.

    So are totals of one price.
    """
    different = np.unique(known)
    if len(different) < LEVELS or different[0] != 0:
        return known
    least = np.diff(different).min()
    if different[-1] > LARGEST_COUNT * least:
        return known
    steps = known / least
    return np.rint(steps) if np.allclose(steps, np.rint(steps), atol=1e-6) else known


def _rank_correlation(values: Floats) -> float:
    """The correlation of the ranks of numbers (N,) with their places."""
    return float(np.corrcoef(rankdata(values), np.arange(len(values)))[0, 1])
