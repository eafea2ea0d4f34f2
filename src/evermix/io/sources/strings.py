"""Which columns of tables hold numbers, and how these are written.

Strings such as ``$33.53``, ``1,234.50``, ``18.6%`` and ``5.1 kg`` are numbers where nearly all of
their column are. In tables with types so are decimal numbers, ``33.53``: whether one of them has
four digits before the point changes nothing. Digits alone, such as ``90210``, stay words there: a
column of numbers would have another type.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

from evermix.io.sources.dialect import (
    LOOK,
    STRAY,
    Writing,
    are_numbers,
    find_writing,
    is_number,
)
from evermix.io.sources.values import is_mark, is_missing, read_cell

_DECIMAL = re.compile(r"[+-]?\d*\.\d+")
PLAIN = Writing(".", "")
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)")  # not digits that are a name, such as 0123


def writing_of(
    values: Sequence[Any],
    missing: Collection[str] = (),
    delimiter: str = ",",
    typed: bool = True,
) -> Writing | None:
    """Return how the numbers of a column are written, or None if it is not one of numbers.

    The first values decide. ``missing`` are words that stand for a missing value, beside those that
    always do; for ``delimiter`` see :func:`evermix.io.sources.dialect.find_decimal`. Unless values
    are ``typed``, strings of digits are numbers.
    """
    known = [v for v in values[:LOOK] if not (v is None or _is_gone(v, missing))]
    cells = [value for value in known if isinstance(value, str)]
    written = find_writing(cells, delimiter) or (_decimals(cells) if typed else PLAIN)
    texts = cells if written is None else [written.plain(cell) for cell in cells]
    texts = [text for text in texts if not _is_gone(text, missing)]  # not a sign of a currency
    others = [value for value in known if not isinstance(value, str)]
    numbers = sum(type(value) in (int, float) for value in others)
    numbers += 0 if written is None else sum(map(is_number, texts))
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
