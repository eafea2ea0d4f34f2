"""How a file of separated values is written: what stands between its cells, and its numbers."""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

DELIMITERS = ",;\t|"
LINES = 20  # that are looked at for the delimiter
LOOK = 1000  # rows that are looked at for what columns hold
LATER = 1_000_000  # rows that are looked at for other forms of numbers
LONGEST = 40  # letters of a number
STRAY = 0.05  # share of words in a column of numbers

_MINUS = "\N{MINUS SIGN}-"
_NO_NUMBER = str.maketrans("", "", "0.,'’+()" + _MINUS)
_DIGITS = str.maketrans("123456789", "000000000")
_BLANKS = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
_BLANK = f"[{_BLANKS}]?"
_CURRENCIES = (
    "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|ILS|INR|JPY|KRW|MXN|NOK|NZD|PLN|RUB|SEK|SGD|TRY|"
    "USD|ZAR"
)
_SIGN = rf"(?:[A-Z]{{0,2}}\$|[€£¥₹₽₩₪₺%]|\b(?:{_CURRENCIES})\b)"
OTHER = {".": ",", ",": "."}  # what may separate thousands, by what stands before decimals
_WRITTEN = {  # by what stands before decimals
    decimal: re.compile(
        rf"(?P<lead>[+{_MINUS}]?){_BLANK}(?P<before>(?:{_SIGN})?{_BLANK})(?P<sign>[+{_MINUS}]?)"
        rf"(?P<number>(?:[1-9]\d{{0,2}}(?P<mark>[{mark}'’{_BLANKS}])\d{{3}}(?:(?P=mark)\d{{3}})*|\d+)?"
        rf"(?:{re.escape(decimal)}\d+)?)(?P<last>-?)(?P<after>{_BLANK}(?:{_SIGN})?)"
    )
    for decimal, mark in OTHER.items()
}
_BRACKETS = re.compile(rf"((?:{_SIGN})?{_BLANK})\((.*\d.*)\)({_BLANK}(?:{_SIGN})?)")
# In brackets, a telephone number, an address of a computer, or with a hyphen at the end: names of
# things if all cells of a column are of this form.
_NAME = re.compile(
    rf"\(.*|\+\d+[{_BLANKS}].*|\d{{3}}(?:[{_BLANKS}]\d{{3}}){{2,}}|\d{{1,3}}(?:\.\d{{3}}){{3}}|.*\d-"
)
# Units that may follow a number without a space; after one it may be any word.
_UNITS = "kg|g|mg|lbs?|oz|km|m|cm|mm|ft|mi|h|hrs?|min|s|ms|ml|l|[KMGT]B|k?Wh?|°[CF]?"
_WITH_UNIT = re.compile(
    rf"[+{_MINUS}]?(?:[\d.,'’]|[{_BLANKS}](?=\d{{3}}))*\d"
    rf"(?:({_UNITS})|[{_BLANKS}]([^\W\d_°]{{1,12}}[²³]?|°[CF]?))"
)


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


def to_number(cell: str) -> float:
    """Return the number of a cell as programs write it; ValueError: it is none, as ``1_1``."""
    if "_" in cell:  # which Python leaves out
        raise ValueError(f"expected a number, got {cell!r:.60}")
    return float(cell)


