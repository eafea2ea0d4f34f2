"""What sets the rows of one cluster apart from others, column by column, in units of the rows."""

import math
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Floats, Ints
from evermix.families._blocks import REST, WHETHER
from evermix.families.base import Family
from evermix.families.bernoulli import Bernoulli
from evermix.families.categorical import Categorical
from evermix.families.diagonal_gaussian import DiagonalGaussian
from evermix.families.fixed_gaussian import FixedGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.log_gaussian import LogGaussian
from evermix.families.log_normal import LogNormal
from evermix.families.low_rank_gaussian import LowRankGaussian
from evermix.families.mixed import Mixed
from evermix.families.multinomial import Multinomial
from evermix.families.poisson import Poisson
from evermix.families.von_mises_fisher import VonMisesFisher
from evermix.families.zero_mean_gaussian import ZeroMeanGaussian

SMOOTHING = 10.0  # occurrences that are added to every word of the corpus
USED = 0.5  # occurrences from which on a word counts as used
FLAT = 1e-12  # variance, in units of the square of a mean, that counts as none
SEVERAL = 1.5  # rows from which on they have a spread
BELOW = math.asinh(0.5)  # where a knee is on its scale
MOST_DIGITS = 15  # before or behind the point
NOTHING = 1e-3  # of twice a knee: amounts that are zero but for parts of rows of other clusters
HALF = 0.5  # of the rows: what is typical of them
VALUE, FACTOR, SHARE = "value", "factor", "share"


class Mark(NamedTuple):
    """How a column looks in a cluster and elsewhere.

    Attributes
    ----------
    column : int
    level : int or None
        The code of the level that this is about, of columns of categories and of yes/no.
    kind : str
        What the numbers are: "value" in units of the column, "factor" for a typical value whose
        spread is a factor, "share" for a probability.
    here, elsewhere : float
        A mean, or a share.
    spread, spread_elsewhere : float or None
        Standard deviations; None of a single row.
    range, range_elsewhere : (float, float) or None
        Of a factor: from a standard deviation below the typical value to one above it, on the scale
        of the family. It begins at zero where it would begin below a knee: between that and zero
        there are hardly any amounts. Not so if one of the typical values is negative.
    gain : float
        How far the column is set apart, for the order: of most families, nats for each row.
    shares : array (2, L) or None
        Of categories: the probabilities of all levels, here and elsewhere.
    """

    column: int
    level: int | None
    kind: str
    here: float
    elsewhere: float
    spread: float | None
    spread_elsewhere: float | None
    range: tuple[float, float] | None
    range_elsewhere: tuple[float, float] | None
    gain: float
    shares: Floats | None = None

    @property
    def is_typical(self) -> bool:
        """Whether at least half of the rows have the level, or more than have any other."""
        most = self.shares is not None and self.level == int(self.shares[0].argmax())
        return self.level is None or most or self.here >= HALF

    def of_most(self) -> "Mark":
        """Return the mark of the most frequent level here; of columns without levels, itself."""
        if self.shares is None and self.level == 1 and self.here < HALF:  # of yes and no
            return self._replace(level=0, here=1.0 - self.here, elsewhere=1.0 - self.elsewhere)
        if self.shares is None:
            return self
        level = int(self.shares[0].argmax())
        here, elsewhere = self.shares[:, level].tolist()
        return self._replace(level=level, here=here, elsewhere=elsewhere)


