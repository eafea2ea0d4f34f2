"""Several files as one source: the files of a folder or pattern, and their rows in order."""

import glob
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from evermix.io.brokers import is_address
from evermix.io.sources.base import FileSource
from evermix.io.sources.chunk import Chunk, Mark, Rejected
from evermix.io.sources.dialect import Writing, as_written
from evermix.io.sources.errors import SourceError
from evermix.io.sources.lines import REMEDY, changed, digest_file
from evermix.io.sources.options import Kind
from evermix.io.sources.values import Columns, objects, stack_chunks


class Several:
    """Files of the same kind and with the same columns, read one after another as one source.

    Offsets, and the numbers of rows without an id, count through all files. Chunks are cut as if
    the rows were in one file. Tables have the columns of all their files; those that a file lacks
    are missing in its rows.

    Parameters
    ----------
    sources : sequence of FileSource
        One for each file, at least one.

    Attributes
    ----------
    rows_before : int
        Rows of files that were read before these, and are not opened again.
    """

    def __init__(self, sources: Sequence[FileSource]) -> None:
        for format in {type(source) for source in sources}:
            format.align([source for source in sources if type(source) is format])
        first = sources[0]
        for source in sources:
            _check_compatible(first, source)
        self.sources, self.rows_before = list(sources), 0
        self.kind: Kind = first.kind
        self.columns, self.header = first.columns, first.header
        if _has_columns(first):
            self.columns = _met(source.columns for source in sources)
            self.header = _met(source.header for source in sources)
        self.n_features = first.n_features if self.columns is None else len(self.columns)
        self.dated, self.beside = first.dated, first.beside
        self.units = {name: unit for some in sources for name, unit in some.units.items()}
        self.decimals = {name: mark for some in sources for name, mark in some.decimals.items()}
        self.complaints: list[str] = []
        self.rejected: list[Rejected] = []
        for source in sources:
            source.complaints = self.complaints  # the first few of all files
            source.rejected = self.rejected
        # First row of each file that was read from, and those that were read to their end.
        self._starts: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        self._done: dict[int, Mark] = {}

    @property
    def n_rows(self) -> int | None:
        """Number of rows, bad and blank ones included; None until all were read."""
        known = [source.n_rows for source in self.sources if source.n_rows is not None]
        return self.rows_before + sum(known) if len(known) == len(self.sources) else None

    @property
    def bad(self) -> int:
        """Number of bad rows skipped so far."""
        return sum(source.bad for source in self.sources)

    @property
    def written(self) -> dict[str, Writing]:
        """How numbers are written, by column, where people have written them."""
        return as_written(self.units, self.decimals, self.sources[-1].unsure)

    live = False

    @property
    def has_fields(self) -> bool:
        """Whether rows have named fields."""
        return all(source.has_fields for source in self.sources)

    @property
    def unfinished(self) -> bool:
        """Whether the last line was left out, since it may still be being written."""
        return self.sources[-1].unfinished

    def chunks(self, start: int, size: int, limit: int | None = None) -> Iterator[Chunk]:
        """Yield the rows from ``start`` on, see :meth:`FileSource.chunks`."""
        number, before = self._place(start)
        at, first, held, left = start - before, start, list[Chunk](), limit or math.inf
        while number < len(self.sources):
            source = self.sources[number]
            source.rows_before = self._starts[number] = before
            size = int(min(size, left))
            room = size - sum(len(chunk.ids) for chunk in held)
            for chunk in source.chunks(at, room):
                at = chunk.offset
                rows = before + chunk.rows
                whole = self._with_all_columns(chunk)
                held.append(whole._replace(first=first, offset=before + at, rows=rows))
                if len(chunk.ids) < room and at >= source.count_rows():
                    continue  # the next file fills it up
                whole = joined(held)
                first, left, held = before + at, left - len(whole.ids), []
                yield whole
                if not left:
                    return
                if room < size or left < size:
                    break
            else:
                self._sizes[number] = os.path.getsize(source.path)
                number, before, at = number + 1, before + source.count_rows(), 0
        if held:
            yield joined(held)

    def _with_all_columns(self, chunk: Chunk) -> Chunk:
        """Return a chunk with the columns that its file lacks, which are missing in its rows."""
        if not isinstance(chunk.X, Columns):
            return chunk
        gone = [name for name in self.columns or () if name not in chunk.X]
        if not gone:
            return chunk
        nothing = {name: objects([None] * len(chunk.ids)) for name in gone}
        X = Columns(chunk.X | nothing, chunk.X.written, chunk.X.categories)
        fields = chunk.fields and [row | dict.fromkeys(gone) for row in chunk.fields]
        return chunk._replace(X=X, fields=fields)

    def place(self, row: int) -> str:
        """Return the file and the line or row of the row with this index, for messages."""
        number, before = self._place(row)
        return self.sources[number].place(row - before)

    def marks(self, offset: int, read: Any) -> list[Mark]:
        """Return marks of the files that hold the first ``offset`` rows, for a checkpoint.

        ``read`` is what the chunk that ends there has said.
        """
        last = max(number for number, start in self._starts.items() if start < offset)
        for number in set(range(last)) - self._done.keys():
            path, rows = self.sources[number].path, self.sources[number].count_rows()
            size = self._sizes.get(number) or os.path.getsize(path)
            self._done[number] = Mark(path, size, rows, digest_file(path))
        at = offset - self._starts[last]
        return [*(self._done[number] for number in range(last)), self.sources[last].mark(at, read)]

    def recall(self, marks: Sequence[Mark]) -> None:
        """Check that the files of a checkpoint are unchanged, and use their numbers of rows.

        The last of them may have grown. SourceError: a file was changed, moved or removed.
        """
        for number, mark in enumerate(marks):
            source = self.sources[number] if number < len(self.sources) else None
            if source is None or source.path != mark.path:
                found = "nothing" if source is None else source.path
                raise SourceError(
                    f"rows of {mark.path} were read already, in its place there is now {found}. "
                    f"Files may only be added after the last one. {REMEDY}"
                )
            if mark is marks[-1]:
                source.recall(mark)
            else:
                self._recall_whole(number, mark)

    def _recall_whole(self, number: int, mark: Mark) -> None:
        """Check that a file that was read to its end is unchanged."""
        size = os.path.getsize(mark.path)
        if size != mark.size:
            raise SourceError(
                f"{mark.path}: its rows were read already, when it had {mark.size:,} bytes; "
                f"now it has {size:,}. {REMEDY}"
            )
        if mark.digest is not None:
            if digest_file(mark.path) != mark.digest:
                raise changed(mark.path)
            self._done[number] = mark
        self.sources[number].n_rows, self._sizes[number] = mark.rows, mark.size

    def _place(self, row: int) -> tuple[int, int]:
        """Return the number of the file that holds a row, and the rows of the files before it."""
        before = self.rows_before
        for number, source in enumerate(self.sources[:-1]):
            if source.has_row(row - before):
                return number, before
            before += source.count_rows()
        return len(self.sources) - 1, before


