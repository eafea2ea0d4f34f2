"""Columns of strings in tables with types: numbers as people write them, and words.

Strings such as ``$33.53``, ``1,234.50``, ``18.6%`` and ``5.1 kg`` are numbers where nearly all of
their column are, and so are decimal numbers, ``33.53``: whether one of them has four digits before
the point changes nothing. Digits alone, such as ``90210``, stay words: a column of numbers would
have another type.
"""

import re
from collections.abc import Collection, Sequence

from evermix.io.sources.dialect import LOOK, STRAY, Writing, find_writing
from evermix.io.sources.values import is_mark, is_missing, read_cell

_DECIMAL = re.compile(r"[+-]?\d*\.\d+")
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)")  # not digits that are a name, such as 0123


def writing_of(cells: Sequence[str], missing: Collection[str] = ()) -> Writing | None:
    """Return how the numbers of a column are written, or None if it holds words.

    The first cells decide. ``missing`` are words that stand for a missing value, beside those that
    always do.
    """
    some = [cell for cell in cells[:LOOK] if not _is_gone(cell, missing)]
    return find_writing(some) or _decimals(some)


def _decimals(cells: Sequence[str]) -> Writing | None:
    """Return how decimal numbers are written as programs do; at least half must have decimals."""
    decimals = sum(_DECIMAL.fullmatch(cell.strip()) is not None for cell in cells)
    whole = sum(_WHOLE.fullmatch(cell.strip()) is not None for cell in cells)
    numbers = decimals + whole >= (1 - STRAY) * len(cells)
    return Writing(".", "") if cells and numbers and 2 * decimals >= len(cells) else None


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


def _is_gone(cell: str, missing: Collection[str]) -> bool:
    return is_missing(cell, missing) or is_mark(cell)