@singledispatch
def marks(family: Family, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    """Return the columns that set a cluster apart most.

    Parameters
    ----------
    family : Family
    stats, mass : arrays (2, S), (2,)
        Of the cluster, and of all others together.
    most : int
        How many columns to return, the most distinctive first.
    """
    return []


@marks.register
def _(family: DiagonalGaussian, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    D = stats.shape[1] // 2
    return _normal(family, stats[:, :D], stats[:, D:], mass, most)


@marks.register
def _(family: Gaussian, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    D = math.isqrt(stats.shape[1])
    return _normal(family, stats[:, :D], stats[:, D :: D + 1], mass, most)


@marks.register
def _(family: LowRankGaussian, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    """Columns have the moments of the plane, and equal parts of the distances from it."""
    assert family.basis is not None and family.units is not None
    (q, D), units = family.basis.shape, family.units
    second = stats[:, q:-1].reshape(-1, q, q)
    inside = np.einsum("qd,kqr,rd->kd", family.basis, second, family.basis)
    outside = stats[:, -1:] / (D - q) * (1 - np.sum(family.basis**2, axis=0))
    sums = units * (stats[:, :q] @ family.basis)
    return _normal(family, sums, units**2 * (inside + outside), mass, most)


@marks.register
def _(family: ZeroMeanGaussian, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    squares = stats[:, :: math.isqrt(stats.shape[1]) + 1]
    return _normal(family, np.zeros_like(squares), squares, mass, most)


@marks.register
def _(family: FixedGaussian, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    assert family.variance is not None  # the family is resolved
    variance = np.broadcast_to(np.asarray(family.variance), stats.shape)
    squares = mass[:, None] * variance + stats**2 / np.maximum(mass, 1e-300)[:, None]
    return _normal(family, stats, squares, mass, most)


@marks.register
def _(family: VonMisesFisher, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    mean = family.means(stats, np.maximum(mass, 1e-300))
    gain = (mean[0] - mean[1]) ** 2
    return [_mark(d, VALUE, mean[:, d], gain[d]) for d in _best(gain, most)]


@marks.register
def _(family: Poisson, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    rate = stats / np.maximum(mass, 1e-300)[:, None]
    there = (stats[1] + 0.5) / (mass[1] + 1)
    here = (stats[0] + there) / (mass[0] + 1)
    gain = here * np.log(here / there) - here + there
    return [_mark(d, VALUE, rate[:, d], gain[d]) for d in _best(gain, most)]


@marks.register
def _(family: Bernoulli, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    share = stats / np.maximum(mass, 1e-300)[:, None]
    there = (stats[1] + 0.5) / (mass[1] + 1)
    here = (stats[0] + there) / (mass[0] + 1)
    gain = here * np.log(here / there) + (1 - here) * np.log((1 - here) / (1 - there))
    return [_mark(d, SHARE, share[:, d], gain[d], level=1) for d in _best(gain, most)]


@marks.register
def _(family: Categorical, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    """One column: the level that is most typical of the cluster."""
    counts = np.sum(stats, axis=1, keepdims=True)
    there = (stats[1] + 0.5) / (counts[1] + 0.5 * stats.shape[1])
    here = (stats[0] + there) / (counts[0] + 1)
    gains = here * np.log(here / there)
    share, best = stats / np.maximum(counts, 1e-300), int(gains.argmax())
    gain = float(gains.sum()) - _chance(int(np.count_nonzero(stats.sum(axis=0))), counts)
    return [_mark(0, SHARE, share[:, best], gain, level=best)._replace(shares=share)][:most]


def _chance(levels: int, counts: Floats) -> float:
    """How far levels are set apart by chance alone: two standard deviations above the mean.

    Twice the divergence of equal shares, times the number of rows, is chi-squared: see Wilks.
    """
    free = max(levels - 1, 0)
    chance = 0.5 * (free + 2 * math.sqrt(2 * free))
    return chance * float(np.sum(1 / np.maximum(counts, 1.0)))


@marks.register
def _(family: Multinomial, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    """Words by their terms of the divergence from all rows, in nats for each word."""
    used, corpus = stats[0, :-1], np.sum(stats[:, :-1], axis=0) + SMOOTHING
    share = stats[:, :-1] / np.maximum(stats[:, -1:], 1e-300)
    lift = share[0] / (corpus / corpus.sum())
    gain = np.where(used >= USED, share[0] * np.log(np.maximum(lift, 1e-300)), -np.inf)
    order = np.lexsort((-used, -gain))[:most]
    return [_mark(w, SHARE, share[:, w], gain[w]) for w in order if gain[w] > 0]


@marks.register
def _(family: Mixed, stats: Floats, mass: Floats, most: int) -> list[Mark]:
    found = []
    for block, span in zip(family.blocks, family.spans, strict=True):
        own = stats[:, span.start : span.end]
        seen = stats[:, span.end] if span.stop > span.end else own.sum(axis=1)
        enough = np.minimum(USED, 0.5 * mass)  # parts of rows of other clusters are no value of it
        if seen.min() > 0 and np.all(seen >= enough):
            for mark in marks(block.family, own, seen, most):
                if block.view == WHETHER:
                    mark = _of_zeros(mark)
                if block.view == REST:  # which sets the cluster apart in some of its rows only
                    mark = mark._replace(gain=mark.gain * float(seen[0] / mass[0]))
                found.append(mark._replace(column=int(span.columns[mark.column])))
    found = [mark for mark in found if mark.gain > 0] or found
    return sorted(found, key=lambda mark: -mark.gain)[:most]


def _of_zeros(mark: Mark) -> Mark:
    """Return a mark of the rows that are 0 for one of those that are not."""
    return mark._replace(level=0, here=1.0 - mark.here, elsewhere=1.0 - mark.elsewhere)


def _normal(family: Any, first: Floats, second: Floats, mass: Floats, most: int) -> list[Mark]:
    """Columns by the divergence of normal distributions, given sums (2, D) about the origin.

    The variance here is that of the rows and of one more, which is as elsewhere.
    """
    weight = np.maximum(mass, 1e-300)[:, None]
    mean = first / weight
    variance = np.maximum(second / weight - mean**2, 0.0)
    scale = np.maximum(variance.max(axis=0), FLAT * (mean**2).max(axis=0)) + 1e-300
    there = np.maximum(variance[1], FLAT * scale)
    here = np.maximum((mass[0] * variance[0] + there) / (mass[0] + 1), FLAT * scale)
    gain = 0.5 * (np.log(there / here) + (here + (mean[0] - mean[1]) ** 2) / there - 1)
    origin = family.centre if isinstance(family, LowRankGaussian) else family.origin
    mean, spread = mean + (0.0 if origin is None else origin), np.sqrt(variance)
    ends = np.stack([mean - spread, mean + spread])
    kinds = np.full(len(gain), VALUE)
    if isinstance(family, LogNormal | LogGaussian):
        kinds = np.where(family.on_log_scale, FACTOR, VALUE)
        mean, ends = _amounts(family, mean, ends)
        np.exp(spread, where=family.on_log_scale, out=spread)
    for single in np.flatnonzero(mass < SEVERAL):
        mean[single] = [
            _shortest(*each) for each in zip(mean[single], *ends[:, single], strict=True)
        ]
        spread[single] = ends[:, single] = np.nan
    ends[..., kinds == VALUE] = np.nan
    return [
        _mark(d, str(kinds[d]), mean[:, d], gain[d], spread=spread[:, d], ends=ends[..., d])
        for d in _best(gain, most)
    ]


def _amounts(family: LogNormal | LogGaussian, mean: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Return typical values (2, D), and both ends of their ranges (2, 2, D), as rows have."""
    logs, places = family.on_log_scale, np.stack([mean, *ends])
    if family.has_knees:
        places[1, logs & (mean >= 0).all(axis=0) & (places[1] < BELOW)] = 0.0
        places[logs & (np.abs(places) < NOTHING)] = 0.0
    amounts = np.stack([family.unscaled(each) for each in places])
    return amounts[0], amounts[1:]


def _shortest(value: float, low: float, high: float) -> float:
    """Return the number of the fewest digits near a value, between two others.

    So a single row has its own value, although parts of other rows are of its cluster too.
    """
    for digits in range(-MOST_DIGITS, MOST_DIGITS + 1):
        if low <= (number := round(float(value), digits)) <= high:
            return number
    return float(value)


def _best(gain: Floats, most: int) -> Ints:
    return np.argsort(-gain, kind="stable")[:most]


def _mark(
    column: int,
    kind: str,
    both: Floats,
    gain: float,
    level: int | None = None,
    spread: Floats | None = None,
    ends: Floats | None = None,
) -> Mark:
    """Return a mark; what is not a number in a spread (2,) or in ends (2, 2) is not known."""
    spread = np.full(2, np.nan) if spread is None else spread
    ends = np.full((2, 2), np.nan) if ends is None else ends
    return Mark(
        column=int(column),
        level=level,
        kind=kind,
        here=float(both[0]),
        elsewhere=float(both[1]),
        spread=_known(spread[0]),
        spread_elsewhere=_known(spread[1]),
        range=_range(*ends[:, 0]),
        range_elsewhere=_range(*ends[:, 1]),
        gain=float(gain),
    )


def _known(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def _range(low: float, high: float) -> tuple[float, float] | None:
    return None if math.isnan(low) else (float(low), float(high))
