"""Sources whose records are parsed one at a time."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from evermix.io.sources.base import Checked, Chunk, RowError, SourceError
from evermix.io.sources.times import Time


class Record(NamedTuple):
    """One raw record: its row from 0, its line in the file from 1, and what stands there."""

    row: int
    line: int
    data: Any


class Row(NamedTuple):
    """What a record says: its id, its value, and its time if that was asked for."""

    id: Any
    value: Any
    time: Time | None = None


class RecordSource(Checked, ABC):
    """A source whose records are parsed one at a time."""

    @abstractmethod
    def _records(self, start: int) -> Iterator[Record]:
        """Yield raw records from row ``start`` on. A SourceError ends the source."""

    @abstractmethod
    def _parse(self, record: Record) -> Row | None:
        """Return what a record says, None if it is blank. RowError: it is bad."""

    @abstractmethod
    def _stack(self, values: list[Any]) -> Any:
        """Return parsed values as the X of a chunk."""

    def chunks(self, start: int, size: int) -> Iterator[Chunk]:
        """Yield the rows from ``start`` on, at most ``size`` at a time; no chunk is empty."""
        first, offset, held = start, start, list[tuple[int, Row]]()
        for offset, parsed in self._parsed(start):
            if parsed is None:
                continue
            held.append((offset - 1, parsed))
            if len(held) == size:
                yield self._chunk(held, first, offset)
                first, held = offset, []
        self.n_rows = offset if self.n_rows is None else self.n_rows
        if held:
            yield self._chunk(held, first, offset)

    def place(self, row: int) -> str:
        """Say where the row of this index stands."""
        return f"{self.path}: line {next(self._records(row)).line}"

    def count(self) -> int:
        """Return the number of rows, bad and blank ones included; reads them if need be."""
        if self.n_rows is None:
            n = 0
            try:
                for record in self._records(0):
                    n = record.row + 1
            except SourceError:
                if not self.options.skip_bad:
                    raise
            self.n_rows = n
        return self.n_rows

    def reaches(self, row: int) -> bool:
        """Whether there is a row of this number; reads no further than that."""
        if self.n_rows is not None:
            return row < self.n_rows
        return next(self._records(row), None) is not None

    def _chunk(self, held: list[tuple[int, Row]], first: int, offset: int) -> Chunk:
        """Return rows, with their indices, as a chunk."""
        rows = np.array([index for index, _ in held])
        ids = [row.id for _, row in held]
        X = self._stack([row.value for _, row in held])
        times = None if self.dated is None else np.array([row.time for _, row in held])
        return Chunk(ids, X, first, offset, rows, times)

    def _parsed(self, start: int) -> Iterator[tuple[int, Row | None]]:
        """Yield the offset behind each record, and what it says unless it is to be skipped."""
        records = self._records(start)
        while True:
            try:
                record = next(records, None)
            except SourceError as error:  # the file broke off: nothing can follow
                self._complain(error)
                return
            if record is None:
                return
            yield record.row + 1, self._accept(record)

    def _accept(self, record: Record) -> Row | None:
        try:
            return self._parse(record)
        except RowError as error:
            self._complain(self._error(f"line {record.line}: {error}"))
            return None

    def _first_parsed(self, records: Iterator[Record]) -> Any:
        """Return the value of the first good record, to learn from it what the source is."""
        for record in records:
            try:
                parsed = self._parse(record)
            except RowError as error:
                if not self.options.skip_bad:
                    raise self._error(f"line {record.line}: {error}") from error
            else:
                if parsed is not None:
                    return parsed.value
        raise self._empty("wanted at least one record, found none that can be read.")
