"""Strings in columns of tables that are numbers as people write them: ``$33.53``, ``5.1 kg``.

Durations become numbers of seconds, or of days, and this is the unit of their column.
They are read by the rule of the command line (:mod:`evermix.io.sources.strings`). Where a model has
learnt a column of numbers, its later strings must be numbers too, in the same unit. Columns of a
categorical type, and those that a family has as categories, stay as they are.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from evermix._xp import Floats
from evermix.estimators.data.levels import categories, is_gone
from evermix.estimators.data.tables import Table, no_numbers, with_columns
from evermix.families import Mixed
from evermix.families.base import Family
from evermix.io.sources.dialect import Writing, agreed_unit
from evermix.io.sources.durations import UNITS, Durations, find_durations, in_unit, unit_of
from evermix.io.sources.strings import PLAIN, read_number, writings_of
from evermix.io.sources.values import Columns

STRINGS = ("object", "str", "string", "large_string", "string_view", "utf8")  # types of columns


@dataclass(frozen=True)
class Reading:
    """How strings in tables become numbers.

    Attributes
    ----------
    numbers : collection of str
        Columns that hold numbers.
    known : mapping of str to Writing
        How numbers of columns were written in rows before.
    others : bool
        Whether other columns are looked at, and read where nearly all strings are numbers.
    learnt : bool
        Whether a model has learnt the numbers.
    """

    numbers: Collection[str] = ()
    known: Mapping[str, Writing] = field(default_factory=dict)
    others: bool = False
    learnt: bool = False

    @classmethod
    def by(
        cls, family: Family | None, names: Collection[str] | None, known: Mapping[str, Writing]
    ) -> "Reading":
        """Return how to read tables for a family; ``names`` are those of columns of a model."""
        if isinstance(family, Mixed) and family.blocks and isinstance(family.names[0], str):
            numbers = set(map(str, family.names)) - set(categories(family))
            # few different numbers are levels
            return cls(numbers | known.keys(), known, learnt=names is not None)
        some = set() if names is None else set(names)
        return cls(some, known, others=names is None, learnt=names is not None)

    def __call__(self, X: Any) -> tuple[Any, dict[str, Writing]]:
        """Return a table with numbers in place of strings, and how these were written by column.

        Raises ValueError where a column of numbers holds something else, or another unit.
        """
        if isinstance(X, Columns):  # which a source has read
            return X, X.written
        numeric = [getattr(each, "kind", "O") in "iufb" for each in getattr(X, "dtypes", ())]
        if numeric and all(numeric):
            return X, {}
        table, columns, found = Table(X), dict[str, Floats](), dict[str, Writing]()
        strings = dict[str, list[Any]]()
        wrong: list[tuple[str, int, Any]] = []  # column, row and value
        for name, skipped in zip(table.names, numeric or [False] * len(table.names), strict=True):
            looked_at = not skipped and (self.others or name in self.numbers)
            raw = table.raw(name) if looked_at else ()
            if looked_at and (durations := find_durations(raw)) is not None:
                found[name] = self._of_durations(name, durations)
                columns[name] = in_unit(durations, found[name].unit)
            elif looked_at and (values := _strings(raw)) is not None:
                strings[name] = values
        cells = {n: [v for v in some if isinstance(v, str)] for n, some in strings.items()}
        learnt = self.numbers if self.learnt else ()
        here = writings_of(cells, known=self.known, learnt=learnt)
        for name, values in strings.items():
            writing = self._writing(name, cells[name], here[name])
            if writing is not None:
                columns[name] = _numbers(name, values, writing, wrong)
                found[name] = writing
        if wrong:
            raise no_numbers(wrong)
        return (with_columns(X, columns) if columns else X), found

    def _of_durations(self, name: str, durations: Durations) -> Writing:
        """Return the unit of a column of durations as a writing, or raise ValueError."""
        known = self.known.get(name, PLAIN)
        unit = known.unit if known.unit in UNITS else unit_of(durations)
        return _agreed(name, known, Writing(".", unit))

    def _writing(self, name: str, cells: list[str], here: Writing | None) -> Writing | None:
        """Return how the numbers of a column are written, or raise ValueError."""
        known = self.known.get(name)
        if known is None:
            return here or (Writing(".", "") if name in self.numbers else None)
        if here is None:
            return known
        agreed = _agreed(name, known, here)._replace(unsure=here.unsure)
        as_before = here.decimal == known.decimal or all(_is_read(c, agreed) for c in cells)
        return agreed if as_before else agreed._replace(decimal=here.decimal)


def _agreed(name: str, known: Writing, here: Writing) -> Writing:
    """Return how numbers were written before, with a unit if either has one, or ValueError."""
    return known._replace(unit=agreed_unit(name, known.unit, here.unit))


def _is_read(cell: str, writing: Writing) -> bool:
    try:
        read_number(cell, writing)
    except ValueError:
        return False
    return True


def joined(tables: Sequence[Mapping[str, Writing]]) -> dict[str, Writing]:
    """Return how numbers are written in several tables.

    ValueError: units differ, or what stands before decimals does and was not sure.
    """
    found: dict[str, Writing] = {}
    for name, writing in (pair for table in tables for pair in table.items()):
        before = found.get(name, writing)
        if before.decimal != writing.decimal and (before.unsure or writing.unsure):
            raise ValueError(
                f"expected models that read the numbers of column {name!r} in the same way, got "
                f"one with {before.decimal!r} before decimals and one with {writing.decimal!r}, "
                "where the rows of one could be read in two ways. Fit that one again, to numbers "
                "without what separates thousands."
            )
        unsure = before.unsure and writing.unsure
        found[name] = _agreed(name, before, writing)._replace(unsure=unsure)
    return found


def _strings(column: Any) -> list[Any] | None:
    """Return the values of a column that has strings, None where they are missing; else None.

    There may be numbers among them.
    """
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    if dtype is not None and getattr(dtype, "kind", None) not in ("U", "T"):
        if str(dtype).lower().partition("[")[0] not in STRINGS:
            return None
    tolist = getattr(column, "to_pylist", None) or getattr(column, "tolist", None)
    listed = tolist() if tolist is not None else list(column)
    if not any(isinstance(value, str) for value in listed):
        return None
    values = [None if is_gone(value) else value for value in listed]
    allowed = (str, int, float, Decimal, np.number)
    good = all(v is None or (isinstance(v, allowed) and v is not True) for v in values)
    return values if good and not any(v is False for v in values) else None


def _numbers(
    name: str, values: list[Any], writing: Writing, wrong: list[tuple[str, int, Any]]
) -> Floats:
    """Return the numbers (N,) of a column, NaN where they are missing, or raise ValueError.

    ``wrong`` gets the first value that is no number, with column and row.   Consumes: wrong.
    """
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if value is None:
            continue
        if not isinstance(value, str):
            numbers[row] = value
            continue
        try:
            number = read_number(value, writing)
        except ValueError:
            if remedy := writing.remedy(value):
                raise ValueError(
                    f"column {name!r} must hold numbers, got {value!r:.60} in row {row}. {remedy}"
                ) from None
            wrong.append((name, row, value))
            return numbers
        numbers[row] = np.nan if number is None else number
    return numbers


def to_spec(written: Mapping[str, Writing]) -> dict[str, list[Any]]:
    """Return how numbers are written as plain values, for files."""
    return {name: list(one if one.unsure else one[:2]) for name, one in written.items()}


def from_spec(spec: Any) -> dict[str, Writing]:
    """Return what :func:`to_spec` wrote, or raise ValueError."""
    good = isinstance(spec, dict)
    for writing in spec.values() if good else ():
        good = good and isinstance(writing, list) and len(writing) in (2, 3)
        good = good and writing[0] in (".", ",") and isinstance(writing[1], str)
        good = good and writing[2:] in ([], [True])
    if not good:
        raise ValueError("the file does not say how numbers of its columns were written.")
    return {str(name): Writing(*writing) for name, writing in spec.items()}
