"""What every source is: rows in chunks of bounded size, checked once, with an offset to resume at.

A source either parses one record after another (:class:`RecordSource`) or slices blocks of an
array (:class:`BlockSource`). Both count rows from 0 in the order of the file, blank and bad ones
included, so that an offset means the same place whatever was skipped. Sources keep no file open
and travel as plain data: where one arrives, it reads the file of the same path.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from evermix._xp import Array
from evermix.io.sources.times import Time, read_time
from evermix.io.sources.values import faulty_rows, kept_rows

__all__ = [
    "Block",
    "BlockSource",
    "Chunk",
    "Kind",
    "NoRows",
    "Options",
    "Record",
    "RecordSource",
    "Row",
    "RowError",
    "Source",
    "SourceError",
]

Kind: TypeAlias = Literal["text", "counts", "vectors"]

_COMPLAINTS_KEPT = 5


class SourceError(ValueError):
    """A source cannot be read; the message names the file and the line or row."""


class NoRows(SourceError):
    """A file holds no row at all."""


class RowError(ValueError):
    """What is wrong with one row; the source adds the file and the place."""


class Chunk(NamedTuple):
    """Some consecutive rows of a source.

    Attributes
    ----------
    ids : list of length n
        The rows' own ids, or their numbers.
    X : list of str, CSR matrix (n, D) or array (n, D)
        Texts, counts or vectors, by the source's ``kind``. Numbers are float64.
    first : int
        Index of the first row that this chunk accounts for.
    offset : int
        Rows consumed after this chunk, bad and blank ones included: where to resume.
    rows : int64 array (n,)
        Index of each row.
    times : array (n,) or None
        When each was seen: float64, or datetime64[us] in UTC; None if no field holds times.
    """

    ids: list[Any]
    X: Any
    first: int
    offset: int
    rows: Array
    times: Array | None = None


class Source(Protocol):
    """Rows that can be read in chunks, from any row on."""

    @property
    def kind(self) -> Kind:
        """What the rows are: ``"text"``, ``"counts"`` or ``"vectors"``."""

    @property
    def n_features(self) -> int | None:
        """Number of columns D; None for text."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, bad and blank ones included; None until a full read has told."""

    @property
    def dated(self) -> bool | None:
        """Whether the times of rows are dates; None if they have none."""

    @property
    def bad(self) -> int:
        """Number of rows that were bad and skipped so far."""

    @property
    def complaints(self) -> Sequence[str]:
        """What was wrong with the first few bad rows."""

    def chunks(self, start: int, size: int) -> Iterator[Chunk]:
        """Yield the rows from ``start`` on, at most ``size`` at a time; no chunk is empty."""

    def place(self, row: int) -> str:
        """Say where the row of this index stands, for people: the file, and the line or row."""


@dataclass(frozen=True)
class Options:
    """How to read a source; see :func:`evermix.io.sources.open_source`."""

    kind: Kind | None = None
    text_field: str = "text"
    vector_field: str = "vector"
    id_field: str = "id"
    time_field: str | None = None
    n_features: int | None = None
    skip_bad: bool = False


