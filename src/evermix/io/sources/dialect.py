"""How a file of separated values is written: what stands between its cells, and its numbers."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

DELIMITERS = ",;\t|"
LINES = 20  # that are looked at for the delimiter
LOOK = 1000  # rows that are looked at for what columns hold
STRAY = 0.05  # share of words in a column of numbers

SIGNS = "$€£¥₹%"
_SIGN = f"[{SIGNS}]?"
_NUMBERS = {
    ".": r"((?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?)",
    ",": r"((?:\d{1,3}(?:\.\d{3})+|\d+)?(?:,\d+)?)",
}
_WRITTEN = {  # by what stands before decimals
    decimal: re.compile(rf"([+-]?) ?({_SIGN} ?)([+-]?){number}( ?{_SIGN})")
    for decimal, number in _NUMBERS.items()
}
# Units that may follow a number without a space; after one it may be any word.
_UNITS = "kg|g|mg|lbs?|oz|km|m|cm|mm|ft|mi|h|hrs?|min|s|ms|ml|l|[KMGT]B|k?Wh?|°[CF]?"
_WITH_UNIT = re.compile(rf"[+-]?[\d.,]*\d(?:({_UNITS})| ([^\W\d_°]{{1,12}}[²³]?|°[CF]?))")


def find_delimiter(lines: Iterable[str]) -> str:
    """Return what separates the cells of a file that begins with these lines.

    That is the one of ``DELIMITERS`` that makes most columns of the first line, if at least half of
    the lines after it have as many; a comma where none does. One that makes all cells of the first
    line numbers comes before others.
    """
    first = list(islice(lines, LINES))
    return max(DELIMITERS, key=lambda delimiter: _fitness(first, delimiter))  # of equals the first


def _fitness(lines: list[str], delimiter: str) -> tuple[bool, int]:
    """Return whether a delimiter makes numbers of the first line, and the number of columns."""
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return False, 1
    if not rows:
        return False, 1
    width = len(rows[0])
    agree = sum(len(row) == width for row in rows[1:])
    if width < 2 or 2 * agree < len(rows) - 1:
        return False, 1
    return all(map(is_written_number, rows[0])), width


def is_number(cell: str) -> bool:
    """Whether a cell is a number as programs write it."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def are_numbers(numbers: int, words: int) -> bool:
    """Whether a column holds numbers: some, and nearly no words beside them.

    Values that are missing are neither, and nor are marks such as ``-``.
    """
    return numbers > 0 and words <= STRAY * (numbers + words)


def are_codes(cells: Sequence[str]) -> bool:
    """Whether the digits of a column are names, as postcodes are, by its cells with a value.

    They have leading zeros, and all of them the same length.
    """
    digits = [cell for cell in map(str.strip, cells) if cell.isdecimal()]
    same = len(set(map(len, digits))) == 1 and len(digits) >= (1 - STRAY) * len(cells)
    return same and len(digits[0]) > 1 and any(cell.startswith("0") for cell in digits)


def is_written_number(cell: str) -> bool:
    """Whether a cell is a number as programs or as people write it."""
    return is_number(cell) or any(is_number(plain(cell, decimal)) for decimal in _WRITTEN)


def plain(cell: str, decimal: str) -> str:
    """Return a number that people have written as programs write it: ``-$1,234.50``, ``17.7%``.

    Signs of currencies and of per cent are left out; where nothing else is there, nothing is left.
    Other cells are returned as they are. ``decimal`` is what stands before decimals.
    """
    found = _WRITTEN[decimal].fullmatch(cell.strip())
    if found is None:
        return cell
    number = found[4].replace("," if decimal == "." else ".", "").replace(decimal, ".")
    return f"{found[1]}{found[3]}{number}"


