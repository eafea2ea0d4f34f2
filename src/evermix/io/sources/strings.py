"""Which columns of tables hold numbers, and how these are written.

Strings such as ``$33.53``, ``1,234.50``, ``18.6%`` and ``5.1 kg`` are numbers where nearly all of
their column are. In tables with types so are decimal numbers, ``33.53``: whether one of them has
four digits before the point changes nothing. Digits alone, such as ``90210``, stay words there: a
column of numbers would have another type.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from evermix._warning import warn
from evermix.io.sources.dialect import (
    LOOK,
    STRAY,
    Writing,
    are_numbers,
    find_writing,
    is_number,
    is_open,
    shows,
)
from evermix.io.sources.values import is_mark, is_missing, read_cell

_DECIMAL = re.compile(r"[+-]?(?:\d*\.\d+(?:e[+-]?\d+)?|\d+e[+-]\d+)", re.IGNORECASE)
PLAIN = Writing(".", "")
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)")  # not digits that are a name, such as 0123


def writings_of(
    columns: Mapping[str, Sequence[Any]],
    missing: Collection[str] = (),
    delimiter: str = ",",
    typed: bool = True,
    known: Mapping[str, str] | None = None,
) -> dict[str, Writing | None]:
    """Return how the numbers of columns of a table are written, None of those that hold others.

    The first values decide. ``missing`` are words that stand for a missing value, beside those that
    always do; for ``delimiter`` see :func:`evermix.io.sources.dialect.find_decimal`. Unless values
    are ``typed``, strings of digits are numbers.

    Of numbers such as ``1.063`` the dot may stand before decimals or separate thousands. Where
    nothing else in their column tells, what is ``known`` to stand before decimals there decides,
    from rows before, or what does in other columns of the table; and else there is a warning.
    """
    there = {
        name: [v for v in values[:LOOK] if not (v is None or _is_gone(v, missing))]
        for name, values in columns.items()
    }
    look = missing, delimiter, typed
    found = {name: _writing_of(values, *look) for name, values in there.items()}
    cells = {name: _bare(there[name], one) for name, one in found.items()}
    open_ones = {n: mark for n, some in cells.items() for mark in ",." if is_open(some, mark)}
    shown = [
        mark
        for mark in (",." if open_ones else "")
        if any(one is not None and shows(cells[name], mark) for name, one in found.items())
    ]
    for name, thousands in open_ones.items():
        decimal = (known or {}).get(name) or (shown[0] if len(shown) == 1 else None)
        found[name] = one = _writing_of(there[name], *look, decimal)
        usual = "." if one is None else one.decimal
        if one is not None and usual != thousands and usual != (known or {}).get(name):
            _warn_of_marks(name, cells[name], usual)
    return found


def _warn_of_marks(name: str, cells: Sequence[str], mark: str) -> None:
    """Warn of numbers in which thousands may be separated, if some have no such mark."""
    some = next(cell.strip() for cell in cells if mark in cell)
    if whole := [cell.strip() for cell in cells if mark not in cell]:
        called = {".": "dot", ",": "comma"}[mark]
        warn(
            f"column {name!r} holds numbers such as {whole[0]} and {some}: the {called} is taken "
            f"for what stands before decimals. If it separates thousands ({some} is "
            f"{some.replace(mark, '')}), write the numbers of this column without it.",
        )


def _bare(values: Sequence[Any], writing: Writing | None) -> list[str]:
    """Return the strings of a column, without the word of a unit."""
    cells = [value for value in values if isinstance(value, str)]
    return [writing.bare(cell) for cell in cells] if writing else cells


def _writing_of(
    known: Sequence[Any],
    missing: Collection[str],
    delimiter: str,
    typed: bool,
    elsewhere: str | None = None,
) -> Writing | None:
    """Return how the numbers of a column are written, by values that are not missing; else None.

    For ``elsewhere`` see :func:`evermix.io.sources.dialect.find_decimal`.
    """
    cells = [value for value in known if isinstance(value, str)]
    written = find_writing(cells, delimiter, elsewhere) or (_decimals(cells) if typed else None)
    texts = cells if written is None else [written.plain(cell) for cell in cells]
    texts = [text for text in texts if not _is_gone(text, missing)]  # not a sign of a currency
    others = [value for value in known if not isinstance(value, str)]
    numbers = sum(type(value) in (int, float) for value in others)
    numbers += 0 if written is None and typed else sum(map(is_number, texts))
    words = len(texts) + len(others) - numbers
    return written or PLAIN if are_numbers(numbers, words) else None


def _decimals(cells: Sequence[str]) -> Writing | None:
    """Return how decimal numbers are written as programs do; at least half must have decimals."""
    decimals = sum(_DECIMAL.fullmatch(cell.strip()) is not None for cell in cells)
    whole = sum(_WHOLE.fullmatch(cell.strip()) is not None for cell in cells)
    numbers = decimals + whole >= (1 - STRAY) * len(cells)
    return PLAIN if cells and numbers and 2 * decimals >= len(cells) else None


def read_number(cell: str, writing: Writing, missing: Collection[str] = ()) -> float | None:
    """Return the number of a cell, None if it is missing; ValueError if it is no number."""
    if _is_gone(cell, missing):
        return None
    number = read_cell(writing.plain(cell))
    if number is None:  # a sign of a currency alone
        return None
    if not isinstance(number, float):
        raise ValueError(f"expected a number, got {cell!r:.60}")
    return number


def _is_gone(value: Any, missing: Collection[str]) -> bool:
    return isinstance(value, str) and (is_missing(value, missing) or is_mark(value))
