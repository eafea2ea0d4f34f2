"""Rows of files that the workers of a cluster read, and rows that are sent to them.

Sources are pickled and sent to the workers, so all machines must see the files at the same paths.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.distributed.client import current_client, result_of, workers_of
from evermix.distributed.collections import Partition, joined
from evermix.engines.shards import blocks
from evermix.io.sources.bad_rows import of_bad_row
from evermix.io.sources.base import FileSource
from evermix.io.sources.blocks import BlockSource
from evermix.io.sources.chunk import Chunk
from evermix.io.sources.errors import SourceError
from evermix.io.sources.several import Several, Source

ROWS = 4096  # rows that a worker reads at a time
PIECE_BYTES = 2**26  # about the size of a piece
SENT_BYTES = 2**24  # about the size of rows that are sent together
TEXT_BYTES = 1000  # about the size of a text
COMPLAINTS = 5  # that are kept


class Piece(NamedTuple):
    """A run of rows of a file.

    Attributes
    ----------
    source : FileSource
    start, stop : int
        The first row, and the first one after the last; ``stop`` is None for the end of the file.
    size : int
        Rows to read at a time; pieces of one file begin at multiples of it.
    """

    source: FileSource
    start: int = 0
    stop: int | None = None
    size: int = ROWS

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in order."""
        if not os.path.exists(self.source.path):
            raise SourceError(
                f"{self.source.path}: a worker of the cluster sees no such file. All machines of "
                "a cluster must see the files under the same paths."
            )
        try:
            for chunk in self.source.chunks(self.start, self.size):
                if self.stop is not None and chunk.offset > self.stop:
                    return
                yield chunk
        except SourceError as error:
            raise of_bad_row(error) from error


class _Size(NamedTuple):
    """The rows of a piece that can be learnt, all its rows, and what was wrong with bad ones."""

    n: int
    offset: int
    complaints: Sequence[str] = ()


def pieces_of(source: Source) -> list[Piece]:
    """Return a source in pieces that workers can read; none if its rows are better sent."""
    if isinstance(source, Several):
        return [Piece(some) for some in source.sources]
    if not source.splittable:
        return []
    width = TEXT_BYTES if source.n_features is None else 8 * source.n_features
    n_rows = source.count_rows()
    most = -(-n_rows // len(workers_of(current_client())))
    rows = -(-min(most, PIECE_BYTES // width + 1) // ROWS) * ROWS
    ends = [*range(0, n_rows, rows), n_rows]
    return [Piece(source, start, stop, ROWS) for start, stop in pairwise(ends)]


class Files:
    """Rows of files that the workers read.

    Parameters
    ----------
    pieces : sequence of Piece
        At least one.

    Attributes
    ----------
    n : int
        Number of rows that can be learnt.
    offset : int
        Number of all rows, bad and blank ones included.
    complaints : list of str
        What was wrong with the first few bad rows.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._client, self._pieces = current_client(), pieces
        self._sizes = self._count()
        self.n = sum(size.n for size in self._sizes)
        self.offset = sum(size.offset for size in self._sizes)
        complaints = [complaint for size in self._sizes for complaint in size.complaints]
        self.complaints = complaints[:COMPLAINTS]

    def rows(self, form: Callable[[Any], Array]) -> list[Partition]:
        """Return the rows as a collection; ``form`` turns the X of a chunk into rows of numbers."""
        from dask.delayed import delayed

        read, shared = delayed(_read, traverse=False), delayed(form, traverse=False)
        pairs = zip(self._pieces, self._sizes, strict=True)
        return [Partition(read(piece, shared), size.n) for piece, size in pairs]

    def ids(self) -> Iterator[Any]:
        """Yield the ids of the rows."""
        before, numbered = 0, []
        for piece, size in zip(self._pieces, self._sizes, strict=True):
            numbered.append((piece, before))
            if piece.stop is None:
                before += size.offset
        for future in self._client.map(_ids, *zip(*numbered, strict=True), pure=False):
            yield from result_of(self._client, future)

    def _count(self) -> list[_Size]:
        """Return the size of each piece; workers read those of unknown size."""
        unknown = [piece for piece in self._pieces if not _has_known_size(piece)]
        futures = self._client.map(_count, unknown, pure=False)
        found = iter([result_of(self._client, future) for future in futures])
        return [
            _known_size(piece) if _has_known_size(piece) else next(found) for piece in self._pieces
        ]


def sent(X: Array) -> list[Partition]:
    """Return rows in memory as a collection, which sends them to the workers."""
    from dask.delayed import delayed

    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
    count = max(len(workers_of(current_client())), -(-size // SENT_BYTES))
    runs = [run for run in blocks(X.shape[0], min(count, X.shape[0])) if len(run)]
    parts = [X[int(run[0]) : int(run[-1]) + 1] for run in runs]
    return [Partition(delayed(part, traverse=False), part.shape[0]) for part in parts]


def _has_known_size(piece: Piece) -> bool:
    """Whether the number of rows that can be learnt is known without reading them."""
    return isinstance(piece.source, BlockSource) and not piece.source.options.skip_bad


def _known_size(piece: Piece) -> _Size:
    n = piece.source.count_rows() - piece.start if piece.stop is None else piece.stop - piece.start
    return _Size(n, n)


def _count(piece: Piece) -> _Size:
    n = sum(len(chunk.ids) for chunk in piece.chunks())
    end = piece.source.count_rows() if piece.stop is None else piece.stop
    return _Size(n, end - piece.start, tuple(piece.source.complaints))


def _read(piece: Piece, form: Callable[[Any], Array]) -> Array:
    return joined([form(chunk.X) for chunk in piece.chunks()])


def _ids(piece: Piece, before: int) -> list[Any]:
    piece.source.rows_before = before
    return [name for chunk in piece.chunks() for name in chunk.ids]