Source: TypeAlias = FileSource | Several
"""Rows that can be read in chunks, from any row on."""

AS_TABLES = (
    ' Read them as kind "table" (on the command line: --kind table) if they are tables: columns '
    "that a file lacks are missing in its rows then."
)
_TIMES = {None: "no times", True: "times that are dates", False: "times that are numbers"}


def _kind_of_times(source: FileSource) -> str:
    return "times that are labels" if source.labelled else _TIMES[source.dated]


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Return consecutive chunks (at least one) as one."""
    if len(chunks) == 1:
        return chunks[0]
    ids = [name for chunk in chunks for name in chunk.ids]
    rows = np.concatenate([chunk.rows for chunk in chunks])
    times = [chunk.times for chunk in chunks if chunk.times is not None]
    beside = any(chunk.texts is not None for chunk in chunks)
    texts = [text for c in chunks for text in (c.texts or [""] * len(c.ids))] if beside else None
    return Chunk(
        ids,
        stack_chunks([chunk.X for chunk in chunks]),
        chunks[0].first,
        chunks[-1].offset,
        rows,
        np.concatenate(times) if times else None,
        chunks[-1].read,
        texts,
        [where for chunk in chunks for where in chunk.offsets or []] or None,
        [each for chunk in chunks for each in chunk.fields or []] or None,
    )


def names_several(path: str) -> bool:
    """Whether a path is a folder or a pattern, rather than one file."""
    return os.path.isdir(path) or (_is_pattern(path) and not os.path.exists(path))


def files_named(paths: Iterable[str]) -> list[str]:
    """Return the files that paths name; those of a folder or a pattern sorted by name."""
    files: list[str] = []
    for path in paths:
        if path == "-" or is_address(path):
            shown = "standard input (-)" if path == "-" else path
            raise SourceError(f"{shown} cannot be one of several sources.")
        if os.path.isdir(path):
            files += _in_folder(path)
        elif names_several(path):
            matches = sorted(filter(os.path.isfile, glob.glob(path, recursive=True)))
            if not matches:
                raise SourceError(f"{path}: no file matches this pattern.")
            files += matches
        else:
            files.append(path)
    return files


def _is_pattern(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def _in_folder(folder: str) -> list[str]:
    """Return the files of a folder, except names that begin with . or _ (left by programs)."""
    names = [name for name in sorted(os.listdir(folder)) if not name.startswith((".", "_"))]
    files = [os.path.join(folder, name) for name in names]
    if not files:
        raise SourceError(f"{folder}: expected files in this folder, it holds none.")
    for path in filter(os.path.isdir, files):
        raise SourceError(
            f"{folder}: expected files in this folder, {os.path.basename(path)} is a folder too. "
            f"Use a pattern, such as '{os.path.join(folder, '**', '*.parquet')}'."
        )
    return files


def _check_compatible(first: FileSource, other: FileSource) -> None:
    """Raise SourceError unless two files have the same kind of rows, columns and times."""

    def refuse(expected: object, got: object, remedy: str = "") -> None:
        if expected != got:
            raise SourceError(
                f"{other.path}: expected {expected} as in {first.path}, got {got}. All files of a "
                f"source must hold rows of the same kind with the same columns.{remedy}"
            )

    refuse(first.kind, other.kind)
    refuse(_kind_of_times(first), _kind_of_times(other))
    if _has_columns(first) and _has_columns(other):
        return  # which are taken by name
    if first.columns is not None and other.columns is not None:
        refuse(f"the columns {first.columns}", f"the columns {other.columns}", AS_TABLES)
    refuse(f"{first.n_features} features", f"{other.n_features} features")


def _has_columns(source: FileSource) -> bool:
    """Whether rows are those of a table whose columns have names."""
    return source.kind == "table" and source.columns is not None


def _met(names: Iterable[Iterable[str] | None]) -> list[str]:
    """Return names in the order in which they are met."""
    return list(dict.fromkeys(name for some in names for name in some or ()))