def is_number(cell: str) -> bool:
    """Whether a cell is a number as programs write it."""
    try:
        to_number(cell)
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

    Amounts in brackets, ``(3.48)``, are negative, as accountants write them. Signs of currencies
    and of per cent are left out; where nothing else is there, nothing is left, but a word such as
    ``EUR`` alone stays. Other cells are returned as they are. ``decimal`` is what stands before
    decimals.
    """
    if is_number(cell) and (decimal == "." or "." not in cell):
        return cell
    found, less = _parts(cell, decimal)
    if found is None or cell.strip().isalpha():
        return cell
    number = found["number"].replace(found["mark"] or "", "").replace(decimal, ".")
    signs = f"{less}{found['lead']}{found['sign']}{found['last']}".replace(_MINUS[0], "-")
    return f"{signs}{number}"


def _parts(cell: str, decimal: str) -> tuple[re.Match[str] | None, str]:
    """Return the parts of a number that people have written, if it is one, and - for brackets."""
    cell = cell.strip()
    brackets = _BRACKETS.fullmatch(cell) if cell.endswith(")") or "(" in cell[:4] else None
    if brackets is not None:
        cell = "".join(brackets.groups())
    return _WRITTEN[decimal].fullmatch(cell), "" if brackets is None else "-"


def find_decimal(
    cells: Sequence[str], delimiter: str = ",", elsewhere: str | None = None
) -> str | None:
    """Return what stands before decimals in a column of numbers that people have written.

    None if they did not write them. ``cells`` are those that are not missing. Both ways are
    possible of numbers such as ``1,234``: what stands before decimals ``elsewhere``, in other
    columns, decides, and where that is not known it is a decimal comma if semicolons separate the
    cells.
    """
    if _are_other_names(cells):
        return None
    usual = elsewhere or ("," if delimiter == ";" else ".")
    for decimal in (usual, OTHER[usual]):
        if _has_groups(cells, decimal) or (decimal == elsewhere and is_open(cells, decimal)):
            return decimal
    words = [cell for cell in cells if not is_number(cell)]
    for decimal in (usual, OTHER[usual]):
        read = [plain(cell, decimal) for cell in words]
        left = sum(bool(text) and not is_number(text) for text in read)
        numbers = sum(map(is_number, read))
        # Numbers of programs must not be read in another way for the sake of a few others.
        others = (cell.strip() for cell in cells if is_number(cell))
        changed = sum(plain(cell, decimal) != cell for cell in others)
        if left <= STRAY * len(cells) and changed < numbers:
            return decimal
    return None


def _are_other_names(cells: Sequence[str]) -> bool:
    """Whether cells look like numbers, but name things: ``(7)`` or ``2001-`` all, or telephones."""
    if len(cells) < 2 or not _NAME.fullmatch(cells[0].strip()):
        return False
    for has, mark in (str.startswith, "("), (str.endswith, "-"):
        if has(cells[0].strip(), mark):
            return all(has(cell.strip(), mark) for cell in cells)
    return len({re.sub(r"\d", "0", cell.strip()) for cell in cells}) == 1


def _has_groups(cells: Sequence[str], decimal: str) -> bool:
    """Whether thousands are separated for certain: ``1.234.567`` or ``1.234,5`` if by dots."""
    mark = OTHER[decimal]
    sure = [cell for cell in cells if cell.count(mark) > 1 or (mark in cell and decimal in cell)]
    if not any(_is_read(cell, decimal) for cell in sure):
        return False
    return sum(not _is_read(cell, decimal) for cell in cells) <= STRAY * len(cells)


def _is_read(cell: str, decimal: str) -> bool:
    """Whether a cell is a number, or a sign alone, in which nothing else separates decimals."""
    text, cell = plain(cell, decimal), cell.strip()
    return (not text or is_number(text)) and (text != cell or OTHER[decimal] not in cell)


def is_open(cells: Sequence[str], decimal: str) -> bool:
    """Whether it is open if thousands are separated, or decimals by what is not ``decimal``.

    So it is if all numbers that have such a mark have three digits after it, as ``1.063``, and the
    others at most three in all. A few words among them tell nothing.
    """
    mark, some = OTHER[decimal], False
    if not any(mark in cell for cell in cells):
        return False
    for cell in cells:
        found, _ = _parts(cell, decimal)
        if found is None and mark in cell and is_written_number(cell):
            return False
        number = "" if found is None else found["number"]
        whole, separated, rest = number.partition(mark)
        if len(whole) > 3 or not (whole + rest).isdecimal():
            if number:
                return False
        some |= bool(separated)
        if separated and len(rest) > 3:
            return False
    return some


def forms_of(values: Iterable[Any]) -> dict[str, str]:
    """Return numbers as people write them by their form, such as ``0.000``: one of each."""
    cells = (value for value in values if isinstance(value, str) and len(value) <= LONGEST)
    found = {cell.translate(_DIGITS): cell for cell in cells}
    return {form: cell for form, cell in found.items() if "0" in form and _is_amount(cell)}


def _is_amount(cell: str) -> bool:
    """Whether a cell is a number, perhaps with a unit."""
    return is_written_number(cell) or _WITH_UNIT.fullmatch(cell.strip()) is not None


def other_forms(later: Mapping[str, str], first: Iterable[Any]) -> list[str]:
    """Return later numbers, by their form, of forms that first values have not; units are theirs.

    What is in another unit, or a word, tells nothing of how numbers are written.
    """
    known = forms_of(first)
    units = {"", *map(_rest, known)}
    return [cell for form, cell in later.items() if form not in known and _rest(form) in units]


def _rest(form: str) -> str:
    """What is left of a form without the number."""
    return form.translate(_NO_NUMBER).strip()


def shows_decimals(cells: Sequence[str]) -> bool:
    """Whether numbers show what stands before decimals, so that others need not be looked at."""
    marked = any("." in cell or "," in cell for cell in cells)
    return marked and not any(is_open(cells, decimal) for decimal in OTHER)


class Writing(NamedTuple):
    """How the numbers of a column are written: what stands before decimals, and a unit.

    A unit follows its number after a space, as in ``5.1 kg``, or ``#`` shows the place of the
    number: ``$#``, ``#%``, ``#kg``. It is ``#`` alone where rows have different signs, and "" where
    they have none. It is ``unsure`` what stands before decimals if no number has shown it yet.
    """

    decimal: str
    unit: str
    unsure: bool = False

    def plain(self, cell: str) -> str:
        """Return a cell as programs write numbers; other cells as they are."""
        return plain(self.bare(cell), self.decimal)

    def bare(self, cell: str) -> str:
        """Return a cell without the word of its unit."""
        return _without_unit(cell, word_of(self.unit)) if self.unit else cell

    def fits(self, cell: str) -> bool:
        """Whether a dot in a cell is where it separates thousands, if it does in this column."""
        cell = self.bare(cell)
        dotted = self.decimal == "," and "." in cell and is_number(cell)
        return not dotted or plain(cell, ",") != cell

    def has_mark(self, cell: str) -> bool:
        """Whether a cell is a number with a dot or a comma."""
        return ("." in cell or "," in cell) and is_number(self.plain(cell))

    def remedy(self, cell: str) -> str:
        """Return what to do about a cell that is no number of the column; "" if that is unknown."""
        if not self.fits(cell):
            return "Numbers of this column have decimal commas, and dots separate thousands."
        if (word := word_of(self.unit)) and cell.strip()[:1].isdigit():
            return f"Numbers of this column are in {word}: convert it."
        return ""

    def makes_number(self, cell: str) -> bool:
        """Whether a cell is a number only if it is read in this way."""
        return not is_number(cell) and is_number(self.plain(cell))


def find_writing(
    cells: Sequence[str], delimiter: str = ",", elsewhere: str | None = None
) -> Writing | None:
    """Return how people have written the numbers of a column; None if they did not write them.

    ``cells`` are those that are not missing. For the others see :func:`find_decimal`.
    """
    if all(map(is_number, cells)):
        return Writing(",", "") if elsewhere == "," and is_open(cells, ",") else None
    unit = _find_unit(cells)
    bare = [_without_unit(cell, word_of(unit)) for cell in cells]
    decimal = find_decimal(bare, delimiter, elsewhere)
    if decimal is None and not unit:
        return None
    return Writing(decimal or ".", unit or _find_sign(cells, decimal or "."))


def as_written(
    units: Mapping[str, str], decimals: Mapping[str, str], unsure: Collection[str]
) -> dict[str, Writing]:
    """Return how numbers of columns are written that have a unit, or show their decimals."""
    names = {**units, **decimals}
    return {n: Writing(decimals.get(n, "."), units.get(n, ""), n in unsure) for n in names}


def name_of(unit: str) -> str:
    """Return a unit without the place of its number."""
    return unit.strip("# ")


@cache
def word_of(unit: str) -> str:
    """Return the word of a unit; "" of signs, which are not compared."""
    return re.sub(_SIGN, "", name_of(unit)).strip()


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
    found = [_parts(cell, decimal)[0] for cell in cells]
    signs = Counter(_placed(m["before"], m["after"]) for m in found if m and m["number"])
    bare = signs.pop("#", 0)
    if not signs or signs.total() < bare:
        return ""
    return _most(signs) or "#"


def _placed(before: str, after: str) -> str:
    """Return a unit by what stands before and after a number; "#" if that is nothing."""
    if not before.strip() and after[:1].isspace():
        return after.strip()
    space = " " if before[-1:].isspace() else ""
    return f"{before.strip()}{space if before.strip() else ''}#{after.rstrip()}"


def _most(units: Counter[str]) -> str:
    """Return how a unit is written most often; "" if there are several."""
    return units.most_common(1)[0][0] if len(set(map(name_of, units))) == 1 else ""


def _without_unit(cell: str, word: str) -> str:
    found = _WITH_UNIT.fullmatch(cell.strip()) if word else None
    return cell if found is None or word not in found.groups() else found[0][: -len(word)].rstrip()
