"""Names of columns, levels and values of rows, as people read them."""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.families import Bernoulli, Mixed
from evermix.families.base import Family
from evermix.io.sources.dialect import name_of

SHOWN = 12  # values of a row that are shown
MOST_BARE = 32  # columns without names that tell readers something
YEARS = 1500, 2100
FINEST, COARSEST = -5, 14  # powers of ten between which numbers are written in full

Value = str | int | float | bool | None


class Names(NamedTuple):
    """Names of the columns of a model, of the levels of those that hold categories, and units.

    ``yes_no`` are the numbers of the columns that hold yes or no, ``whole`` those of the columns
    that have held whole numbers only.
    """

    columns: Sequence[Any]
    levels: dict[str, Sequence[Any]]
    units: dict[str, str]
    yes_no: frozenset[int]
    whole: frozenset[int]

    @classmethod
    def of(cls, mix: Any, family: Family, columns: Sequence[Any] | None = None) -> "Names":
        """Return the names that a mixture knows; ``columns`` are given ones, such as words."""
        levels = dict(vars(mix).get("levels_", {}))
        if columns is None:
            columns = vars(mix).get("feature_names_in_", own_names(mix))
            if isinstance(family, Mixed) and isinstance(family.names[0], str):
                columns = family.names
        written = vars(mix).get("written_", {})
        units = {str(name): one.unit for name, one in written.items() if name_of(one.unit)}
        named = [str(name) if name is not None else "" for name in columns]
        whole = frozenset(np.flatnonzero(vars(mix).get("whole_", ())).tolist())
        return cls(named, levels, units, frozenset(_yes_no(family)), whole)

    def column(self, d: int) -> str:
        """Return the name of column d: its number, where it has no other."""
        return (self.columns[d] if d < len(self.columns) else "") or str(d)

    def value(self, d: int, value: float) -> Value:
        """Return a value of column d: a level by its name, None where it is missing."""
        if np.isnan(value):
            return None
        if d in self.yes_no:
            return value == 1
        known = self.levels.get(self.column(d))
        if known is not None:
            code = int(value)
            return known[code] if code < len(known) else None
        return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)

    def row(self, X: Array, columns: Sequence[int]) -> dict[str, Value]:
        """Return values of one row X (1, D) by column: of a long one those of some columns.

        Of counts these are the words that it has, the most frequent first.
        """
        if not isinstance(X, np.ndarray):
            order = np.argsort(-X.data, kind="stable")[:SHOWN]
            words = X.indices[order].tolist()
            pairs = zip(words, X.data[order].tolist(), strict=True)
            return {self.column(w): self.value(w, count) for w, count in pairs}
        some = range(X.shape[1]) if X.shape[1] <= SHOWN else columns
        return {self.column(d): self.value(d, float(X[0, d])) for d in some}


def _yes_no(family: Family) -> Iterable[int]:
    """Return the numbers of the columns of a family that hold yes or no."""
    if isinstance(family, Mixed):
        each = zip(family.blocks or (), family.columns_of_blocks, strict=True)
        some = [columns for block, columns in each if block.is_yes_no]
        return (int(d) for columns in some for d in columns)
    return range(family.n_features or 0) if isinstance(family, Bernoulli) else ()


def own_names(mix: Any) -> list[str]:
    """Return ``column_names_`` of a mixture, if it has a name for each column."""
    names = list(map(str, vars(mix).get("column_names_", ())))
    return names if len(names) == vars(mix).get("n_features_in_") else []


def are_bare(mix: Any, family: Family, names: Sequence[Any] | None = None) -> bool:
    """Whether columns say nothing to readers: many without names, such as those of embeddings."""
    named = Names.of(mix, family, names).columns
    return not named and not family.sparse and mix.n_features_in_ > MOST_BARE


def shown(value: Value, unit: str | None = None) -> str:
    """Return a value as a person reads it; the ``unit`` is that of numbers.

    Examples
    --------
    >>> shown(1230.3, "€#"), shown(231, "€#"), shown(1230.3, "kg"), shown(True)
    ('€1,230.30', '€231', '1,230 kg', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    comma = "" if unit is None else ","  # numbers without a unit may be years, or names of things
    if isinstance(value, int):
        return with_unit(unit, f"{value:{comma}}")
    money = any(unicodedata.category(sign) == "Sc" for sign in unit or "")
    cents = money and abs(value) >= 1.0
    return with_unit(unit, f"{value:,.2f}" if cents else written(value, comma=comma))


def with_unit(unit: str | None, *ends: str) -> str:
    """Return a number with its unit, or a range from one number to another, as people write it.

    Examples
    --------
    >>> with_unit("kg", "5.1 ± 0.8"), with_unit("€#", "740", "1,800"), with_unit("$#", "-7")
    ('5.1 ± 0.8 kg', '€740 to €1,800', '-$7')
    """
    if unit is None:
        return " to ".join(ends)
    before, place, after = unit.partition("#")
    if not place:
        before, after = "", f" {unit}"
    each = [f"-{before}{end[1:]}" if end.startswith("-") else f"{before}{end}" for end in ends]
    return " to ".join(each) + after


def is_year(*values: float) -> bool:
    """Whether all numbers may be years, which nobody writes as 1,908."""
    return all(YEARS[0] <= value <= YEARS[1] for value in values)


def shown_when(time: str | float) -> str:
    """Return the time of a row, a date or a number, as a person reads it.

    Examples
    --------
    >>> shown_when("2024-05-31T18:30:01.402897"), shown_when("2024-05-31"), shown_when(2024)
    ('2024-05-31 18:30:01', '2024-05-31', '2024')
    """
    if isinstance(time, str):
        return re.sub(r"(?<=:\d\d)\.\d+", "", time).replace("T", " ", 1)
    whole = float(time).is_integer() and abs(time) < 10.0**COARSEST
    return f"{time:,.0f}" if whole and not is_year(time) else f"{time:.10g}"


def written(value: float, digits: int = 4, comma: str = ",") -> str:
    """Return a number, rounded to so many digits, as people write it.

    ``comma`` stands between thousands; it is empty for years.

    Examples
    --------
    >>> written(27_631.5), written(27_631.5, 2), written(-0.00123456), written(1e21)
    ('27,630', '28,000', '-0.001235', '1e+21')
    """
    size = math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0
    if not FINEST <= size <= COARSEST:
        return f"{value:.{digits}g}"
    decimals = digits - 1 - size
    text = f"{round(value, decimals):{comma}.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if decimals > 0 else text


def written_size(size: float) -> str:
    """Return the mass of a cluster as a number of rows."""
    return f"{size:,.0f}" if size > 0.5 else f"{size:.2g}"