class _Checked:
    """The part that all sources share: what they are, and what to do with bad rows."""

    kind: Kind
    n_features: int | None = None
    n_rows: int | None = None
    columns: list[str] | None = None
    """Names of the features, where they have some."""
    before: int = 0
    """Rows of files that come before, which the numbers of rows count too."""
    dated: bool | None = None
    """Whether times are dates, as the first one says; None if there are no times."""
    named: ClassVar[bool] = False
    """Whether rows have fields or columns with names."""

    def __init__(self, path: str, options: Options) -> None:
        self.path = path
        self.options = options
        self.n_features = options.n_features
        self.bad = 0
        self.complaints: list[str] = []
        if options.time_field is not None and not self.named:
            raise self._error(
                f"wanted times in {options.time_field!r}, but rows of this format have no fields "
                "with names. Give JSON lines, CSV or Parquet, or no time_field (on the command "
                "line: --time-field)."
            )

    def _error(self, message: str) -> SourceError:
        return SourceError(f"{self.path}: {message}")

    def _empty(self, message: str) -> NoRows:
        return NoRows(f"{self.path}: {message}")

    def _choose(self, default: Kind, allowed: tuple[Kind, ...]) -> Kind:
        """Return the kind that the user asked for, if the format can hold it."""
        kind = self.options.kind or default
        if kind not in allowed:
            wanted = " or ".join(f'"{name}"' for name in allowed)
            raise self._error(f'this format can be read as {wanted}, not as "{kind}".')
        return kind

    def _set_features(self, found: int) -> None:
        """Take the number of columns from the file, which must agree with a given one."""
        wanted = self.options.n_features
        if found == 0:
            raise self._error("wanted at least one feature, the rows have none.")
        if wanted is not None and wanted != found:
            raise self._error(f"wanted {wanted} features, the file has {found}.")
        self.n_features = found

    def _time(self, value: Any) -> Time:
        """Return what stands in the time field of a row. RowError: it is no time."""
        try:
            time = read_time(value)
        except ValueError as error:
            raise RowError(f"{error} in {self.options.time_field!r}.") from error
        dated = isinstance(time, np.datetime64)
        self.dated = dated if self.dated is None else self.dated
        if dated != self.dated:
            wanted = "a date" if self.dated else "a number"
            raise RowError(
                f"wanted {wanted} in {self.options.time_field!r} as in the first row, got "
                f"{value!r:.60}."
            )
        return time

    def _complain(self, error: SourceError) -> None:
        """Raise, or count the complaint where bad rows are to be skipped."""
        if not self.options.skip_bad:
            raise error
        self.bad += 1
        if len(self.complaints) < _COMPLAINTS_KEPT:
            self.complaints.append(str(error))


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


class RecordSource(_Checked, ABC):
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


class Block(NamedTuple):
    """Rows ``first`` to ``first + n`` of an array, with what is already known to be wrong.

    Attributes
    ----------
    ids : list of length n
    X : list of str, CSR matrix (n, D) or array (n, D)
    faults : mapping of int to str
        Position in the block, and complaint, of rows that could not be put into X.
    times : list of length n, or None
        As in a chunk; anything where there are faults.
    """

    first: int
    ids: list[Any]
    X: Any
    faults: Mapping[int, str]
    times: list[Time] | None = None


class BlockSource(_Checked, ABC):
    """A source whose rows come as blocks of an array."""

    n_rows: int

    def count(self) -> int:
        """Return the number of rows, bad and blank ones included."""
        return self.n_rows

    def reaches(self, row: int) -> bool:
        """Whether there is a row of this number."""
        return row < self.n_rows

    @abstractmethod
    def _blocks(self, start: int, size: int) -> Iterator[Block]:
        """Yield the rows from ``start`` on in blocks of 1 to ``size`` rows, values unchecked."""

    def chunks(self, start: int, size: int) -> Iterator[Chunk]:
        """Yield the rows from ``start`` on, at most ``size`` at a time; no chunk is empty."""
        first = start
        for block in self._blocks(start, size):
            rows, ids, X, times = self._good_rows(block)
            if ids:
                offset = block.first + len(block.ids)
                stamps = None if times is None else np.array(times)
                yield Chunk(ids, X, first, offset, block.first + rows, stamps)
                first = offset

    def place(self, row: int) -> str:
        """Say where the row of this index stands."""
        return f"{self.path}: row {row}"

    def _good_rows(self, block: Block) -> tuple[Array, list[Any], Any, list[Time] | None]:
        """Return the positions, ids, X and times of the rows of a block that are good."""
        faults = {**faulty_rows(block.X, self.kind), **block.faults}
        for row in sorted(faults):
            self._complain(self._error(f"row {block.first + row}: {faults[row]}"))
        rows = np.arange(len(block.ids))
        if not faults:
            return rows, block.ids, block.X, block.times
        rows = np.delete(rows, sorted(faults))
        kept = rows.tolist()
        times = None if block.times is None else kept_rows(block.times, kept)
        return rows, kept_rows(block.ids, kept), kept_rows(block.X, kept), times
