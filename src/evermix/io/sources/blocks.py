"""The base of formats whose rows are slices of an array."""

import math
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evermix.io.sources.base import FileSource
from evermix.io.sources.chunk import Chunk, Mark, Rejected
from evermix.io.sources.errors import SourceError
from evermix.io.sources.lines import changed, digest_file
from evermix.io.sources.values import Time, find_bad_rows, some_rows


class Block(NamedTuple):
    """Consecutive rows of a file.

    Attributes
    ----------
    first : int
        Index of the first row.
    X : list of str, sparse matrix (n, D) or array (n, D)
    ids : list of length n, optional
        The numbers of the rows if None.
    problems : mapping of int to str
        Position in the block, and what is wrong, of rows that could not be put into X.
    times : list of length n, optional
        As in a chunk; anything where there is a problem.
    fields : list of length n, optional
        As in a chunk.
    """

    first: int
    X: Any
    ids: list[Any] | None = None
    problems: Mapping[int, str] = {}
    times: list[Time] | None = None
    fields: list[dict[str, Any]] | None = None


class BlockSource(FileSource):
    """A format whose rows are slices of an array: write :meth:`survey` and :meth:`blocks`.

    Values are checked here, and converted to float64.
    """

    n_rows: int
    _digest: str | None = None

    @abstractmethod
    def blocks(self, start: int, size: int) -> Iterator[Block]:
        """Yield the rows from ``start`` on in blocks of 1 to ``size`` rows, values unchecked."""

    def set_shape(self, n_rows: int, n_features: int) -> None:
        """Set the numbers of rows and features of the file, which must not be 0."""
        self.n_rows = n_rows
        if n_rows == 0:
            raise self.no_rows("expected at least one row, the file has none.")
        self.set_features(n_features)

    def count_rows(self) -> int:
        """Return the number of rows, bad and blank ones included."""
        return self.n_rows

    def has_row(self, row: int) -> bool:
        """Whether there is a row of this index."""
        return row < self.n_rows

    def mark(self, offset: int, read: Any) -> Mark:
        """Return what a checkpoint notes of this file: a digest of all of it."""
        del offset, read
        self._digest = self._digest or digest_file(self.path)
        return Mark(self.path, os.path.getsize(self.path), None, self._digest)

    def recall(self, mark: Mark) -> None:
        """Check that the file is what it was when it was marked."""
        if mark.digest is not None and digest_file(self.path) != mark.digest:
            raise changed(self.path)

    def chunks(self, start: int, size: int, limit: int | None = None) -> Iterator[Chunk]:
        """Yield the rows from ``start`` on, see :meth:`FileSource.chunks`."""
        first, left = start, limit or math.inf
        while left:
            size = int(min(size, left))
            for block in self.blocks(first, size):
                chunk = self._chunk(block, first)
                if chunk is not None:
                    first, left = chunk.offset, left - len(chunk.ids)
                    yield chunk
                    if left < size:
                        break  # fewer rows are wanted from here on
            else:
                return

    def _chunk(self, block: Block, first: int) -> Chunk | None:
        """Return the good rows of a block, which follow on row ``first``; None if it has none."""
        X = self._converted(block.X)
        n = len(X) if isinstance(X, list) else X.shape[0]
        begin = self.rows_before + block.first
        ids = list(range(begin, begin + n)) if block.ids is None else block.ids
        good = self._good_rows(X, block)
        if not len(good):
            return None
        if len(good) < n:
            ids, X = [ids[i] for i in good], some_rows(X, good)
        times = None if block.times is None else np.array([block.times[i] for i in good])
        fields = None if block.fields is None else [block.fields[i] for i in good]
        rows = block.first + good
        return Chunk(ids, X, first, block.first + n, rows, times, fields=fields)

    def place(self, row: int) -> str:
        """Return the file and the row of the row with this index, for messages."""
        return f"{self.path}: row {row}"

    def _converted(self, X: Any) -> Any:
        """Return the X of a block as that of a chunk."""
        if self.kind in ("text", "table"):
            return X
        if sparse.issparse(X):
            sparse_rows: Any = X
            matrix = sparse.csr_matrix(sparse_rows.astype(np.float64))
            return matrix if self.kind == "counts" else matrix.toarray()
        X = np.asarray(X, dtype=np.float64)
        return sparse.csr_matrix(X) if self.kind == "counts" else X

    def _good_rows(self, X: Any, block: Block) -> NDArray[np.int64]:
        """Return the positions of the good rows of a block, and reject the others."""
        problems = {**find_bad_rows(X, self.kind), **block.problems}
        for row in sorted(problems):
            place = self.place(block.first + row)
            bad = Rejected(block.first + row, place, problems[row], None)
            self.reject(SourceError(f"{place}: {problems[row]}"), bad=bad)
        good = np.ones(len(X) if isinstance(X, list) else X.shape[0], dtype=np.bool_)
        good[list(problems)] = False
        return np.flatnonzero(good)
