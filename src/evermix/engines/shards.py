"""Batches in one or several places, each with the engine's records of its batches.

Engines that read their data more than once describe the work on a batch as a :class:`Task`, which
runs where the batch is, and combine the answers. So the same engine runs on one machine and on
many.
"""

import mmap
import os
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from evermix._xp import Array, Floats, Ints, doubled, host, is_numpy, take_rows
from evermix.engines.batch import Batch, Batches, RowResults, weights_of
from evermix.model import Model
from evermix.state import Record

Answer = TypeVar("Answer")


class Task(ABC, Generic[Answer]):
    """Work on batches, one after another, in the place where they are.

    Tasks are sent to other machines, so they hold plain data.
    """

    writes: ClassVar[bool] = False
    """Whether the task changes the records of batches."""
    anew: ClassVar[bool] = False
    """Whether what the task writes is independent of earlier records."""

    def part(self, keys: Sequence[int]) -> "Task[Answer]":
        """Return the same task with the data for these batches only."""
        del keys
        return self

    @abstractmethod
    def of(self, shard: "Shard", key: int) -> Answer:
        """Run the task on one batch."""

    @abstractmethod
    def joined(self, answers: Iterable[Answer]) -> Answer:
        """Combine the answers of several batches, or of several places."""

    def over(self, shard: "Shard", keys: Iterable[int]) -> Answer:
        """Run the task on several batches of a shard."""
        return self.joined(self.of(shard, int(key)) for key in keys)


class Shards(Batches):
    """Batches in one or several places, and a way to run tasks there.

    Attributes
    ----------
    width : int
        Number of places that work in parallel.
    """

    width: int = 1

    @abstractmethod
    def do(self, task: Task[Answer], keys: Iterable[int]) -> Answer:
        """Run a task on these batches, at least one."""

    def bring_home(self, memo: dict[str, Record]) -> None:
        """Copy the records of batches in other places into a memo.   Consumes: memo."""
        del memo

    def release(self) -> None:
        """Free the memory of other places."""


class PendingResults(NamedTuple):
    """Results for the rows of a batch that were not collected yet; they may be on a device."""

    ids: Ints  # (K,) of the clusters at that time
    best: Array  # (N,) position of the most probable cluster
    probability: Array  # (N,)
    log_norm: Array  # (N,) log predictive density without the base measure


@dataclass
class Shard(Shards):
    """Batches in one place, and the records of them.

    Attributes
    ----------
    batches : sequence of Batch
    memo : dict of records
        By the keys of batches, as strings.
    pending : dict of PendingResults
        By the keys of batches.
    bases : dict of arrays (N,)
        Log base measure of rows, by the keys of batches.
    """

    batches: Sequence[Batch]
    memo: dict[str, Record] = field(default_factory=dict)
    pending: dict[int, PendingResults] = field(default_factory=dict)
    bases: dict[int, Array] = field(default_factory=dict)
    _files: dict[str, "Spill"] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, key: Any) -> Any:
        return self.batches[key]

    def weights_of(self, key: int) -> Array:
        """Return the weights (N,) of a batch."""
        return weights_of(self.batches, key)

    def do(self, task: Task[Answer], keys: Iterable[int]) -> Answer:
        """Run a task on these batches; if it fails, all records are restored."""
        if not task.writes:
            return task.over(self, keys)
        keys = list(keys)
        before = self.records(keys)
        try:
            return task.over(self, keys)
        except BaseException:
            self.put_back(before)
            raise

    def records(self, keys: Iterable[int]) -> dict[str, Record | None]:
        """Return the records of these batches, None where there is none; records are immutable."""
        return {str(key): self.memo.get(str(key)) for key in keys}

    def put_back(self, records: dict[str, Record | None]) -> None:
        """Restore records that :meth:`records` returned."""
        for key, record in records.items():
            if record is None:
                self.memo.pop(key, None)
            else:
                self.memo[key] = record

    def base(self, model: Model, batch: Batch) -> Array:
        """Return the log base measure (N,) of the rows of a batch, on their device."""
        if batch.key not in self.bases:
            base = model.family.log_base(batch.X)
            if is_numpy(base) and base.size and np.all(base == base[0]):
                base = np.broadcast_to(base[:1].copy(), base.shape)  # stored once
            self.bases[batch.key] = base
        return self.bases[batch.key]

    def keep(self, key: int, record: Record, folder: str | None = None) -> None:
        """Store the record of a batch, its large arrays in files if there is a folder."""
        if folder is not None:
            files = self._files.setdefault(folder, Spill(folder))
            record = record | {name: files.put(record[name]) for name in ("sums", "child_sums")}
        self.memo[str(key)] = record


