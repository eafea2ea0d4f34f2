"""Tables whose rows are JSON objects: a column for each field, null where a value is missing."""

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite, isnan
from typing import Any

from evermix.io.similar_names import no_such, same_but_case
from evermix.io.sources.dialect import Writing
from evermix.io.sources.errors import RowError
from evermix.io.sources.options import Options
from evermix.io.sources.strings import PLAIN, read_number
from evermix.io.sources.values import is_missing, no_number, say_missing, without_missing

Cell = float | bool | str | None


def reached(fields: Mapping[str, Any], name: str) -> Any:
    """Return a value inside of objects by its name, such as ``fields.summary``; None: no value.

    Names may differ in case.
    """
    value: Any = fields
    for part in name.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(same_but_case(part, value))
    return value


def flat(
    fields: Mapping[str, Any], whole: Collection[str] = (), before: str = ""
) -> dict[str, Any]:
    """Return fields with those of objects inside under names such as ``fields.summary``.

    Those whose name is in ``whole`` stay objects. Raises RowError if two fields get the same name.
    """
    found = dict[str, Any]()
    for name, value in fields.items():
        name = before + name
        inside = isinstance(value, Mapping) and name not in whole
        new = flat(value, whole, f"{name}.") if inside else {name: value}
        if twice := found.keys() & new.keys():
            raise RowError(
                f"there are two fields {min(twice)!r}: one of this name, and one in an object "
                "inside, whose name is made of both names. Rename one of them."
            )
        found |= new
    return found


class JsonTable:
    """The columns of a table, by its first rows.

    All fields of these rows are columns, but ids, times and those that are ignored; rows need not
    have all of them. A column in which nearly all values are numbers is one of numbers, and a word
    in it spoils its row, but marks such as ``-`` are missing values there.

    Parameters
    ----------
    rows : sequence of mapping
        The first ones.
    later : mapping of str to list of str
        Strings of later rows by column, which tell how numbers are written.
    options : Options
    writings : callable
        Tells how the numbers of columns are written.
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        later: Mapping[str, list[str]],
        options: Options,
        writings: Callable[[Mapping[str, Sequence[Any]]], Mapping[str, Writing | None]],
    ) -> None:
        self._options = options
        self.header = list(dict.fromkeys(name for row in rows for name in row))
        others = {options.id_field, options.time_field, *options.ignore}
        self.names = [name for name in self.header if name not in others]
        others = set(options.category)
        columns = (name for name in self.names if name not in others)
        cells = {n: [*(row.get(n) for row in rows), *later.get(n, ())] for n in columns}
        found = writings(cells)
        numbers = (name for name, one in found.items() if one or name in options.numbers)
        self._numeric = {name: found[name] or PLAIN for name in numbers}

    @property
    def written(self) -> dict[str, Writing]:
        """How the numbers of columns are written that are not as programs write them."""
        return {name: writing for name, writing in self._numeric.items() if writing != PLAIN}

    def row(self, fields: Mapping[str, Any]) -> dict[str, Cell]:
        """Return the values of a row by column, or raise RowError."""
        for name in fields:
            if name not in self.header:
                raise RowError(
                    f"in the first rows {no_such('field', name, self.header)} Give it to one of "
                    "them, null if it is missing there, or leave it out."
                )
        return {name: self._value(name, fields.get(name)) for name in self.names}

    def _value(self, name: str, value: Any) -> Cell:
        if isinstance(value, dict | list):
            raise RowError(
                f"expected a number, a word, true, false or null in {name!r}, got {value!r:.60}. "
                f"Leave the field out (on the command line: --ignore {shlex.quote(name)})."
            )
        if isinstance(value, str):
            return self._word(name, value)
        if value is None or without_missing([value], self._options.missing) == [None]:
            return None
        if name in self._options.category:
            return str(value)
        if isinstance(value, bool):
            return value
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if not isfinite(number) and not isnan(number):
            remedy = say_missing([str(number)]) if isinstance(value, float) else ""
            raise RowError(no_number(repr(name), value) + remedy)
        return None if isnan(number) else number

    def _word(self, name: str, word: str) -> Cell:
        """Return what a string holds: a number in columns of numbers, else a word."""
        if is_missing(word, self._options.missing):
            return None
        if name not in self._numeric:
            return word.strip()
        try:
            return read_number(word, self._numeric[name])
        except ValueError:
            missing = f"If it stands for a missing value: --missing {shlex.quote(word[:60])}."
            remedy = self._numeric[name].remedy(word) or missing
            raise RowError(f"{no_number(repr(name), word)} {remedy}") from None
