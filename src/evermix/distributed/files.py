"""Rows of files that the workers of a cluster read, and rows that are sent to them.

Sources travel to the workers, which read the files of the same paths: all machines must see them.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.distributed.client import current_client
from evermix.distributed.collections import Partition, joined
from evermix.distributed.workers import result_of, workers_of
from evermix.engines.shards import blocks
from evermix.io.sources.arrays import DenseArray
from evermix.io.sources.base import Chunk, FileSource, SourceError
from evermix.io.sources.formats import BlockSource
from evermix.io.sources.parquet import Parquet
from evermix.io.sources.several import Several, Source

ROWS = 4096  # that a worker reads at a time
ROOM = 2**26  # bytes of a piece, about
SENT = 2**24  # bytes of rows that are sent together, about
WIDTH = 1000  # bytes of a text, about
TOLD = 5  # complaints


class Piece(NamedTuple):
    """Some rows of a file.

    Attributes
    ----------
    source : FileSource
    start, stop : int
        The first row, and the first that is not its own; ``stop`` is None for the end of the file.
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
            raise SourceError(f"{error} Mend it, or leave out bad rows (--skip-bad).") from error


class _Counted(NamedTuple):
    """What is known of a piece: rows that can be learnt, all of its rows, and complaints."""

    n: int
    offset: int
    complaints: Sequence[str] = ()


def pieces_of(source: Source) -> list[Piece]:
    """Return a source in pieces that workers can read; none if it is better sent."""
    if isinstance(source, Several):
        return [Piece(some) for some in source.sources]
    if not isinstance(source, DenseArray | Parquet):
        return []
    width = WIDTH if source.n_features is None else 8 * source.n_features
    most = -(-source.n_rows // len(workers_of(current_client())))
    rows = -(-min(most, ROOM // width + 1) // ROWS) * ROWS
    ends = [*range(0, source.n_rows, rows), source.n_rows]
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
        self._counted = self._count()
        self.n = sum(counted.n for counted in self._counted)
        self.offset = sum(counted.offset for counted in self._counted)
        self.complaints = [told for counted in self._counted for told in counted.complaints][:TOLD]

    def rows(self, form: Callable[[Any], Array]) -> list[Partition]:
        """Return the rows as a collection; ``form`` makes rows of numbers of the X of a chunk."""
        from dask.delayed import delayed

        read, shared = delayed(_read, traverse=False), delayed(form, traverse=False)
        pairs = zip(self._pieces, self._counted, strict=True)
        return [Partition(read(piece, shared), counted.n) for piece, counted in pairs]

    def ids(self) -> Iterator[Any]:
        """Yield the ids of the rows."""
        before, numbered = 0, []
        for piece, counted in zip(self._pieces, self._counted, strict=True):
            numbered.append((piece, before))
            if piece.stop is None:
                before += counted.offset
        for future in self._client.map(_ids, *zip(*numbered, strict=True), pure=False):
            yield from result_of(self._client, future)

    def _count(self) -> list[_Counted]:
        """Return what is known of each piece; workers read those that do not say it."""
        unknown = [piece for piece in self._pieces if not _says(piece)]
        futures = self._client.map(_count, unknown, pure=False)
        found = iter([result_of(self._client, future) for future in futures])
        return [_said(piece) if _says(piece) else next(found) for piece in self._pieces]


def sent(X: Array) -> list[Partition]:
    """Return rows that are here as a collection, which sends them to the workers."""
    from dask.delayed import delayed

    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
    count = max(len(workers_of(current_client())), -(-size // SENT))
    runs = [run for run in blocks(X.shape[0], min(count, X.shape[0])) if len(run)]
    parts = [X[int(run[0]) : int(run[-1]) + 1] for run in runs]
    return [Partition(delayed(part, traverse=False), part.shape[0]) for part in parts]


def _says(piece: Piece) -> bool:
    """Whether the number of rows that can be learnt is known without reading them."""
    return isinstance(piece.source, BlockSource) and not piece.source.options.skip_bad


def _said(piece: Piece) -> _Counted:
    n = piece.source.count_rows() - piece.start if piece.stop is None else piece.stop - piece.start
    return _Counted(n, n)


def _count(piece: Piece) -> _Counted:
    n = sum(len(chunk.ids) for chunk in piece.chunks())
    end = piece.source.count_rows() if piece.stop is None else piece.stop
    return _Counted(n, end - piece.start, tuple(piece.source.complaints))


def _read(piece: Piece, form: Callable[[Any], Array]) -> Array:
    return joined([form(chunk.X) for chunk in piece.chunks()])


def _ids(piece: Piece, before: int) -> list[Any]:
    piece.source.rows_before = before
    return [name for chunk in piece.chunks() for name in chunk.ids]
