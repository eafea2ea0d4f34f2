"""Where batches are: here, or in shards elsewhere, each with what is remembered of its batches.

Engines that come back to their data say what is to be done with a batch as a :class:`Task`, which
runs where the batch is, and join the answers. So the same engine runs on one machine and on many.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from evermix._xp import Array, host, is_numpy
from evermix.engines.batch import Batch, Batches, RowResults, weights_of
from evermix.engines.spill import Spill
from evermix.model import Model
from evermix.state import Record

Answer = TypeVar("Answer")


class Task(ABC, Generic[Answer]):
    """Something to be done with batches, one after another, where they are.

    Tasks travel, so they hold plain data.
    """

    writes: ClassVar[bool] = False
    """Whether it changes what is remembered of a batch."""
    anew: ClassVar[bool] = False
    """Whether what it writes does not depend on what was remembered before."""

    def part(self, keys: Sequence[int]) -> "Task[Answer]":
        """Return the same task with no more than these batches need."""
        del keys
        return self

    @abstractmethod
    def of(self, shard: "Shard", key: int) -> Answer:
        """Do it with one batch."""

    @abstractmethod
    def joined(self, answers: Iterable[Answer]) -> Answer:
        """Join the answers of several batches, or of several places."""

    def over(self, shard: "Shard", keys: Iterable[int]) -> Answer:
        """Do it with several batches of a shard."""
        return self.joined(self.of(shard, int(key)) for key in keys)


class Shards(Batches):
    """Batches, wherever they are, and what can be done with them there.

    Attributes
    ----------
    width : int
        Places that work at the same time.
    """

    width: int = 1

    @abstractmethod
    def do(self, task: Task[Answer], keys: Iterable[int]) -> Answer:
        """Do something with these batches, at least one."""

    def bring_home(self, memo: dict[str, Record]) -> None:
        """Put what is remembered of batches elsewhere into a memo.   Consumes: memo."""
        del memo

    def release(self) -> None:
        """Let other places forget everything."""


class Said(NamedTuple):
    """What was said of the rows of a batch when it was last visited."""

    ids: Array  # (K,) of the clusters there were
    owner: Array  # (N,) position of the cluster with the largest share
    share: Array  # (N,) that share
    log_norm: Array  # (N,) log predictive density, the base measure left out


@dataclass
class Shard(Shards):
    """Batches in one place, and what is remembered of them there.

    Attributes
    ----------
    batches : sequence of Batch
    memo : dict of records
        By the keys of batches, as strings.
    said : dict
        What was said of the rows of batches, by their keys, and not told yet. It may be on a
        device.
    bases : dict of arrays (N,)
        Log base measure of the rows of batches, once it was asked for.
    """

    batches: Sequence[Batch]
    memo: dict[str, Record] = field(default_factory=dict)
    said: dict[int, Said] = field(default_factory=dict)
    bases: dict[int, Array] = field(default_factory=dict)
    _files: dict[str, Spill] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, key: Any) -> Any:
        return self.batches[key]

    def weights_of(self, key: int) -> Array:
        """Return the weights (N,) of a batch."""
        return weights_of(self.batches, key)

    def do(self, task: Task[Answer], keys: Iterable[int]) -> Answer:
        """Do something with these batches; if it fails, it is as if it had not been tried."""
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
        """Return what is remembered of these batches, or None; records are never changed."""
        return {str(key): self.memo.get(str(key)) for key in keys}

    def put_back(self, records: dict[str, Record | None]) -> None:
        """Remember these records, and nothing of batches that have none."""
        for key, record in records.items():
            if record is None:
                self.memo.pop(key, None)
            else:
                self.memo[key] = record

    def base(self, model: Model, batch: Batch) -> Array:
        """Return the log base measure (N,) of the rows of a batch, where they are."""
        if batch.key not in self.bases:
            base = model.family.log_base(batch.X)
            if is_numpy(base) and base.size and np.all(base == base[0]):
                base = np.broadcast_to(base[:1].copy(), base.shape)  # one number for all
            self.bases[batch.key] = base
        return self.bases[batch.key]

    def keep(self, key: int, record: Record, folder: str | None = None) -> None:
        """Remember this of a batch, what is large of it in files if there is a folder."""
        if folder is not None:
            files = self._files.setdefault(folder, Spill(folder))
            record = record | {name: files.put(record[name]) for name in ("sums", "child_sums")}
        self.memo[str(key)] = record


class Only(Sequence[Batch]):
    """One batch, by its own key."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> Any:
        if key != self._batch.key:
            raise IndexError(key)
        return self._batch


def placed(batches: Sequence[Batch], memo: dict[str, Record]) -> Shards:
    """Return batches as shards; those that are none yet are here."""
    return batches if isinstance(batches, Shards) else Shard(batches, memo)


def blocks(n: int, count: int) -> list[Array]:
    """Return the numbers 0..n-1 in so many runs of about the same length."""
    return np.array_split(np.arange(n), count)


@lru_cache(maxsize=16)
def interleaved(n: int, count: int) -> Array:
    """Return the numbers 0..n-1, one of each of so many runs, then the next of each, and so on.

    So batches that are visited together can be in different places. The array is only to be read.
    """
    runs = blocks(n, max(min(count, n), 1))  # others would be empty
    place = np.concatenate([np.arange(len(run)) for run in runs])
    order = np.lexsort((np.arange(n), place))
    order.flags.writeable = False
    return order


@dataclass(frozen=True)
class Tell(Task[dict[int, RowResults]]):
    """Tell what was said of rows since this was last asked, by batch."""

    def of(self, shard: Shard, key: int) -> dict[int, RowResults]:
        """Return it for one batch, if it was visited."""
        if key not in shard.said:
            return {}
        ids, owner, share, log_norm = shard.said.pop(key)
        labels, density = ids[host(owner)], host(log_norm + shard.bases[key])
        return {key: RowResults(labels, host(share), density, np.zeros(len(labels), dtype=bool))}

    def joined(self, answers: Iterable[dict[int, RowResults]]) -> dict[int, RowResults]:
        """Return all in one."""
        return {key: results for some in answers for key, results in some.items()}
