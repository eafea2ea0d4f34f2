"""The base of formats whose records are parsed one by one."""

import math
import time
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evermix.io.brokers import is_address
from evermix.io.sources.base import FileSource
from evermix.io.sources.chunk import Chunk, Mark, Rejected
from evermix.io.sources.encodings import other_than_utf8
from evermix.io.sources.errors import RowError, SourceError
from evermix.io.sources.follow import FollowedFiles
from evermix.io.sources.lines import PAUSE, FileLines, LiveLines, Reading, StandardInput
from evermix.io.sources.messages import Messages
from evermix.io.sources.options import Kind
from evermix.io.sources.values import Time, find_problem, stack_rows


class Record(NamedTuple):
    """One raw record: its row from 0, its line in the file from 1, and its content."""

    row: int
    line: int
    data: Any


class Row(NamedTuple):
    """A parsed record: its id, its value, and its time if a time field was named.

    Its text may come beside a vector, its offset from a broker, and all its fields may be kept.
    The value is a string for text, else numbers (D,) or, for sparse rows, a tuple of arrays
    ``(columns, values)``.
    """

    id: Any
    value: Any
    time: Time | None = None
    text: str | None = None
    offset: str | None = None
    fields: dict[str, Any] | None = None


class RecordSource(FileSource):
    """A format whose records are parsed one at a time. Only :meth:`parse` must be written.

    By default a record is a line, given as bytes, and the first good one sets the number of
    features. Values are checked here: finite numbers, as many as in the first row, whole and not
    negative if they are counts.
    """

    kinds: ClassVar[tuple[Kind, ...]] = ("vectors", "counts")
    """What rows can be read as; the first is the default."""

    has_lines = True
    counted: ClassVar[bool] = False
    """Whether the file itself says how many records it has."""

    @cached_property
    def lines(self) -> FileLines | LiveLines:
        """Lines of the file, or of standard input if the path is ``"-"``."""
        options = self.options
        sure = options.complete or self.counted
        whole, encoding = None if sure else self.is_whole, self._encoding()
        reading = Reading(options.marked, whole, options.max_line, encoding)
        if options.followed:
            limits = options.max_wait, self.is_whole, options.skip_bad, options.max_line
            return FollowedFiles(options.followed, options.marks, *limits, options.drain)
        if is_address(self.path):
            return Messages(self.path, options)
        if self.path == "-":
            return StandardInput(options.max_wait, reading, options.continues)
        return FileLines(self.path, reading)

    def _encoding(self) -> str | None:
        """Return the encoding that the user has named, None for UTF-8."""
        try:
            encoding = other_than_utf8(self.options.encoding)
        except ValueError as error:
            raise SourceError(str(error)) from None
        if encoding and (self.options.followed or self.path == "-" or is_address(self.path)):
            raise self.error(
                "rows that come while they are read must be in UTF-8: encoding is for files that "
                "are whole. Convert what comes: iconv -f ENCODING -t utf-8."
            )
        return encoding

    def is_whole(self, line: bytes) -> bool:
        """Whether a last line without a newline is certainly whole."""
        del line
        return False

    def check_length(self, line: bytes) -> None:
        """Raise RowError if a line is too long; then only its beginning was read."""
        limit = self.options.max_line
        if len(line) > limit:
            raise RowError(
                f"expected a line of at most {limit:,} bytes, got more. Correct it, or raise "
                "max_line (on the command line: --max-line)."
            )

    @abstractmethod
    def parse(self, record: Record) -> Row | None:
        """Return the row of a record, None if it is blank. RowError: it is bad."""

    def records(self, start: int) -> Iterator[Record]:
        """Yield raw records from row ``start`` on; here lines. A SourceError ends the source."""
        return numbered(self.lines.read(), start, skip=self.lines.skips)

    def survey(self) -> None:
        """Find out what the file holds; here from its first good record."""
        self.kind = self.choose_kind(*self.kinds)
        self.check_first(numbered(self.lines.peek(), 0))

    def column_name(self, column: int) -> str:
        """Return how messages call the column of this index."""
        return str(column)

    def check_first(self, records: Iterator[Record]) -> None:
        """Parse the first good record, and set the number of features by it."""
        bad = blank = False
        for record in records:
            try:
                row = self._parse(record)
            except RowError as error:
                bad = True
                if not self.options.skip_bad:
                    raise self.error(f"line {record.line}: {error}") from error
            else:
                if row is not None:
                    if self.kind != "text":
                        self.set_features(len(row.value))
                    return
                blank = True
        if bad or self.lines.unfinished:
            raise self.no_rows("expected at least one record, found none that can be read.")
        holds = "has only blank lines" if blank else "is empty"
        holds = "has a header and no rows" if self.header else holds
        raise self.no_rows(f"expected at least one row, the file {holds}.")

    def chunks(self, start: int, size: int, limit: int | None = None) -> Iterator[Chunk]:
        """Yield the rows from ``start`` on, see :meth:`FileSource.chunks`."""
        first, offset, held = start, start, list[tuple[int, Row]]()
        left = limit or math.inf
        for offset, row in self._rows(start):
            if row is None:
                continue
            if isinstance(row, Row):
                held.append((offset - 1, row))
            if len(held) == min(size, left) or row is PAUSE:
                chunk, began = self._chunk(held, first, offset), time.monotonic()
                first, left, held = offset, left - len(held), []
                yield chunk
                if not left:
                    return
                if isinstance(self.lines, LiveLines):
                    self.lines.restart(time.monotonic() - began)
        self.n_rows = offset if self.n_rows is None else self.n_rows
        if held:
            yield self._chunk(held, first, offset)

    def place(self, row: int) -> str:
        """Return the file and the line of the row with this index, for messages."""
        return f"{self.path}: line {next(self.records(row)).line}"

    def count_rows(self) -> int:
        """Return the number of rows, bad and blank ones included; reads the file if need be."""
        if self.n_rows is None:
            n = 0
            try:
                for record in self.records(0):
                    n = record.row + 1
            except SourceError:
                if not self.options.skip_bad:
                    raise
            self.n_rows = n
        return self.n_rows

    def has_row(self, row: int) -> bool:
        """Whether there is a row of this index; reads no further than that."""
        if self.n_rows is not None:
            return row < self.n_rows
        return next(self.records(row), None) is not None

    def mark(self, offset: int, read: Any) -> Mark:
        """Return what a checkpoint notes of this file: the bytes of its lines, and a digest."""
        return Mark(self.path, read[0], None, read[1])

    def marks(self, offset: int, read: Any) -> list[Mark]:
        """Return marks of the files that hold the first ``offset`` rows, for a checkpoint."""
        if read is None:
            return []  # of standard input that goes on
        return read if isinstance(read, list) else super().marks(offset, read)

    def recall(self, mark: Mark) -> None:
        """Have the bytes that were read before compared when they are read again."""
        if mark.digest is not None:
            self.lines.expected = mark.size, mark.digest

    @property
    def live(self) -> bool:
        """Whether rows come while they are read, and chunks may be empty while none comes."""
        return isinstance(self.lines, LiveLines) and self.lines.live

    @property
    def unfinished(self) -> bool:
        """Whether the last line was left out, since it may still be being written."""
        return self.lines.unfinished

    def _chunk(self, held: list[tuple[int, Row]], first: int, offset: int) -> Chunk:
        """Return rows, given with their indices, as a chunk."""
        rows, read = np.array([index for index, _ in held], dtype=np.int64), self.lines.mark()
        if not held:
            return Chunk([], None, first, offset, rows, read=read)
        ids = [row.id for _, row in held]
        values, about = [row.value for _, row in held], (self.written, self.options.category)
        X = stack_rows(values, self.kind, self.n_features, *about)
        times = None if self.dated is None else np.array([row.time for _, row in held])
        texts = [row.text or "" for _, row in held] if self.beside else None
        offsets = None if self.lines.offset is None else [str(row.offset) for _, row in held]
        fields = [row.fields or {} for _, row in held] if self.options.fields else None
        return Chunk(ids, X, first, offset, rows, times, read, texts, offsets, fields)

    def _rows(self, start: int) -> Iterator[tuple[int, Row | bytes | None]]:
        """Yield the offset after each record, and its row; None for a blank or bad one.

        PAUSE comes in place of a row where a live source has to wait.
        """
        records = self.records(start)
        while True:
            try:
                record = next(records, None)
            except SourceError as error:  # the file breaks off: nothing can follow
                self.reject(error)
                return
            if record is None:
                return
            if record.data is PAUSE:
                yield record.row, PAUSE
                continue
            row = None
            try:
                row = self._parse(record)
            except RowError as error:
                place = self.lines.place(record.line)
                data = record.data if isinstance(record.data, bytes) else None
                bad = Rejected(record.row, place, str(error), data)
                self.reject(SourceError(f"{place}: {error}"), bad=bad)
            if row is not None and self.lines.offset is not None:
                row = row._replace(offset=self.lines.offset)
            yield record.row + 1, row

    def _parse(self, record: Record) -> Row | None:
        """Return the row of a record with its value checked, None if it is blank."""
        if isinstance(record.data, bytes):
            self.check_length(record.data)
        row = self.parse(record)
        if row is None or self.kind in ("text", "table"):
            return row
        if isinstance(row.value, tuple):
            columns, values = row.value
        else:
            values = np.asarray(row.value, dtype=np.float64)
            row, columns = row._replace(value=values), range(len(values))
            if self.n_features is not None and len(values) != self.n_features:
                raise RowError(f"expected {self.n_features} numbers in a row, got {len(values)}.")
        problem = find_problem(values, columns, self.kind, self.column_name)
        if problem:
            raise RowError(problem)
        return row


def numbered(lines: Iterator[bytes], start: int, skip: bool = True) -> Iterator[Record]:
    """Yield lines as records, from row ``start`` on; rows before it are skipped if they come.

    A pause is a record too, which does not count.
    """
    index = 0 if skip else start
    for line in lines:
        if line is PAUSE:
            if index >= start:
                yield Record(index, index + 1, line)
            continue
        if index >= start:
            yield Record(index, index + 1, line)
        index += 1
