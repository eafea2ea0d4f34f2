"""Sources whose rows come as blocks of an array."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.io.sources.base import Checked, Chunk
from evermix.io.sources.times import Time
from evermix.io.sources.values import faulty_rows, kept_rows


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


class BlockSource(Checked, ABC):
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