class SingleBatch(Sequence[Batch]):
    """A sequence of one batch, found under its own key."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> Any:
        if key != self._batch.key:
            raise IndexError(key)
        return self._batch


def as_shards(batches: Sequence[Batch], memo: dict[str, Record]) -> Shards:
    """Return batches as shards; a plain sequence becomes one shard in this process."""
    return batches if isinstance(batches, Shards) else Shard(batches, memo)


def blocks(n: int, count: int) -> list[Ints]:
    """Return the numbers 0..n-1 in ``count`` runs of about the same length."""
    return np.array_split(np.arange(n), count)


@lru_cache(maxsize=16)
def interleaved(n: int, count: int) -> Ints:
    """Return 0..n-1 cut into ``count`` runs: the first of each run, then the second, and so on.

    So the batches of one step can be in different places. The array is read-only.
    """
    runs = blocks(n, max(min(count, n), 1))  # others would be empty
    place = np.concatenate([np.arange(len(run)) for run in runs])
    order = np.lexsort((np.arange(n), place))
    order.flags.writeable = False
    return order


@dataclass(frozen=True)
class CollectResults(Task[dict[int, RowResults]]):
    """Collect the pending results of rows, by batch."""

    def of(self, shard: Shard, key: int) -> dict[int, RowResults]:
        """Return those of one batch, if there are any."""
        if key not in shard.pending:
            return {}
        ids, best, probability, log_norm = shard.pending.pop(key)
        labels, density = ids[host(best)], host(log_norm + shard.bases[key])
        results = RowResults.empty(len(labels))
        found = {"probabilities": host(probability), "log_predictive": density}
        return {key: results._replace(labels=labels, **found)}

    def joined(self, answers: Iterable[dict[int, RowResults]]) -> dict[int, RowResults]:
        """Return all in one dict."""
        return {key: results for some in answers for key, results in some.items()}


@dataclass(frozen=True)
class TakeRows(Task[dict[int, Array]]):
    """Copy some rows of batches to the host, in double precision.

    ``rows`` holds the numbers of rows, by the keys of batches.
    """

    rows: dict[int, Ints]

    def part(self, keys: Sequence[int]) -> "TakeRows":
        """Return the same task for these batches."""
        return TakeRows({key: self.rows[key] for key in keys})

    def of(self, shard: Shard, key: int) -> dict[int, Array]:
        """Return rows (M, D) of one batch."""
        found = take_rows(shard[key].X, self.rows[key])
        return {key: found if sparse.issparse(found) else host(doubled(found))}

    def joined(self, answers: Iterable[dict[int, Array]]) -> dict[int, Array]:
        """Return all in one dict."""
        return {key: rows for some in answers for key, rows in some.items()}


# ---- arrays in files -----------------------------------------------------------------------

MIN_FILE, MAX_FILE = 2**24, 2**30  # bytes; each file is twice as large as the one before
ALIGNMENT = 64


class Spill:
    """Arrays in files instead of in memory.

    The files have no names: they vanish with their arrays, also if the program is killed. Many
    arrays share a file, since the number of open files is limited.

    Parameters
    ----------
    folder : path-like
        An existing folder for the files.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file: mmap.mmap | None = None
        self._used, self._size, self._process = 0, MIN_FILE // 2, 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Spill, (self._folder,)  # a copy opens files of its own

    def put(self, values: Floats) -> Floats:
        """Return a copy of an array in a file."""
        size = -(-values.nbytes // ALIGNMENT) * ALIGNMENT
        if not size:
            return values
        with self._lock:
            # A forked process must not write where its parent does.
            if self._process != os.getpid() or self._used + size > self._size:
                self._open(size)
            assert self._file is not None
            copy = np.ndarray(values.shape, values.dtype, self._file, self._used)
            self._used += size
        copy[...] = values
        return copy

    def _open(self, least: int) -> None:
        """Begin a new file; earlier files live as long as their arrays."""
        size = max(min(2 * self._size, MAX_FILE), least)
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                if sys.platform == "linux":  # a full disk is an error now, not a crash later
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                self._file = mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise OSError(
                error.errno,
                f"could not make room for {size / 2**20:.0f} MB in the folder {self._folder} "
                f"({error.strerror}). Give another folder as spill, or None to keep the sums of "
                "batches in memory",
            ) from error
        self._used, self._size, self._process = 0, size, os.getpid()
