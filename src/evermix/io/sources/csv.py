"""Comma-separated values: numeric columns, a text column, or a table of several kinds."""

import csv
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from evermix.io.sources.base import Kind, RowError
from evermix.io.sources.formats import Record, RecordSource, Row
from evermix.io.sources.values import Numbers, read_cell

_TOO_LONG = "\udc00"  # in place of a line that is too long: no text holds it


class CommaSeparated(RecordSource):
    """A ``.csv`` file in UTF-8, with a header or without.

    The first line is a header unless all its cells are numbers. If the header names the text
    field, that column is the text; otherwise every column but the id and the time field is a
    feature. Where cells of the first row are words or blank, the file is a table. Without an id
    field a row's id is its index from 0.
    """

    suffixes = (".csv",)
    packable = True
    has_fields = True

    def survey(self) -> None:
        """Find out what the file holds."""
        options, cells = self.options, self._first_cells()
        self._header = not all(map(_is_number, cells))
        self._names = [name.strip() for name in cells] if self._header else []
        self._id, self._time = (self._position(n) for n in (options.id_field, options.time_field))
        if options.time_field is not None and self._time is None:
            raise self.error(
                f"expected a column {options.time_field!r} with times, "
                + (f"got the columns {self._names}." if self._header else "got no header.")
            )
        if options.text_field in self._names and options.kind != "table":
            self.kind = self.choose_kind("text")
            self._used = [self._names.index(options.text_field)]
        else:
            self._used = [j for j in range(len(cells)) if j not in (self._id, self._time)]
            numbers: tuple[Kind, ...] = ("vectors", "counts")
            first = ("table", *numbers) if self._has_words() else (*numbers, "table")
            self.kind = self.choose_kind(*first)
            self.set_features(len(self._used))
            self.columns = [self._names[j] for j in self._used] if self._header else None
        self._width = len(cells)
        self.check_first(self.records(0))

    def _has_words(self) -> bool:
        """Whether a cell of the first row is not a number, in columns that have names."""
        if not self._header:
            return False
        record = next(iter(self.records(0)), None)
        cells = [] if record is None or not isinstance(record.data, list) else record.data
        return len(cells) > max(self._used, default=0) and not all(
            _is_number(cells[j]) for j in self._used
        )

    def _position(self, name: str | None) -> int | None:
        return self._names.index(name) if name in self._names else None

    def _first_cells(self) -> list[str]:
        for _, cells in self._cells():
            if isinstance(cells, csv.Error):
                raise self.error(f"line 1: expected comma-separated values ({cells}).")
            return cells
        raise self.no_rows("expected rows of numbers or text, the file is empty.")

    def _cells(self) -> Iterator[tuple[int, list[str] | csv.Error]]:
        """Yield the last line and the cells of each row of the file, or why it cannot be read."""
        # Bytes that are not UTF-8 become surrogates, which spoil their own row, not the file.
        text = map(self._decoded, self.lines.read())
        reader = csv.reader(text)
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield reader.line_num, error
            else:
                if reader.line_num == 1 and cells:
                    cells[0] = cells[0].removeprefix("\ufeff")
                yield reader.line_num, cells

    def _decoded(self, line: bytes) -> str:
        too_long = len(line) > self.options.max_line
        return f"{_TOO_LONG}\n" if too_long else line.decode("utf-8", "surrogateescape")

    def records(self, start: int) -> Iterator[Record]:
        """Yield the cells of rows from ``start`` on."""
        for index, row in enumerate(islice(self._cells(), start + self._header, None), start):
            yield Record(index, *row)

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
            raise RowError(f"expected {self._width} columns, got {len(cells)}.")
        value = self._value(cells)
        name = self.rows_before + record.row if self._id is None else cells[self._id]
        return Row(name, value, None if self._time is None else self.parse_time(cells[self._time]))

    def _value(self, cells: list[str]) -> Any:
        if self.kind == "text":
            return _text(cells[self._used[0]])
        if self.kind == "table":
            names = self._names or [str(j) for j in range(self._width)]
            return {names[j]: read_cell(_text(cells[j])) for j in self._used}
        return self._numbers(cells)

    def _numbers(self, cells: list[str]) -> Numbers:
        try:
            return np.array([float(cells[j]) for j in self._used])
        except ValueError as error:
            wrong = next(j for j, used in enumerate(self._used) if not _is_number(cells[used]))
            raise RowError(
                f"expected a number in column {self.column_name(wrong)}, "
                f"got {cells[self._used[wrong]]!r:.60}."
            ) from error

    def column_name(self, column: int) -> str:
        """Return how messages call the feature of this index."""
        used = self._used[column]
        return repr(self._names[used]) if self._header else str(used + 1)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _text(cell: str) -> str:
    try:
        cell.encode()
    except UnicodeEncodeError as error:
        raise RowError("expected text in UTF-8, got other bytes.") from error
    return cell
