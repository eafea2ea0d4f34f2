"""What runs on a worker: an actor with a run of batches, and what is remembered of them."""

import ctypes
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from evermix._xp import Array
from evermix.distributed.client import reply_of
from evermix.distributed.collections import joined, stacked
from evermix.engines.batch import Batch, Batches
from evermix.engines.shards import Shard, Task
from evermix.state import Record

# Parameters of mallopt, and the largest threshold in bytes that it accepts.
TRIM_THRESHOLD, MMAP_THRESHOLD, MMAP_BYTES = -1, -3, 2**25


class Assignment(NamedTuple):
    """The batches that an actor keeps.

    Attributes
    ----------
    keys : range
        Keys of the batches.
    size : int
        Rows in a batch (the last of all may have fewer).
    weights : array (N,)
        Weights of all its rows.
    cuts : list of slices
        The rows that it keeps of each partition.
    lengths : list of int
        The number of rows of each partition.
    prepare : callable
        Called as ``prepare(rows)``; returns rows prepared for the family, or raises.
    """

    keys: range
    size: int
    weights: NDArray[np.float64]
    cuts: list[slice]
    lengths: list[int]
    prepare: Callable[[Any], Array]


class Answer(NamedTuple):
    """The result of a task, and the seconds that it took on each worker."""

    value: Any
    seconds: list[float]


class Node(NamedTuple):
    """An actor in a tree of actors: the keys of its batches to work on, and the actors below it."""

    actor: Any
    address: str  # of its worker
    keys: list[int]
    below: "Sequence[Node]" = ()

    def all_keys(self) -> list[int]:
        """Return the keys of this actor and of all below."""
        return self.keys + [key for node in self.below for key in node.all_keys()]

    def all_addresses(self) -> list[str]:
        """Return the addresses of the workers of this actor and of all below."""
        return [self.address, *(address for node in self.below for address in node.all_addresses())]


class _LocalBatches(Batches):
    """Batches of rows in the memory of this worker, by their keys."""

    def __init__(self, X: Array, assignment: Assignment) -> None:
        self._X, self._assignment = X, assignment

    def __len__(self) -> int:
        return len(self._assignment.keys)

    def __getitem__(self, key: Any) -> Any:
        rows = self._rows(key)
        return Batch(self._X[rows], self._assignment.weights[rows], key)

    def weights_of(self, key: int) -> NDArray[np.float64]:
        """Return the weights (N,) of a batch."""
        return self._assignment.weights[self._rows(key)]

    def _rows(self, key: int) -> slice:
        start = self._assignment.keys.index(key) * self._assignment.size
        return slice(start, start + self._assignment.size)


class ShardActor:
    """A Dask actor that keeps batches.

    Parameters
    ----------
    parts : sequence of partitions
        Partitions that its rows are in.
    assignment : Assignment
    records : dict of records
        What is remembered of its batches already.
    """

    def __init__(
        self, parts: Sequence[Any], assignment: Assignment, records: dict[str, Record]
    ) -> None:
        _keep_memory()
        # A copy: arrays from the network are not aligned, and arithmetic would copy them.
        rows, first = [], assignment.keys.start * assignment.size
        for part, cut, length in zip(parts, assignment.cuts, assignment.lengths, strict=True):
            try:
                rows.append(assignment.prepare(_cut(part, cut, length)))
            except ValueError as error:
                raise ValueError(f"in rows from {first} on: {error}") from error
            first += cut.stop - cut.start
        weights = np.require(assignment.weights, requirements=["A", "W"])
        batches = _LocalBatches(joined(rows), assignment._replace(weights=weights))
        self._shard = Shard(batches, {key: dict(record) for key, record in records.items()})
        self._last: tuple[int, Answer | None] = 0, None
        self._before: tuple[int, dict[str, Record | None]] = 0, {}

    def do(self, number: int, node: Node, task: Task[Any]) -> Answer:
        """Do a task with batches here and on the actors below, and combine the answers.

        The same number twice gets the same answer: a request may come again when its answer was
        lost.
        """
        replies = []
        for below in node.below:
            reply = below.actor.do(number, below, task.part(below.all_keys()))
            replies.append((reply, below.all_addresses()))
        mine = self._do_here(number, task.part(node.keys), node.keys)
        if not replies:
            return mine
        from distributed import get_client

        client = get_client()
        return combined(task, [mine, *(reply_of(client, *reply) for reply in replies)])

    def undo(self, number: int) -> None:
        """Restore what was remembered before the task with this number."""
        last, before = self._before
        if number == last:
            self._shard.put_back(before)

    def _do_here(self, number: int, task: Task[Any], keys: Sequence[int]) -> Answer:
        """Return the answer of this actor's own batches."""
        last, answer = self._last
        if answer is None or number != last:
            began = time.perf_counter()
            if task.writes:
                self._before = number, self._shard.records(keys)
            with _blas().limit(limits=_threads()):
                value = self._shard.do(task, keys)
            answer = Answer(value, [time.perf_counter() - began])
            self._last = number, answer
        return answer


def combined(task: Task[Any], answers: Sequence[Answer]) -> Answer:
    """Return the answers of several actors as one."""
    seconds = [some for answer in answers for some in answer.seconds]
    return Answer(task.joined(answer.value for answer in answers), seconds)


def _cut(part: Any, cut: slice, length: int) -> Any:
    rows = stacked(part)
    if rows.shape[0] != length:
        raise ValueError(
            f"a partition had {length} rows when it was first computed, and now it has "
            f"{rows.shape[0]}. Partitions must be the same each time."
        )
    return rows.iloc[cut] if type(rows).__module__.startswith("pandas") else rows[cut]


def _threads() -> int:
    from distributed import get_worker

    return int(get_worker().state.nthreads)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _keep_memory() -> None:
    """Make the process keep the memory of arrays that come and go.

    Dask tells workers to return memory at once. Then every large array of a step is new to the
    system, which costs a third of the time.
    """
    with suppress(AttributeError, OSError):  # other systems have no mallopt
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, MMAP_BYTES)
        mallopt(TRIM_THRESHOLD, 2**31 - 1)
