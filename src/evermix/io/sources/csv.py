"""Comma-separated values: numeric columns, or a text column."""

import csv
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.io.sources.base import Options, RowError
from evermix.io.sources.lines import FileLines
from evermix.io.sources.formats import Record, RecordSource, Row
from evermix.io.sources.values import fault, stack_dense


class Delimited(RecordSource):
    """A ``.csv`` file in UTF-8, with a header or without.

    The first line is a header unless all its cells are numbers. If the header names the text
    field, that column is the text; otherwise every column but the id and the time field is a
    feature. Without an id field a row's id is its index from 0.
    """

    named = True

    def __init__(self, path: str, options: Options) -> None:
        super().__init__(path, options)
        self._lines = FileLines(path)
        cells = self._first_cells()
        self._header = not all(map(_is_number, cells))
        self._names = [name.strip() for name in cells] if self._header else []
        self._id, self._when = (self._column(n) for n in (options.id_field, options.time_field))
        if options.time_field is not None and self._when is None:
            raise self._error(
                f"wanted a column {options.time_field!r} with times, "
                + (f"got the columns {self._names}." if self._header else "got no header.")
            )
        if options.text_field in self._names:
            self.kind = self._choose("text", ("text",))
            self._columns = [self._names.index(options.text_field)]
        else:
            self.kind = self._choose("vectors", ("vectors", "counts"))
            features = [j for j in range(len(cells)) if j not in (self._id, self._when)]
            self._set_features(len(features))
            self._columns = features
            self.columns = [self._names[j] for j in features] if self._header else None
        self._width = len(cells)
        self._first_parsed(self._records(0))

    def _column(self, name: str | None) -> int | None:
        return self._names.index(name) if name in self._names else None

    def _first_cells(self) -> list[str]:
        for _, cells in self._rows():
            if isinstance(cells, csv.Error):
                raise self._error(f"line 1: wanted comma-separated values ({cells}).")
            return cells
        raise self._empty("wanted rows of numbers or text, the file is empty.")

    def _rows(self) -> Iterator[tuple[int, list[str] | csv.Error]]:
        """Yield the last line and the cells of each row of the file, or why it cannot be read."""
        # Bytes that are no UTF-8 become surrogates, which spoil their own row instead of the file.
        text = (line.decode("utf-8", "surrogateescape") for line in self._lines.read())
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

    def _records(self, start: int) -> Iterator[Record]:
        skipped = start + self._header
        for index, row in enumerate(islice(self._rows(), skipped, None), start):
            yield Record(index, *row)

    def _parse(self, record: Record) -> Row | None:
        cells = record.data
        if isinstance(cells, csv.Error):
            raise RowError(f"wanted comma-separated values ({cells}).")
        if not cells:
            return None
        if len(cells) != self._width:
            raise RowError(f"wanted {self._width} columns, got {len(cells)}.")
        value = _text(cells[self._columns[0]]) if self.kind == "text" else self._vector(cells)
        name = self.before + record.row if self._id is None else cells[self._id]
        return Row(name, value, None if self._when is None else self._time(cells[self._when]))

    def _vector(self, cells: list[str]) -> Array:
        try:
            vector = np.array([float(cells[j]) for j in self._columns])
        except ValueError as error:
            wrong = next(j for j in self._columns if not _is_number(cells[j]))
            raise RowError(
                f"wanted a number in column {self._name(wrong)}, got {cells[wrong]!r:.60}."
            ) from error
        complaint = fault(vector, [self._name(j) for j in self._columns], self.kind)
        if complaint:
            raise RowError(complaint)
        return vector

    def _name(self, column: int) -> str:
        return repr(self._names[column]) if self._header else str(column + 1)

    def _stack(self, values: list[Any]) -> Any:
        return values if self.kind == "text" else stack_dense(values, self.kind)


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
        raise RowError("wanted text in UTF-8, got other bytes.") from error
    return cell
