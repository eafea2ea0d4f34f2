"""Which columns of tables hold numbers, and how these are written.

Strings such as ``$33.53``, ``1,234.50``, ``18.6%`` and ``5.1 kg`` are numbers where nearly all of
their column are. In tables with types so are decimal numbers, ``33.53``: whether one of them has
four digits before the point changes nothing. Digits alone, such as ``90210``, stay words there: a
column of numbers would have another type, unless there are marks such as ``-`` among them, with
which what reads files takes no column for numbers.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from evermix._warning import warn
from evermix.io.sources.dialect import (
    LOOK,
    OTHER,
    STRAY,
    Writing,
    are_codes,
    are_numbers,
    find_writing,
    forms_of,
    is_number,
    is_open,
    other_forms,
    plain,
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
    known: Mapping[str, Writing] | None = None,
    learnt: Collection[str] = (),
) -> dict[str, Writing | None]:
    """Return how the numbers of columns of a table are written, None of those that hold others.

    Values from all over a column decide, and one number of each other form: the first rows may not
    show what separates thousands. ``missing`` are words that stand for a missing value, beside
    those that always do; for ``delimiter`` see :func:`evermix.io.sources.dialect.find_decimal`.
    Unless values are ``typed``, strings of digits are numbers.

    Of numbers such as ``1.063`` the dot may stand before decimals or separate thousands. Where
    nothing else in their column tells, what is ``known`` of rows before decides. Else, unless the
    column is one of those ``learnt`` before, other columns of the table do: a dot separates
    thousands if they have decimal commas, and some numbers of its column are whole. And else it
    stands before decimals. There is a warning where that may be wrong.

    Raises ValueError where a column, or a whole table, is written otherwise than in rows before,
    and numbers would get another scale.
    """
    deciding = {name: _deciding(values) for name, values in columns.items()}
    there = {
        name: [v for v in values if not (v is None or _is_gone(v, missing))]
        for name, values in deciding.items()
    }
    known = known or {}
    look = {
        name: (missing, delimiter, typed and not _has_marks(values, there[name]))
        for name, values in deciding.items()
    }
    found = {name: _writing_of(values, *look[name]) for name, values in there.items()}
    cells = {name: _bare(there[name], one) for name, one in found.items()}
    open_to = {n: next((m for m in ",." if is_open(some, m)), None) for n, some in cells.items()}
    sure = {
        name: one.decimal
        for name, one in found.items()
        if one and open_to[name] is None and any(map(one.has_mark, cells[name]))
    }
    before = {name: one for name, one in known.items() if name in found}
    for name in before.keys() & sure.keys():
        if before[name].unsure and before[name].decimal != sure[name]:
            raise _other_scale(name, cells[name], before[name].decimal)
    usual, shown = "," if delimiter == ";" else ".", set(sure.values())
    for name, thousands in open_to.items():
        one, written, decimal = found[name], cells[name], None
        if thousands is None:
            if one is not None and name in before and name not in sure:
                found[name] = one._replace(decimal=before[name].decimal, unsure=before[name].unsure)
            continue
        doubtful = name not in before or _is_doubtful(name, written, before, sure)
        if name in before:
            decimal = before[name].decimal
        elif name not in learnt and len(shown) == 1:
            (decimal,) = shown
            if decimal == thousands and not (thousands == usual == "." or _whole(written, decimal)):
                decimal = None
        one = _writing_of(there[name], *look[name], decimal)
        found[name] = one and one._replace(unsure=name not in before or before[name].unsure)
        if one is not None and doubtful:
            _warn_of_marks(name, written, one.decimal, thousands, usual, shown)
    return found


def _deciding(values: Sequence[Any]) -> list[Any]:
    """Return values spread over all, and a number of each form that is not among these."""
    if len(values) <= LOOK:
        return list(values)
    rows = np.linspace(0, len(values) - 1, LOOK).astype(np.int64)
    some = [values[row] for row in rows.tolist()]
    return some + other_forms(forms_of(values), some)


def _whole(cells: Sequence[str], decimal: str) -> list[str]:
    """Return the numbers in which nothing separates thousands."""
    return [c.strip() for c in cells if OTHER[decimal] not in c and is_number(plain(c, decimal))]


def _warn_of_marks(
    name: str, cells: Sequence[str], decimal: str, thousands: str, usual: str, shown: set[str]
) -> None:
    """Warn of numbers that could be read in another way, if there is a reason to.

    With ``thousands`` before decimals, thousands would be separated, and ``decimal`` is what was
    chosen. ``usual`` is what the delimiter tells, and ``shown`` what other columns do.
    """
    mark, whole = OTHER[thousands], _whole(cells, thousands)
    some = next(cell.strip() for cell in cells if mark in cell)
    called = {".": "dot", ",": "comma"}
    such = f"column {name!r} holds numbers such as {' and '.join([*whole[:1], some])}: the "
    such += f"{called[mark]} is taken"
    if decimal == thousands and not thousands == usual == ".":
        warn(
            f"{such} to separate thousands ({some} is {some.replace(mark, '')}). If it stands "
            f"before decimals, write a {called[thousands]} there."
        )
    elif decimal != thousands and (whole or thousands in shown):
        warn(
            f"{such} for what stands before decimals. If it separates thousands ({some} is "
            f"{some.replace(mark, '')}), write the numbers of this column without it."
        )


_WITHOUT = "Write the numbers of this column without what separates thousands."


def _other_scale(name: str, cells: Sequence[str], decimal: str) -> ValueError:
    """Return the error of a column whose numbers show that rows before were read wrongly."""
    some = max(
        (cell.strip() for cell in cells),
        key=lambda cell: (len(re.findall("[.,]", cell)), len(cell)),
    )
    return ValueError(
        f"expected numbers in column {name!r} with {decimal!r} before decimals, as rows before "
        f"these were read, which could be read in two ways, got {some!r:.60}. {_WITHOUT} Or give "
        "rows that show how they are written first."
    )


def _is_doubtful(
    name: str, cells: Sequence[str], before: Mapping[str, Writing], sure: Mapping[str, str]
) -> bool:
    """Whether new columns hint that a table is written otherwise than rows before.

    ``before`` says how columns were written there, and ``sure`` what stands before decimals here.
    Raises ValueError if columns that were there show it.
    """
    decimal = before[name].decimal
    both = [other for other in before if other in sure]
    changed = [other for other in both if before[other].decimal != sure[other] != decimal]
    if changed and not any(sure[other] == before[other].decimal == decimal for other in both):
        some = next(cell.strip() for cell in cells if re.search("[.,]", cell))
        raise ValueError(
            f"expected numbers with {decimal!r} before decimals, as in rows before these, got "
            f"{sure[changed[0]]!r} in column {changed[0]!r}: so {some!r:.60} in column {name!r} "
            f"can be read in two ways. {_WITHOUT}"
        )
    as_before = any(sure[other] == before[other].decimal for other in both)
    return not as_before and any(sure[new] != decimal for new in sure.keys() - before.keys())


def _has_marks(values: Sequence[Any], known: Sequence[Any]) -> bool:
    """Whether marks of missing values stand among digits that are no codes; ``known`` are these."""
    digits = [value for value in known if isinstance(value, str)]
    marks = len([v for v in values if isinstance(v, str) and v.strip()]) - len(digits)
    return marks > 0 and not are_codes(digits)


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
    if not writing.fits(cell):
        raise ValueError(f"expected a number with a decimal comma, got {cell!r:.60}")
    number = read_cell(writing.plain(cell))
    if number is None:  # a sign of a currency alone
        return None
    if not isinstance(number, float) or not isfinite(number):
        what = "a finite number" if isinstance(number, float) else "a number"
        raise ValueError(f"expected {what}, got {cell!r:.60}")
    return number


def _is_gone(value: Any, missing: Collection[str]) -> bool:
    return isinstance(value, str) and (is_missing(value, missing) or is_mark(value))
