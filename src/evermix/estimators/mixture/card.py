"""What there is to know of a cluster, as plain data that can be read."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from evermix._words import counted
from evermix.estimators.mixture.explanation import called
from evermix.estimators.mixture.naming import (
    Names,
    Value,
    is_year,
    shown,
    shown_when,
    with_unit,
    written,
    written_size,
)
from evermix.families.marks import FACTOR, SHARE, VALUE, Mark
from evermix.hand import MERGE, SPLIT, Change
from evermix.report.shares import percent

MOST_DIGITS = 6  # behind the point
FEW_LEVELS = 3  # of which a mean says no more than the most typical one
MOST_TIMES = math.log(1e6)
GROWTH, LATELY = 2.0, 0.01  # of shares lately where clusters grow: over that of all, alone
LEAST_SHARE = 1e-5  # that is not shown as zero


@dataclass(frozen=True)
class Trait:
    """A column, or a word, by which a cluster differs from the others.

    Attributes
    ----------
    column : str
        The column or word.
    level : str, int, float, bool or None
        Of columns of categories and of yes/no: the value that the shares are of.
    kind : str
        "value": means in units of the column. "factor": typical values of amounts, whose spread is
        a factor. "share": of the rows, or of the words.
    here, elsewhere : float
        In the cluster, and in all others together.
    spread, spread_elsewhere : float or None
        Standard deviations of values; None of a single row.
    unit : str or None
        Of the numbers of the column, as they were written: it follows them after a space, such as
        "kg", or "#" stands for the number, as in "€#".
    range, range_elsewhere : (float, float) or None
        Of amounts: where about two thirds of the rows are. None of a single row. The ends are whole
        numbers if all values of the column were.
    mean, mean_elsewhere : float or None
        Of columns of categories that are whole numbers, more than three of them.
    typical : bool
        Whether at least half of the rows of the cluster have the level, or more than have any
        other; names of clusters prefer such levels.
    """

    column: str
    level: Value
    kind: str
    here: float
    elsewhere: float
    spread: float | None
    spread_elsewhere: float | None
    unit: str | None = None
    range: tuple[float, float] | None = None
    range_elsewhere: tuple[float, float] | None = None
    mean: float | None = None
    mean_elsewhere: float | None = None
    typical: bool = True

    @classmethod
    def of(cls, mark: Mark, names: Names) -> "Trait":
        """Return a mark with the names of its column and level."""
        level = None if mark.level is None else names.value(mark.column, float(mark.level))
        numbers = mark.here, mark.elsewhere, mark.spread, mark.spread_elsewhere
        ranges = mark.range, mark.range_elsewhere
        if mark.column in names.whole:
            ranges = _to_whole(mark.range), _to_whole(mark.range_elsewhere)
        column = names.column(mark.column)
        unit, means = names.units.get(column), _means(mark, names)
        typical = mark.is_typical
        return cls(column, level, mark.kind, *numbers, unit, *ranges, *means, typical=typical)

    def to_dict(self) -> dict[str, Any]:
        """Return the trait as JSON-ready values."""
        ranges = {"range": self.range, "range_elsewhere": self.range_elsewhere}
        plain = asdict(self) | {name: ends and list(ends) for name, ends in ranges.items()}
        return {name: value for name, value in plain.items() if name != "typical"}

    def parts(self) -> tuple[str, str, str]:
        """Return what it is of, and how much here and elsewhere, as a person reads it."""
        column = self.column
        if self.level is not None:
            column += f" = {shown(self.level, self.unit)}"
        here = self._number(self.here, self.spread, self.range)
        other = self._number(self.elsewhere, self.spread_elsewhere, self.range_elsewhere)
        if self.mean is not None and self.mean_elsewhere is not None:
            comma = "" if self.unit is None and is_year(self.mean, self.mean_elsewhere) else ","
            means = (written(m, 3 if comma else 4, comma) for m in (self.mean, self.mean_elsewhere))
            one, two = (with_unit(self.unit, mean) for mean in means)
            here, other = f"{here}, mean {one}", f"{other}, mean {two}"
        return column, here, other

    def differs(self) -> bool:
        """Whether a person reads another number here than elsewhere."""
        _, here, elsewhere = self.parts()
        return here != elsewhere

    def brief(self) -> str:
        """Return what it is here, in a few letters: ``city = Rome (80 %)`` or ``height 30.1``."""
        column, here, _ = replace(self, mean=None).parts()
        named = f"column {column}" if self.column.isdigit() else column
        if self.kind == FACTOR and (self.range is None or self.range[0] != 0):
            whole = self.range is not None and all(end.is_integer() for end in self.range)
            typical = float(round(self.here)) if whole else self.here
            middle = written(typical, 4 if not self._comma else 3, self._comma)
            here = with_unit(self.unit, middle)
        elif self.kind == VALUE:
            here = with_unit(self.unit, self._centre(self.here, self.spread))
        return f"{named} {here}" if self.level is None else f"{named} ({here})"

    def score(self) -> float:
        """Return how far the cluster is above the others, from -1 to 1.

        Values are compared in units of two standard deviations of the others, shares as they are.
        """
        if self.kind == SHARE:
            return self.here - self.elsewhere
        apart, spread = self.here - self.elsewhere, self.spread_elsewhere or self.spread or 0.0
        if self.kind == FACTOR and min(self.here, self.elsewhere) > 0 and spread > 1:
            apart, spread = math.log(self.here / self.elsewhere), math.log(spread)
        far = apart / (2 * spread) if spread > 0 else math.copysign(1.0, apart)
        return max(-1.0, min(1.0, far))

    def __str__(self) -> str:
        column, here, elsewhere = self.parts()
        return f"{column}: {here} (elsewhere {elsewhere})"

    @property
    def _comma(self) -> str:
        """What stands between thousands: nothing in columns without a unit that may hold years."""
        ends = list[float]()
        for value, spread, own in (
            (self.here, self.spread, self.range),
            (self.elsewhere, self.spread_elsewhere, self.range_elsewhere),
        ):
            ends += own or (value - (spread or 0.0), value + (spread or 0.0))
        return "" if self.unit is None and is_year(*ends) else ","

    def _number(self, value: float, spread: float | None, ends: tuple[float, float] | None) -> str:
        if self.kind == SHARE:
            return f"{100 * value:.3g} %" if value >= LEAST_SHARE else "0 %"
        if ends is not None:
            comma, (low, high) = self._comma, ends
            apart = math.sqrt(high / low) - 1.0 if low > 0 else 1.0
            digits = min(max(_needed(apart), 2 if comma else 4), MOST_DIGITS)
            return with_unit(self.unit, *dict.fromkeys(written(end, digits, comma) for end in ends))
        around = "" if spread is None else f" ± {written(spread, 2)}"
        return with_unit(self.unit, self._centre(value, spread) + around)

    def _centre(self, value: float, spread: float | None) -> str:
        """Return a mean to the digits that its spread leaves."""
        digits = MOST_DIGITS if spread is None else _needed(spread)
        if digits >= MOST_DIGITS:
            return written(value, comma=self._comma)
        return f"{round(value, digits):{self._comma}.{max(digits, 0)}f}"


def naming_traits(traits: Iterable[Trait], n: int) -> list[Trait]:
    """Return the n traits that name a cluster: typical ones before levels that few rows have."""
    return sorted(traits, key=lambda trait: not trait.typical)[:n]


def times_better(nats: float) -> str:
    """Return a difference of log densities as a factor, in words."""
    if nats > MOST_TIMES:
        return "over a million times"
    factor = math.exp(nats)
    return f"{written(factor, 2)} times" if factor >= 1.05 else "not at all"


def _means(mark: Mark, names: Names) -> tuple[float | None, float | None]:
    """Return the means of categories that are whole numbers, here and elsewhere, if there are."""
    met = [] if mark.shares is None else np.flatnonzero(mark.shares.any(axis=0)).tolist()
    levels = [names.value(mark.column, float(code)) for code in met]
    if len(levels) <= FEW_LEVELS or not all(type(level) is int for level in levels):
        return None, None
    assert mark.shares is not None
    here, elsewhere = (mark.shares[:, met] @ np.array(levels, dtype=np.float64)).tolist()
    return here, elsewhere


def _to_whole(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if ends is None else (float(round(ends[0])), float(round(ends[1])))


def _needed(spread: float) -> int:
    """Return how many digits behind the point show two digits of a spread."""
    return 1 - math.floor(math.log10(spread)) if spread > 0 else MOST_DIGITS


@dataclass(frozen=True)
class Example:
    """A typical row of a cluster.

    Attributes
    ----------
    row : int
        Which row it is, from 0: of the stream (those of weight zero are not counted), or of the
        rows that were given.
    values : dict
        By column; of counts, how often each word occurs. Of rows with many columns those that set
        the cluster apart.
    units : dict
        Units of numbers, by column, see :class:`Trait`.
    text : str or None
        What the row was made of, if texts were given.
    """

    row: int
    values: dict[str, Value]
    units: dict[str, str]
    text: str | None = None

    def parts(self) -> list[str]:
        """Return each value with its column, as a person reads it; of texts, the text."""
        if self.text is not None:
            return [self.text]
        each = self.values.items()
        return [f"{name} = {shown(value, self.units.get(name))}" for name, value in each]


@dataclass(frozen=True, repr=False)
class Card:
    """What there is to know of a cluster.

    Attributes
    ----------
    id : int
    name : str or None
        As people call it.
    pinned : bool
        Whether it is never dropped, merged or split but by hand.
    size : float
        Mass of its rows.
    share : float
        Its size as a share of that of all clusters.
    recent_share : float or None
        Its share of the latest rows, the last eighth of a stream. None if nothing tells it.
    fading : bool
        Whether hardly any row of a stream comes to it any more: none for so long that it should
        have had four or more, or of the latest rows a tenth of its earlier share or less, and fewer
        than chance explains.
    born : int or None
        Number of the row of a stream, from 1, with which its rows began to come, as far as it is
        known: also of clusters that a review found later, among the rows that it keeps. None of
        clusters of a fit, which finds all together.
    since : str, float or None
        When that row came, if rows came with times: a date, or a number.
    parent : int or None
        The id of the cluster that it was split from, by a review of the stream or by hand; None if
        a row opened it, and after fits.
    age : int or None
        How many rows were learnt since.
    last_seen : int or None
        How many had been learnt when a row last joined it, if the engine knows.
    traits : tuple of Trait
        What sets it apart most, first.
    examples : tuple of Example
        Typical rows.
    nearest : tuple of (int, float)
        The ids of the clusters that are most like it, each of which explains the rows of the other
        not much worse, and how many nats for each row they explain its rows worse. Clusters of
        texts that share too few words with it are not among them.
    merged : tuple of int
        Ids of clusters that have become part of it.
    changes : tuple of Change
        What people have done to it: what, after how many rows, and the ids that were concerned.
    words : tuple of str or None
        Words that set its texts apart most, if texts of vectors were given.
    """

    id: int
    name: str | None
    pinned: bool
    size: float
    share: float
    recent_share: float | None
    fading: bool
    born: int | None
    since: str | float | None
    parent: int | None
    age: int | None
    last_seen: int | None
    traits: tuple[Trait, ...]
    examples: tuple[Example, ...]
    nearest: tuple[tuple[int, float], ...]
    merged: tuple[int, ...]
    changes: tuple[Change, ...]
    words: tuple[str, ...] | None = None

    @property
    def trend(self) -> float | None:
        """The share of the latest rows over the share of all: above 1 if the cluster grows.

        0 if it is fading, None if there are too few rows of it to tell.
        """
        if self.recent_share is None or not self.share > 0:
            return None
        if self.fading:
            return 0.0
        return self.recent_share / self.share or None

    @property
    def growing(self) -> bool:
        """Whether the trend is 2 or more, in two digits, with 1 % of the latest rows or more."""
        lately = self.recent_share or 0.0
        return lately >= LATELY and float(f"{self.trend or 0.0:.2g}") >= GROWTH

    @property
    def parts(self) -> tuple[int, ...]:
        """Ids of the clusters that people have merged into it, since it was last split by hand."""
        found = list[int]()
        for what, _, ids in self.changes:
            if what == SPLIT:
                found.clear()
            elif what == MERGE and ids[0] == self.id:
                found += ids[1:]
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the card as JSON-ready values."""
        plain = asdict(self) | {"trend": self.trend, "growing": self.growing}
        plain["traits"] = [each.to_dict() for each in self.traits]
        plain["examples"] = [asdict(each) for each in self.examples]
        plain["nearest"] = [{"id": id, "nats": nats} for id, nats in self.nearest]
        plain["changes"] = [each._asdict() | {"ids": list(each.ids)} for each in self.changes]
        plain["words"] = None if self.words is None else list(self.words)
        return plain | {"merged": list(self.merged)}

    def __repr__(self) -> str:
        share = percent(self.share)
        if self.recent_share is not None:
            share += f", lately {percent(self.recent_share)}"
        share += ", fading" if self.fading else ""
        pinned = ", pinned" if self.pinned else ""
        size = counted(written_size(self.size), "row")
        lines = [f"{called(self.id, self.name)}{pinned}: {size}, {share}"]
        if self.age is not None:
            how = "" if self.parent is None else f", split from {self.parent}"
            when = "" if self.since is None else f" ({shown_when(self.since)})"
            lines.append(f"  first row {self.born:,}{when}, {counted(self.age, 'row')} ago{how}")
        if self.words:  # they say what values of vectors do not
            lines.append(f"  words: {', '.join(self.words)}")
        else:
            lines += [f"  {trait}" for trait in self.traits]
        for example in self.examples:
            some = ", ".join(example.parts())
            lines.append(f"  row {example.row}" + (f": {some}" if some else ""))
        if self.nearest:
            near = ", ".join(f"{id} ({times_better(nats)})" for id, nats in self.nearest)
            lines.append(f"  nearest clusters, and how much better its rows fit here: {near}")
        if self.merged:
            lines.append(f"  merged: {', '.join(map(str, self.merged))}")
        for what, clock, ids in self.changes:
            lines.append(
                f"  {what} by hand after {counted(clock, 'row')}: {', '.join(map(str, ids))}"
            )
        return "\n".join(lines)
