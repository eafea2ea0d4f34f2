"""Separated values: numeric columns, a text column, or a table of several kinds."""

import csv
import logging
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from math import isinf
from typing import Any

import numpy as np

from evermix._warning import warn
from evermix._words import counted
from evermix.io.similar_names import no_such
from evermix.io.sources.dialect import (
    LATER,
    LINES,
    LOOK,
    Writing,
    are_codes,
    forms_of,
    is_number,
    is_written_number,
    other_forms,
    shows_decimals,
    to_number,
)
from evermix.io.sources.encodings import NOT_UTF8
from evermix.io.sources.errors import RowError, SourceError
from evermix.io.sources.layout import check_widths, find_layout, looks_like_row, other_delimiter
from evermix.io.sources.lines import LiveLines
from evermix.io.sources.options import Kind
from evermix.io.sources.records import Record, RecordSource, Row
from evermix.io.sources.strings import PLAIN
from evermix.io.sources.values import (
    Numbers,
    is_mark,
    is_missing,
    no_number,
    read_cell,
    read_field,
    say_missing,
)

LOG = logging.getLogger("evermix")
FEWEST = 20  # rows that tell what columns hold
STRAYS = 5  # words in columns of numbers that a message names
_TOO_LONG = "\udc00"  # in place of a line that is too long: no text holds it


