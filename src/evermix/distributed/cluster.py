"""Batches on a cluster: holders, what is asked of them, and what happens if one is lost."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from evermix._xp import Array
from evermix.distributed.collections import Partition, stacked
from evermix.distributed.holder import Answer, Holder, Load
from evermix.engines.base import Batch
from evermix.engines.moves.sample import TakeRows
from evermix.engines.shards import Shard, Shards, Task, blocks
from evermix.state import Record

__all__ = ["ClusterShards", "Remembered", "Spent", "lengths_of", "telling_of_memory"]

Value = TypeVar("Value")

ADVICE = (
    "If its log tells of memory: give workers more of it (memory_limit), use more workers, smaller "
    "partitions, or larger batches (batch_size), of which less is remembered; MemoizedVB can put "
    "that into files (spill)."
)
LOSSES = 3  # of the same holder in a row, after which it is no accident
PATIENCE = 60  # seconds to wait for a worker


@dataclass
class Spent:
    """Seconds spent on tasks.

    Attributes
    ----------
    wall : float
        From questions to answers.
    compute : float
        Of this, the work of the busiest holder.
    mean : float
        The work of a holder, on average.
    calls : int
    """

    wall: float = 0.0
    compute: float = 0.0
    mean: float = 0.0
    calls: int = 0


@dataclass
class _Held:
    """A holder and what it takes to make it again."""

    load: Load
    parts: list[Any]  # partitions, which Dask knows how to compute
    worker: str = ""
    future: Any = None  # keeps the actor alive
    actor: Any = None
    losses: int = 0


@dataclass
class _Question:
    """A task on its way to a holder."""

    held: _Held
    number: int
    task: Task[Any]
    keys: list[int]
    reply: Any = None

    def ask(self) -> None:
        """Send it, once more if need be."""
        self.reply = self.held.actor.do(self.number, self.task, self.keys)


class _Done(NamedTuple):
    """A task that was done, and the batches that still remember what it wrote."""

    task: Task[Any]
    keys: set[int]


@dataclass(frozen=True)
class Remembered(Task[dict[str, Record]]):
    """Bring home what is remembered of batches."""

    def of(self, shard: Shard, key: int) -> dict[str, Record]:
        """Return the record of a batch, if there is one."""
        return {str(key): shard.memo[str(key)]} if str(key) in shard.memo else {}

    def joined(self, answers: Iterable[dict[str, Record]]) -> dict[str, Record]:
        """Return all records."""
        return {key: record for some in answers for key, record in some.items()}


def lengths_of(client: Any, parts: Sequence[Partition]) -> list[int]:
    """Return the number of rows of each partition; those that do not say it are computed."""
    unknown = client.compute([part.rows for part in parts if part.length is None])
    with telling_of_memory():
        counted = iter(client.gather(client.map(_length, unknown)))
    return [next(counted) if part.length is None else part.length for part in parts]


@contextmanager
def telling_of_memory() -> Iterator[None]:
    """Say what to do if a partition is more than a worker can hold."""
    from distributed import KilledWorker

    try:
        yield
    except (MemoryError, KilledWorker) as error:
        raise MemoryError(f"a worker could not compute a partition: {error}. {ADVICE}") from error


def _length(part: Any) -> int:
    return int(stacked(part).shape[0])


class ClusterShards(Shards):
    """Batches on the workers of a cluster.

    Every worker holds one run of batches. What it takes to do again what a batch remembers is kept
    here: the tasks that wrote it. That is as much as beliefs about the clusters for every step of a
    lap, whatever the number of workers.

    Parameters
    ----------
    client : distributed.Client
    parts : sequence of Partition
    lengths : sequence of int
        Rows of each partition.
    weights : array (N,)
    size : int
        Rows in a batch.
    prepare : callable
        Called as ``prepare(rows)``; returns rows as the family wants them, or raises.
    records : dict of records
        What is remembered of batches already.

    Attributes
    ----------
    spent : Spent
        Where the time went.
    """

    def __init__(
        self,
        client: Any,
        parts: Sequence[Partition],
        lengths: Sequence[int],
        weights: Array,
        size: int,
        prepare: Callable[[Any], Array],
        records: dict[str, Record],
    ) -> None:
        self._client, self._weights, self.size = client, weights, max(size, 1)
        self._known, self._log, self._number = dict(records), list[_Done](), 0
        self.spent = Spent()
        workers = _workers(client)
        runs = [run for run in blocks(len(self), min(len(workers), len(self))) if len(run)]
        self.width = len(runs)
        ends = np.cumsum([0, *lengths])
        self._held = [_Held(*self._share(run, parts, ends, prepare)) for run in runs]
        for held, worker in zip(self._held, workers, strict=False):
            self._send(held, worker)
        for held in self._held:
            self._arrive(held)

    def __len__(self) -> int:
        return -(-len(self._weights) // self.size)

    def __getitem__(self, key: Any) -> Any:
        """Return a batch, its rows brought here."""
        if not 0 <= key < len(self):
            raise IndexError(key)
        weights = self.weights_of(key)
        rows = self.do(TakeRows({key: np.arange(len(weights))}), [key])
        return Batch(rows[key], weights, key)

    def weights_of(self, key: int) -> Array:
        """Return the weights (N,) of a batch."""
        return self._weights[key * self.size : (key + 1) * self.size]

    def rows(self, numbers: Array) -> dict[int, Array]:
        """Return the rows with these ascending numbers (M,), by batch."""
        keys, starts = np.unique(numbers // self.size, return_index=True)
        each = np.split(numbers, starts[1:])
        wanted = {int(k): some - k * self.size for k, some in zip(keys, each, strict=True)}
        return self.do(TakeRows(wanted), wanted) if wanted else {}

    def do(self, task: Task[Value], keys: Iterable[int]) -> Value:
        """Do something with these batches, where they are."""
        began, wanted = time.perf_counter(), [int(key) for key in keys]
        number, asked = self._next(), []
        for held in self._held:
            mine = [key for key in wanted if key in held.load.keys]
            if mine:
                asked.append(_Question(held, number, task.part(mine), mine))
                asked[-1].ask()
        answers = [self._answer(question) for question in asked]
        if task.writes:
            self._note(task, set(wanted))
        value = task.joined(answer.value for answer in answers)
        seconds = [answer.seconds for answer in answers]
        self.spent.wall += time.perf_counter() - began
        self.spent.compute += max(seconds)
        self.spent.mean += sum(seconds) / len(self._held)
        self.spent.calls += 1
        return value

    def bring_home(self, memo: dict[str, Record]) -> None:
        """Put what is remembered of batches into a memo.   Consumes: memo."""
        records = self.do(Remembered(), range(len(self)))
        memo |= records

    def release(self) -> None:
        """Let the workers forget everything."""
        for held in self._held:
            held.actor = held.future = None

    # ---- holders ---------------------------------------------------------------------------

    def _share(
        self, run: Array, parts: Sequence[Partition], ends: Array, prepare: Callable[[Any], Array]
    ) -> tuple[Load, list[Any]]:
        """Return what a holder of a run of batches shall hold, and the partitions it is in."""
        keys = range(int(run[0]), int(run[-1]) + 1)
        first, last = keys.start * self.size, min(keys.stop * self.size, len(self._weights))
        cuts, mine = [], []
        for part, start, end in zip(parts, ends, ends[1:], strict=False):
            a, b = max(first - start, 0), min(last, end) - start
            if a < b:
                cuts.append(slice(int(a), int(b)))
                mine.append(part.rows)
        return Load(keys, self.size, self._weights[first:last], cuts, prepare), mine

    def _send(self, held: _Held, worker: str) -> None:
        """Let a worker make a holder."""
        mine = map(str, held.load.keys)
        records = {key: self._known[key] for key in mine if key in self._known}
        parts = self._client.compute(held.parts, workers=[worker], allow_other_workers=True)
        held.worker, held.actor = worker, None
        held.future = self._client.submit(
            Holder,
            parts,
            held.load,
            records,
            actor=True,
            pure=False,
            workers=[worker],
            allow_other_workers=True,
        )

    def _arrive(self, held: _Held) -> None:
        """Wait until a holder is there, and knows what the one before it knew."""
        while held.actor is None:
            try:
                actor = held.future.result()
                for done in self._log:
                    mine = sorted(done.keys.intersection(held.load.keys))
                    if mine:
                        actor.do(self._next(), done.task.part(mine), mine).result()
                held.actor = actor
            except BaseException as error:
                self._lose(held, error)

    def _answer(self, question: "_Question") -> Answer:
        """Wait for an answer; if its holder is lost, ask the one that takes its place."""
        while True:
            try:
                answer: Answer = question.reply.result()
            except BaseException as error:
                self._lose(question.held, error)
                self._arrive(question.held)
                question.ask()
            else:
                question.held.losses = 0
                return answer

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _lose(self, held: _Held, error: BaseException) -> None:
        """Send a holder to another worker if its own is gone; raise all other errors."""
        held.losses += 1
        if isinstance(error, MemoryError) or (_is_loss(error) and held.losses > LOSSES):
            load = held.load
            raise MemoryError(
                f"the worker {held.worker} was lost {held.losses} times, or had no memory left, "
                f"with {len(load.weights):,} rows in {len(load.keys):,} batches to hold. {ADVICE}"
            ) from error
        if not _is_loss(error):
            raise error
        workers = _workers(self._client)
        busy = [other.worker for other in self._held if other is not held]
        self._send(held, min(workers, key=busy.count))

    def _note(self, task: Task[Any], keys: set[int]) -> None:
        """Keep a task until what it wrote has been written anew."""
        if task.anew:
            for key in keys:
                self._known.pop(str(key), None)
            for done in self._log:
                done.keys.difference_update(keys)
            self._log = [done for done in self._log if done.keys]
        self._log.append(_Done(task, keys))


def _workers(client: Any) -> list[str]:
    """Return the addresses of the workers, at least one."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise RuntimeError(
            f"the cluster at {client.scheduler.address} has had no worker for {PATIENCE} seconds. "
            "Start some: dask worker tcp://..."
        ) from None
    return sorted(client.nthreads())


def _is_loss(error: BaseException) -> bool:
    """Whether an error says that a worker is gone."""
    from distributed.comm.core import CommClosedError

    from distributed import KilledWorker

    if isinstance(error, KilledWorker | CommClosedError):
        return True
    told = str(error)
    return (isinstance(error, OSError) and "Actor" in told) or (
        isinstance(error, RuntimeError) and "holding Actor was lost" in told
    )
