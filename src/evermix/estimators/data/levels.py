"""Levels of categories and their codes, which follow the order in which levels are first met.

Levels that differ in case, or in blanks around them, are one: it is shown as it was first written.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Floats
from evermix.families import Categorical, Mixed
from evermix.families.base import Family
from evermix.io.sources.dialect import are_codes, are_numbers, is_number
from evermix.io.sources.values import is_mark, is_missing

Level: TypeAlias = str | int | float | bool
Levels: TypeAlias = Mapping[str, Sequence[Level]]
"""The levels of each column of categories; the place of a level is its code."""


class Codes:
    """The codes of the levels of a column, to which more may be added.

    Parameters
    ----------
    known : sequence of Level
        Levels that older files hold may differ in case alone: each keeps its code.
    """

    def __init__(self, known: Sequence[Level] = ()) -> None:
        self.levels = list(known)
        self._exact = {_key(level): code for code, level in enumerate(known)}
        self._alike: dict[Any, int] = {}
        for code, level in enumerate(known):
            self._alike.setdefault(_alike(level), code)

    def find(self, level: Level) -> int | None:
        """Return the code of a level, None if it was never met."""
        code = self.find_exact(level)
        return self._alike.get(_alike(level)) if code is None else code

    def find_exact(self, level: Level) -> int | None:
        """Return the code of a level that was written in the same way, None if none was."""
        return self._exact.get(_key(level))

    def add(self, level: Level) -> int:
        """Return the code of a level that is new."""
        code = self._exact[_key(level)] = len(self.levels)
        self._alike.setdefault(_alike(level), code)
        self.levels.append(level)
        return code


def is_gone(value: Any) -> bool:
    """Whether a value stands for one that is missing, as empty strings and blanks do."""
    if isinstance(value, str):
        return not value.strip()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def is_gone_among_numbers(value: Any) -> bool:
    """Whether a value stands for one that is missing in a column of numbers, as ``-`` does."""
    return isinstance(value, str) and (is_missing(value) or is_mark(value))


def codes_of(
    name: str, values: NDArray[Any], known: Sequence[Level], learning: bool
) -> tuple[Floats, list[Level]]:
    """Return the codes (N,) of the levels of a column, and the levels.

    Among numbers and digits that are names, marks are missing values, unless they are levels that
    are ``known``.
    """
    found, codes = Codes(known), np.full(len(values), np.nan)
    among_numbers = _are_numbers(values.tolist(), known) or _are_digits(values.tolist(), known)
    for i, value in enumerate(values.tolist()):
        if is_gone(value):
            continue
        if among_numbers and is_gone_among_numbers(value) and found.find(value) is None:
            continue
        level = _level(name, i, value)
        code = found.find(level)
        if code is None:
            level = level.strip() if isinstance(level, str) else level
            code = found.add(level) if learning else len(known)
        codes[i] = code
    return codes, found.levels


def _are_numbers(values: Sequence[Any], known: Sequence[Level]) -> bool:
    """Whether levels are numbers: most of those that are known, else nearly all values."""
    if known:
        return 2 * sum(map(_is_number, known)) > len(known)
    some = [value for value in values if not (is_gone(value) or is_gone_among_numbers(value))]
    numbers = sum(map(_is_number, some))
    return are_numbers(numbers, len(some) - numbers)


def _are_digits(values: Sequence[Any], known: Sequence[Level]) -> bool:
    """Whether levels are digits that are names, by those that are known, else by all values."""
    if known:
        return hold_digits(known)
    some = [value for value in values if not (is_gone(value) or is_gone_among_numbers(value))]
    return all(isinstance(value, str) for value in some) and are_codes(some)


def hold_digits(levels: Sequence[Level]) -> bool:
    """Whether levels are words, some of them digits, as postcodes are."""
    return all(isinstance(one, str) for one in levels) and any(map(is_number, map(str, levels)))


def _level(name: str, row: int, value: Any) -> Level:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | int | float) or value in (np.inf, -np.inf):
        raise ValueError(
            f"levels must be words, numbers or booleans, got {value!r} in row {row} of column "
            f"{name!r}."
        )
    return int(value) if isinstance(value, float) and value == int(value) else value


def _key(level: Level) -> tuple[bool, Level]:
    return isinstance(level, bool), level  # True is not 1


def _alike(level: Level) -> tuple[bool, Level]:
    return _key(folded(level) if isinstance(level, str) else level)


def folded(word: str) -> str:
    """Return what words that are the same level have in common."""
    return word.strip().casefold()


def _is_number(level: Any) -> bool:
    return isinstance(level, int | float | np.number) and not isinstance(level, bool)


# ---- of several tables -------------------------------------------------------------------------


def categories(family: Mixed) -> list[str]:
    """Return the names of the columns of categories, in the order of the blocks."""
    return [str(b.names[0]) for b in family.blocks if isinstance(b.family, Categorical)]


def joined_levels(family: Mixed, found: Sequence[Levels]) -> dict[str, list[Level]]:
    """Return the levels of several tables, in the order in which they are met."""
    return {name: with_common_codes([one[name] for one in found])[0] for name in categories(family)}


def with_common_codes(tables: Sequence[Sequence[Level]]) -> tuple[list[Level], list[list[int]]]:
    """Return the levels of a column in several tables, and the codes of each table's there.

    Levels of one table stay apart, also where they differ in case alone, as in older files.
    """
    levels, codes = Codes(), list[list[int]]()
    for own in tables:
        taken = {code for code in map(levels.find_exact, own) if code is not None}
        codes.append([])
        for level in own:
            code = levels.find_exact(level)
            if code is None:
                code = levels.find(level)
                code = levels.add(level) if code is None or code in taken else code
                taken.add(code)
            codes[-1].append(code)
    return levels.levels, codes


def check_levels(family: Family, levels: Any) -> dict[str, list[Level]]:
    """Return the levels of a file, or raise ValueError unless they can be those of a family."""
    good = isinstance(levels, dict) and isinstance(family, Mixed) and family.blocks is not None
    wanted = categories(family) if isinstance(family, Mixed) and good else []
    good = good and levels.keys() == set(wanted)
    for words in levels.values() if good else ():
        good = good and isinstance(words, list)
        good = good and all(isinstance(word, str | int | float) for word in words)
        good = good and len({_key(word) for word in words}) == len(words)
    if not good:
        raise ValueError("the levels of the file are not those of its columns of categories.")
    return {name: levels[name] for name in wanted}
