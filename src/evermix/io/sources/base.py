"""What every source is: rows in chunks of bounded size, checked once, with an offset to resume at.

A source either parses one record after another (:class:`RecordSource`) or slices blocks of an
array (:class:`BlockSource`). Both count rows from 0 in the order of the file, blank and bad ones
included, so that an offset means the same place whatever was skipped. Sources keep no file open
and travel as plain data: where one arrives, it reads the file of the same path.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from evermix._xp import Array
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
    """

    ids: list[Any]
    X: Any
    first: int
    offset: int


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
    def bad(self) -> int:
        """Number of rows that were bad and skipped so far."""

    @property
    def complaints(self) -> Sequence[str]:
        """What was wrong with the first few bad rows."""

    def chunks(self, start: int, size: int) -> Iterator[Chunk]:
        """Yield the rows from ``start`` on, at most ``size`` at a time; no chunk is empty."""


@dataclass(frozen=True)
class Options:
    """How to read a source; see :func:`evermix.io.sources.open_source`."""

    kind: Kind | None = None
    text_field: str = "text"
    vector_field: str = "vector"
    id_field: str = "id"
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

    def __init__(self, path: str, options: Options) -> None:
        self.path = path
        self.options = options
        self.n_features = options.n_features
        self.bad = 0
        self.complaints: list[str] = []

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


class RecordSource(_Checked, ABC):
    """A source whose records are parsed one at a time."""

    @abstractmethod
    def _records(self, start: int) -> Iterator[Record]:
        """Yield raw records from row ``start`` on. A SourceError ends the source."""

    @abstractmethod
    def _parse(self, record: Record) -> tuple[Any, Any] | None:
        """Return the id and the value of a record, None if it is blank. RowError: it is bad."""

    @abstractmethod
    def _stack(self, values: list[Any]) -> Any:
        """Return parsed values as the X of a chunk."""

    def chunks(self, start: int, size: int) -> Iterator[Chunk]:
        """Yield the rows from ``start`` on, at most ``size`` at a time; no chunk is empty."""
        first, offset, ids, values = start, start, [], []
        for offset, parsed in self._parsed(start):
            if parsed is None:
                continue
            ids.append(parsed[0])
            values.append(parsed[1])
            if len(ids) == size:
                yield Chunk(ids, self._stack(values), first, offset)
                first, ids, values = offset, [], []
        self.n_rows = offset if self.n_rows is None else self.n_rows
        if ids:
            yield Chunk(ids, self._stack(values), first, offset)

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

    def _parsed(self, start: int) -> Iterator[tuple[int, tuple[Any, Any] | None]]:
        """Yield the offset behind each record, and its id and value unless it is to be skipped."""
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

    def _accept(self, record: Record) -> tuple[Any, Any] | None:
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
                    return parsed[1]
        raise self._empty("wanted at least one record, found none that can be read.")


class Block(NamedTuple):
    """Rows ``first`` to ``first + n`` of an array, with what is already known to be wrong.

    Attributes
    ----------
    ids : list of length n
    X : list of str, CSR matrix (n, D) or array (n, D)
    faults : mapping of int to str
        Position in the block, and complaint, of rows that could not be put into X.
    """

    first: int
    ids: list[Any]
    X: Any
    faults: Mapping[int, str]


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
            ids, X = self._good_rows(block)
            if ids:
                offset = block.first + len(block.ids)
                yield Chunk(ids, X, first, offset)
                first = offset

    def _good_rows(self, block: Block) -> tuple[list[Any], Array]:
        faults = {**faulty_rows(block.X, self.kind), **block.faults}
        for row in sorted(faults):
            self._complain(self._error(f"row {block.first + row}: {faults[row]}"))
        if not faults:
            return block.ids, block.X
        kept = [row for row in range(len(block.ids)) if row not in faults]
        return [block.ids[row] for row in kept], kept_rows(block.X, kept)
