"""Where the table of a file of separated values begins, and what stands between its cells."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from evermix.io.sources.dialect import DELIMITERS, LINES, find_delimiter, is_written_number
from evermix.io.sources.values import is_missing

TITLES = 10  # lines above a table, at most
FEWEST = 3  # rows that must agree on their number of cells
WORDS = 4  # of a name that may be a text
_SEP = re.compile(r'\ufeff?"?sep=(.)"?\r?\n?', re.IGNORECASE)


class Layout(NamedTuple):
    """Where the table of a file begins.

    Attributes
    ----------
    delimiter : str
        What separates cells.
    above : int
        Lines above the table: ``sep=;``, as Excel writes it, titles and blank ones.
    title : str
        What stands in these, but for ``sep=`` and blanks.
    """

    delimiter: str
    above: int = 0
    title: str = ""


def find_layout(lines: Iterable[str]) -> Layout:
    """Return where the table of a file begins, which begins with these lines.

    Lines are a title only if that is certain: the first has cells for less than half of the
    columns, the others end before the last one, all rows after them have the same number of cells,
    and the first of these is a header, that is words, one of them above numbers alone.
    """
    first = list(islice(lines, LINES))
    if first and (found := _SEP.fullmatch(first[0])):
        return Layout(found[1], 1)
    blank = next((n for n, line in enumerate(first) if line.strip(" \t\r\n\ufeff")), 0)
    titled = {delimiter: _find_header(first, delimiter) for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=lambda delimiter: titled[delimiter][0])  # of equals the first
    width, above = titled[best]
    if width and above > blank:
        title = " ".join(" ".join(first[blank:above]).replace(best, " ").split())
        return Layout(best, above, title.strip("\ufeff"))
    return Layout(find_delimiter(first[blank:]), blank)


def _find_header(lines: list[str], delimiter: str) -> tuple[int, int]:
    """Return the columns of a table below titles, and the lines above it; 0, 0 if there is none."""
    rows = _rows(lines, delimiter)
    widths = Counter(len(row) for _, row in rows if row)
    width = widths.most_common(1)[0][0] if widths else 0
    header = next((n for n, (_, row) in enumerate(rows) if len(row) == width and all(row)), 0)
    if width < 2 or not 0 < header <= TITLES:
        return 0, 0
    before = [[cell for cell in row if cell] for _, row in rows[:header] if any(row)]
    names, below = rows[header][1], [row for _, row in rows[header + 1 :] if row]
    titles = all(2 * len(row) < width or len(row) == 1 for row in before[:1])
    titles &= not any(len(row) == width and row[-1] for _, row in rows[:header])
    titles &= not any(all(map(is_written_number, row)) for row in before)
    whole = len(below) >= FEWEST - 1 and all(len(row) == width for row in below)
    if not (titles and whole and any(_heads(names, below, j) for j in range(width))):
        return 0, 0
    return width, rows[header - 1][0]


def _heads(names: Sequence[str], below: Sequence[Sequence[str]], j: int) -> bool:
    """Whether a column has a word above numbers."""
    cells = [row[j] for row in below if not is_missing(row[j])]
    return bool(cells) and not is_written_number(names[j]) and all(map(is_written_number, cells))


def _rows(lines: Iterable[str], delimiter: str) -> list[tuple[int, list[str]]]:
    """Return the last line and the cells, without blanks around, of each row of a table."""
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        return [(reader.line_num, [cell.strip("\ufeff \t\r\n") for cell in row]) for row in reader]
    except csv.Error:
        return []


def check_widths(widths: Sequence[int], above: int) -> None:
    """Raise ValueError if the first row has another number of cells than all that follow."""
    others = set(widths[1:])
    if len(widths) > FEWEST and len(others) == 1 and widths[0] not in others:
        line = above + 1
        raise ValueError(
            f"expected as many cells in line {line} as in the rows that follow, which have "
            f"{widths[1]}, got {widths[0]}. If the line is a title, leave it out: tail -n "
            f"+{line + 1} FILE > NEW. If it is the header, it must name every column, and cells "
            "that hold a delimiter must be in quotes."
        )


def other_delimiter(header: str, rows: Sequence[str]) -> str | None:
    """Return the mark that seems to separate cells of one column, which none of ours does."""
    marks = {mark for mark in header if not mark.isalnum() and not mark.isspace()}
    several = {mark: n for mark in marks if (n := header.count(mark)) > 1} if rows else {}
    found = (m for m, n in several.items() if all(row.count(m) == n for row in rows))
    return next(found, None)


def looks_like_row(names: Sequence[str], rows: Sequence[Sequence[str]], words: set[int]) -> bool:
    """Whether names of columns, in a file with these rows, look like values.

    ``words`` are the columns that hold words.
    """
    text = any(len(name.split()) >= WORDS for name in names)
    if text and (len(names) == 1 or any(map(is_written_number, names))):
        return True
    below = {j: {row[j].strip() for row in rows if len(row) > j} for j in words}
    values = any(names[j] in below[j] and not is_missing(names[j]) for j in words)
    return values or any(is_written_number(name) and not name.isdecimal() for name in names)