class CommaSeparated(RecordSource):
    """A ``.csv`` or ``.tsv`` file, with a header or without.

    Cells are separated by commas, semicolons, tabs or ``|``, as the first lines show; or by what a
    first line such as ``sep=;`` says. Titles above the header are left out (``layout.py``). Numbers
    may be as people write them: ``1,234.50``, ``$99``, ``(3.48)``, ``17.7%``, ``61 kg`` (if a
    column has one unit), and with decimal commas.

    The first line is a header unless all its cells are numbers. If the header names the text
    field, that column is the text; otherwise every column but the id and the time field, and those
    that are ignored, is a feature. Where cells of the first row are words or blank, the file is a
    table; also where one of the first rows has a blank cell, or many have words. A column in which
    nearly all of the first rows have numbers is one of numbers, and a word in it spoils its row; a
    cell without letters and digits, such as ``-`` or ``?``, is a missing value there. Digits of the
    same length with leading zeros, such as postcodes, are names, not numbers.
    Without an id field a row's id is its index from 0.
    """

    suffixes = (".csv", ".tsv")
    packable = True
    has_fields = True

    def survey(self) -> None:
        """Find out what the file holds."""
        self._layout = find_layout(map(self._decoded, self.lines.read()))
        if self._layout.title:
            LOG.info(
                f"{self.path}: the header is line {self._layout.above + 1}; what stands above it "
                f"is left out: {self._layout.title:.80}"
            )
        self._written: dict[int, Writing] = {}  # columns whose numbers people have written
        cells = self._first_cells()
        self._header = not all(map(is_written_number, cells))
        self._names = self._read_names(cells) if self._header else []
        self.header = self._names or None
        self.options = options = self.options.among(self._names)
        if self._header:
            self.check_required(self._names)
        self._id, self._time = (self._position(n) for n in (options.id_field, options.time_field))
        if options.time_field is not None and self._time is None:
            named = options.time_field, self._names, "--time-field"
            bare = f"there is no column {options.time_field!r}: the file has no header."
            raise self.error(no_such("column", *named) if self._header else bare)
        text = options.text_field in self._names and options.kind != "table"
        own = {options.text_field, options.id_field, options.time_field or options.text_field}
        self.check_different(self._names, own if text else None)
        if text:
            self.kind = self.choose_kind("text")
            self._used = [self._names.index(options.text_field)]
        else:
            others = {self._id, self._time}
            others |= {j for j, name in enumerate(self._names) if name in options.ignore}
            self._used = [j for j in range(len(cells)) if j not in others]
            if self._header:
                known = self.known_features([self._names[j] for j in self._used], self._first)
                self._used = [self._names.index(name) for name in known]
            self._width = len(cells)
            if not self._used:
                raise self.error(
                    "expected at least one feature beside ids, times and ignored columns."
                )
            first_values = self._look()
            kinds: tuple[Kind, ...] = ("vectors", "counts")
            first = ("table", *kinds) if self._has_words() else (*kinds, "table")
            self.kind = self.choose_kind(*first)
            if self._header and self.kind != "table":
                numbers = {self._names[j]: first_values[j] for j in self._used}
                kept = self.without_row_numbers(numbers)
                self._used = [self._names.index(name) for name in kept]
            self.set_features(len(self._used))
            self.columns = [self._names[j] for j in self._used] if self._header else None
        self._width = len(cells)
        names = self._names or [str(j) for j in range(self._width)]
        self.set_written({names[j]: writing for j, writing in self._written.items()})
        self.check_first(self.records(0))

    def _read_names(self, cells: list[str]) -> list[str]:
        """Return the names of columns, if they can be those."""
        widths = [len(row) for _, row in islice(self._cells(), LINES) if isinstance(row, list)]
        rows = [row[0] for _, row in islice(self._cells(), LINES) if isinstance(row, list) and row]
        if len(cells) == 1 and (mark := other_delimiter(cells[0], rows[1:])):
            raise self.error(
                "only one column was found: cells are separated by commas, semicolons, tabs or |, "
                f"and this file seems to have {mark!r} between them. Write it with "
                f"commas, or put the line sep={mark} above it."
            )
        try:
            check_widths([width for width in widths if width], self._layout.above)
            return [_text(name).strip() for name in cells]
        except ValueError as error:
            raise self.error(str(error)) from error

    def _look(self) -> dict[int, Numbers]:
        """Look at the first rows: which columns hold numbers, words, or no value.

        Returns the numbers of these rows by column, NaN in place of what is none.
        """
        records = (record.data for record in islice(self.records(0), LOOK))
        width = max(self._used) + 1
        rows = [cells for cells in records if isinstance(cells, list) and len(cells) >= width]
        missing, few = self.options.missing, len(rows) < FEWEST
        numbers = set(map(self._position, self.options.numbers))
        self._numeric: set[int] = set()
        values = dict[int, Numbers]()
        self._strays: dict[str, None] = {}  # words in columns of numbers, in order
        self._category = set(map(self._position, self.options.category))
        self.codes = ()
        self._words = bool(missing or self.options.category)
        there = {j: self._there(row[j] for row in rows) for j in self._used}
        for j in self._used:
            if j not in self._category and self._are_codes(j, there[j]):
                self.codes += (self._names[j],)
                self._category.add(j)
                self._words = True
        later = self._later({j: there[j] for j in self._used if j not in self._category})
        cells_of = {self._called(j): there[j] + cells for j, cells in later.items()}
        found = self.writings(cells_of, self._layout.delimiter, typed=False)
        for j in self._used:
            cells, known = [row[j] for row in rows], there[j]
            writing = found.get(self._called(j))
            if writing is not None and any(map(writing.has_mark, known)):
                self.set_written({self._called(j): writing})
            people = writing is not None and writing[:2] != PLAIN[:2]
            if writing is not None and (people or any(map(writing.makes_number, known))):
                self._written[j] = writing
                cells = [writing.plain(cell) for cell in cells]
                known = self._there(cells)
            if writing is not None or j in numbers:
                self._numeric.add(j)
                words = (cell.strip() for cell in known if not is_number(cell))
                self._strays |= dict.fromkeys(words)
            values[j] = np.array([float(c) if is_number(c) else np.nan for c in cells])
            self._words |= not all(map(is_number, cells[:1]))
            self._words |= not few and (len(known) < len(cells) or writing is None)
        if self._header and looks_like_row(self._names, rows, set(self._used) - self._numeric):
            self._warn_of_names()
        return values

    def _later(self, first: Mapping[int, list[str]]) -> dict[int, list[str]]:
        """Return numbers of later rows by column, one of each form that first cells have not.

        Columns that have shown how their numbers are written have none, nor have live sources.
        """
        found: dict[int, dict[str, str]] = {j: {} for j in first}
        some = [j for j, cells in first.items() if forms_of(cells) and not shows_decimals(cells)]
        if some and not isinstance(self.lines, LiveLines):
            records = islice(self.records(LOOK), LATER)
            with suppress(SourceError):  # it is raised where the rows are read
                while rows := [record.data for record in islice(records, LOOK)]:
                    whole = (r for r in rows if isinstance(r, list) and len(r) == self._width)
                    columns = list(zip(*whole, strict=True))
                    for j in some if columns else ():
                        found[j] |= forms_of(columns[j])
        return {j: other_forms(found[j], first[j]) for j in first}

    def _first(self, name: str) -> Numbers:
        """Return the first numbers of a column, NaN in place of what is none."""
        j = self._names.index(name)
        rows = (record.data for record in islice(self.records(0), LOOK))
        cells = [row[j] for row in rows if isinstance(row, list) and len(row) > j]
        return np.array([float(cell) if is_number(cell) else np.nan for cell in cells])

    def _there(self, cells: Iterable[str]) -> list[str]:
        """Return the cells that hold a value."""
        missing = self.options.missing
        return [cell for cell in cells if not is_missing(cell, missing) and not is_mark(cell)]

    def _called(self, j: int) -> str:
        """Return the name of a column, its number if it has none."""
        return self._names[j] if self._header else str(j)

    def _warn_of_names(self) -> None:
        """Say that the first line, which is taken for names, looks like a row."""
        one = len(self._names) == 1
        names = [self.options.text_field] if one else [f"c{j}" for j in range(1, self._width + 1)]
        above = shlex.quote(self._layout.delimiter.join(names))
        file = shlex.quote(self.path)
        warn(
            f"line {self._layout.above + 1} of {self.path} is taken for the names of columns, but "
            f"looks like a row: {', '.join(self._names):.80}. If it is one, put names above it: "
            f"(echo {above}; cat {file}) > NEW.csv"
        )

    def _are_codes(self, j: int, known: list[str]) -> bool:
        """Whether the digits of a column are names, of which rows have these."""
        name, before = self._names[j] if self._header else "", self.options.codes
        if before is not None:
            return name in before
        if name in self.options.digits:
            return self.options.digits[name]
        found = bool(name) and self.options.kind in (None, "table") and are_codes(known)
        if found:
            LOG.info(
                f"column {name!r} holds digits with leading zeros: they are taken for names, as "
                "postcodes are, not for numbers."
            )
        return found

    def _has_words(self) -> bool:
        """Whether columns that have names hold words or gaps."""
        return self._header and self._words

    def _position(self, name: str | None) -> int | None:
        return self._names.index(name) if name in self._names else None

    def _first_cells(self) -> list[str]:
        for number, (_, cells) in enumerate(self._cells()):
            if isinstance(cells, csv.Error):
                raise self.error(f"line 1: expected comma-separated values ({cells}).")
            if cells and number:
                blank = self._layout.above + 1
                raise self.error(f"line {blank} is blank: leave out blank lines above the table.")
            if cells:
                return cells
        raise self.no_rows("expected rows of numbers or text, the file is empty.")

    def _cells(self) -> Iterator[tuple[int, list[str] | csv.Error]]:
        """Yield the last line and the cells of each row of the file, or why it cannot be read."""
        # Bytes that are not UTF-8 become surrogates, which spoil their own row, not the file.
        above, delimiter = self._layout.above, self._layout.delimiter
        text = islice(map(self._decoded, self.lines.read()), above, None)
        reader = csv.reader(text, delimiter=delimiter)
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield above + reader.line_num, error
            else:
                if reader.line_num == 1 and cells:
                    cells[0] = cells[0].removeprefix("\ufeff")
                yield above + reader.line_num, cells

    def _decoded(self, line: bytes) -> str:
        too_long = len(line) > self.options.max_line
        return f"{_TOO_LONG}\n" if too_long else line.decode("utf-8", "surrogateescape")

    def records(self, start: int) -> Iterator[Record]:
        """Yield the cells of rows from ``start`` on."""
        for index, row in enumerate(islice(self._cells(), start + self._header, None), start):
            yield Record(index, *row)

    def written_times(self) -> Iterator[Any]:
        """Yield what the column of times holds."""
        for record in self.apart().records(0):
            if isinstance(record.data, list) and len(record.data) == self._width:
                yield None if self._time is None else record.data[self._time]

    def parse(self, record: Record) -> Row | None:
        """Return the row of a record, None if it is blank."""
        cells = record.data
        if isinstance(cells, csv.Error):
            raise RowError(f"expected comma-separated values ({cells}).")
        if not cells:
            return None
        if cells[0] == _TOO_LONG:
            self.check_length(bytes(self.options.max_line + 1))
        if len(cells) != self._width:
            raise RowError(f"expected {counted(self._width, 'column')}, got {len(cells)}.")
        value = self._value(cells)
        name = self.rows_before + record.row if self._id is None else cells[self._id]
        time = None if self._time is None else self.parse_time(cells[self._time])
        return Row(name, value, time, fields=self._fields(cells))

    def _fields(self, cells: list[str]) -> dict[str, Any] | None:
        """Return all cells by the names of their columns, if they are kept."""
        if self.options.fields is None:
            return None
        names = self._names or [f"column {j + 1}" for j in range(self._width)]
        read = read_field if self.options.fields == "values" else _text
        return {name: read(_text(cell)) for name, cell in zip(names, cells, strict=True)}

    def _value(self, cells: list[str]) -> Any:
        if self.kind == "text":
            return _text(cells[self._used[0]])
        if self._written:
            written = self._written
            for j, writing in written.items():
                if not writing.fits(cells[j]):
                    raise self._stray(self._used.index(j), cells[j])
            cells = [written[j].plain(c) if j in written else c for j, c in enumerate(cells)]
        if self.kind == "table":
            names = self._names or [str(j) for j in range(self._width)]
            return {names[j]: self._cell(j, _text(cells[j])) for j in self._used}
        return self._numbers(cells)

    def _cell(self, j: int, cell: str) -> float | bool | str | None:
        """Return the value of a cell of a table, or raise RowError."""
        value = read_cell(cell, self.options.missing)
        if j in self._category and value is not None:
            first = self.options.codes is None  # else the levels that are known tell
            gone = first and self._names[j] in self.codes and is_mark(cell)
            return None if gone else cell.strip()
        infinite = isinstance(value, float) and isinf(value)
        if j in self._numeric and value is not None:
            if is_mark(cell):
                return None
            if infinite or not isinstance(value, float):
                raise self._stray(self._used.index(j), cell)
        return cell.strip() if infinite else value

    def _numbers(self, cells: list[str]) -> Numbers:
        try:
            return np.array([to_number(cells[j]) for j in self._used])
        except ValueError as error:
            wrong = next(j for j, used in enumerate(self._used) if not is_number(cells[used]))
            raise self._stray(wrong, cells[self._used[wrong]]) from error

    def _stray(self, column: int, cell: str) -> RowError:
        """Return what is wrong with a cell of the feature of this index."""
        _text(cell)  # which raises if the file has another encoding
        writing = self._written.get(self._used[column], PLAIN)
        if remedy := writing.remedy(cell):
            remedy = f" {remedy}"
        elif self._header and (is_missing(cell) or is_mark(cell)):
            remedy = ' Read the file as kind "table" (--kind table) if values are missing.'
        elif self._header:
            words = list(dict.fromkeys([cell.strip(), *self._strays]))[:STRAYS]
            remedy = say_missing(words)
        return RowError(no_number(self.column_name(column), cell) + remedy)

    def column_name(self, column: int) -> str:
        """Return how messages call the feature of this index."""
        used = self._used[column]
        return repr(self._names[used]) if self._header else str(used + 1)


def _text(cell: str) -> str:
    try:
        cell.encode()
    except UnicodeEncodeError as error:
        raise RowError(f"expected text {NOT_UTF8}") from error
    return cell