def find_decimal(cells: Sequence[str], delimiter: str = ",") -> str | None:
    """Return what stands before decimals in a column of numbers that people have written.

    None if they did not write them. ``cells`` are those that are not missing. Both ways are
    possible of numbers such as ``1,234``: it is a decimal comma where semicolons separate the
    cells.
    """
    words = [cell for cell in cells if not is_number(cell)]
    for decimal in ",." if delimiter == ";" else ".,":
        read = [plain(cell, decimal) for cell in words]
        left = sum(bool(text) and not is_number(text) for text in read)
        numbers = sum(map(is_number, read))
        # Numbers of programs must not be read in another way for the sake of a few others.
        others = (cell.strip() for cell in cells if is_number(cell))
        changed = sum(plain(cell, decimal) != cell for cell in others)
        if left <= STRAY * len(cells) and changed < numbers:
            return decimal
    return None


class Writing(NamedTuple):
    """How the numbers of a column are written: what stands before decimals, and a unit.

    A unit follows its number after a space, as in ``5.1 kg``, or ``#`` shows the place of the
    number: ``$#``, ``#%``, ``#kg``. It is ``#`` alone where rows have different signs, and "" where
    they have none.
    """

    decimal: str
    unit: str

    def plain(self, cell: str) -> str:
        """Return a cell as programs write numbers; other cells as they are."""
        return plain(_without_unit(cell, word_of(self.unit)), self.decimal)

    def makes_number(self, cell: str) -> bool:
        """Whether a cell is a number only if it is read in this way."""
        return not is_number(cell) and is_number(self.plain(cell))


def find_writing(cells: Sequence[str], delimiter: str = ",") -> Writing | None:
    """Return how people have written the numbers of a column; None if they did not write them.

    ``cells`` are those that are not missing. For ``delimiter`` see :func:`find_decimal`.
    """
    unit = _find_unit(cells)
    decimal = find_decimal([_without_unit(cell, word_of(unit)) for cell in cells], delimiter)
    if decimal is None and not unit:
        return None
    return Writing(decimal or ".", unit or _find_sign(cells, decimal or "."))


def name_of(unit: str) -> str:
    """Return a unit without the place of its number."""
    return unit.strip("# ")


def word_of(unit: str) -> str:
    """Return the word of a unit; "" of signs, which are not compared."""
    return unit.strip(f"# {SIGNS}")


def agreed_unit(column: str, known: str, here: str) -> str:
    """Return the unit of the numbers of a column in rows before and in others, or ValueError."""
    words = word_of(known), word_of(here)
    if all(words) and words[0] != words[1]:
        raise ValueError(
            f"expected numbers in {words[0]} in column {column!r}, as in rows before these, got "
            f"{words[1]}. Convert the column to {words[0]} first."
        )
    if any(words) or not (known and here):
        return known if words[0] or not here else here
    return known if name_of(known) == name_of(here) else "#"


def _find_unit(cells: Sequence[str]) -> str:
    """Return the one unit of the numbers of a column, such as kg; "" if there is none."""
    found = [_WITH_UNIT.fullmatch(cell.strip()) for cell in cells]
    units = Counter(match[2] or f"#{match[1]}" for match in found if match is not None)
    bare = sum(map(is_written_number, cells))
    whole = units.total() + bare >= (1 - STRAY) * len(cells)
    return _most(units) if whole and units.total() >= bare else ""


def _find_sign(cells: Sequence[str], decimal: str) -> str:
    """Return the sign of the numbers of a column, such as $#; # for several, "" for none."""
    found = [_WRITTEN[decimal].fullmatch(cell.strip()) for cell in cells]
    signs = Counter(_placed(match[2], match[5]) for match in found if match and match[4])
    bare = signs.pop("#", 0)
    if not signs or signs.total() < bare:
        return ""
    return _most(signs) or "#"


def _placed(before: str, after: str) -> str:
    """Return a unit by what stands before and after a number; "#" if that is nothing."""
    if not before.strip() and after.startswith(" "):
        return after.lstrip()
    return f"{before if before.strip() else ''}#{after}"


def _most(units: Counter[str]) -> str:
    """Return how a unit is written most often; "" if there are several."""
    return units.most_common(1)[0][0] if len(set(map(name_of, units))) == 1 else ""


def _without_unit(cell: str, word: str) -> str:
    found = _WITH_UNIT.fullmatch(cell.strip()) if word else None
    return cell if found is None or word not in found.groups() else found[0][: -len(word)].rstrip()
