"""What runs on a worker: a run of batches, and what is remembered of them."""

import ctypes
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from evermix._xp import Array
from evermix.distributed.collections import joined, stacked
from evermix.distributed.workers import reply_of
from evermix.engines.batch import Batch, Batches
from evermix.engines.shards import Shard, Task
from evermix.state import Record

TRIM, MMAP, ROOM = -1, -3, 2**25  # of mallopt, and bytes: the most that it takes


class Load(NamedTuple):
    """What a holder shall hold.

    Attributes
    ----------
    keys : range
        Of the batches.
    size : int
        Rows in a batch, but for the last of all.
    weights : array (N,)
        Of all its rows.
    cuts : list of slices
        The rows of each partition that are its own.
    lengths : list of int
        The number of rows of each partition.
    prepare : callable
        Called as ``prepare(rows)``; returns rows as the family wants them, or raises.
    """

    keys: range
    size: int
    weights: Array
    cuts: list[slice]
    lengths: list[int]
    prepare: Callable[[Any], Array]


class Answer(NamedTuple):
    """What came of a task, and the seconds that it took on each worker."""

    value: Any
    seconds: list[float]


class Branch(NamedTuple):
    """A holder, the keys of its batches that are meant, and the holders that it shall ask."""

    actor: Any
    address: str  # of its worker
    keys: list[int]
    below: "Sequence[Branch]" = ()

    def every_key(self) -> list[int]:
        """Return the keys that are meant here and below."""
        return self.keys + [key for branch in self.below for key in branch.every_key()]

    def every_address(self) -> list[str]:
        """Return the addresses of the workers here and below."""
        return [self.address, *(at for branch in self.below for at in branch.every_address())]


class _Rows(Batches):
    """Batches of rows that are here, by the keys that they have among all."""

    def __init__(self, X: Array, load: Load) -> None:
        self._X, self._load = X, load

    def __len__(self) -> int:
        return len(self._load.keys)

    def __getitem__(self, key: Any) -> Any:
        some = self._some(key)
        return Batch(self._X[some], self._load.weights[some], key)

    def weights_of(self, key: int) -> Array:
        """Return the weights (N,) of a batch."""
        return self._load.weights[self._some(key)]

    def _some(self, key: int) -> slice:
        at = self._load.keys.index(key) * self._load.size
        return slice(at, at + self._load.size)


class Holder:
    """A Dask actor that holds batches.

    Parameters
    ----------
    parts : sequence of partitions
        Whose rows it holds.
    load : Load
    records : dict of records
        What is remembered of its batches already.
    """

    def __init__(self, parts: Sequence[Any], load: Load, records: dict[str, Record]) -> None:
        _keep_memory()
        # One copy of its own: what has travelled lies anywhere, and arithmetic would copy it.
        rows, first = [], load.keys.start * load.size
        for part, cut, length in zip(parts, load.cuts, load.lengths, strict=True):
            try:
                rows.append(load.prepare(_cut(part, cut, length)))
            except ValueError as error:
                raise ValueError(f"in rows from {first} on: {error}") from error
            first += cut.stop - cut.start
        load = load._replace(weights=np.require(load.weights, requirements=["A", "W"]))
        memo = {key: dict(record) for key, record in records.items()}
        self._shard = Shard(_Rows(joined(rows), load), memo)
        self._last: tuple[int, Answer | None] = 0, None
        self._before: tuple[int, dict[str, Record | None]] = 0, {}

    def do(self, number: int, tree: Branch, task: Task[Any]) -> Answer:
        """Do something with batches here, let the holders below do it, and join the answers.

        The same number twice gets the same answer: the question may come again when an answer was
        lost.
        """
        replies = []
        for branch in tree.below:
            reply = branch.actor.do(number, branch, task.part(branch.every_key()))
            replies.append((reply, branch.every_address()))
        mine = self._own(number, task.part(tree.keys), tree.keys)
        if not replies:
            return mine
        from distributed import get_client

        client = get_client()
        answers = [mine, *(reply_of(client, *reply) for reply in replies)]
        seconds = [some for answer in answers for some in answer.seconds]
        return Answer(task.joined(answer.value for answer in answers), seconds)

    def undo(self, number: int) -> None:
        """Remember what was remembered before the task with this number."""
        last, before = self._before
        if number == last:
            self._shard.put_back(before)

    def _own(self, number: int, task: Task[Any], keys: Sequence[int]) -> Answer:
        """Return the answer of the batches that are here."""
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


def _cut(part: Any, some: slice, length: int) -> Any:
    rows = stacked(part)
    if rows.shape[0] != length:
        raise ValueError(
            f"a partition had {length} rows when it was first computed, and now it has "
            f"{rows.shape[0]}. Partitions must be the same each time."
        )
    return rows.iloc[some] if type(rows).__module__.startswith("pandas") else rows[some]


def _threads() -> int:
    from distributed import get_worker

    return int(get_worker().state.nthreads)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _keep_memory() -> None:
    """Let the process keep the memory of arrays that come and go.

    Workers are told to give memory back at once, and then every large array that a step makes is
    new to the system, which costs a third of the time.
    """
    with suppress(AttributeError, OSError):  # other systems have no such thing
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP, ROOM)
        mallopt(TRIM, 2**31 - 1)
