"""Batches on a cluster: their actors, requests to them, and what happens if one is lost."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from evermix._xp import Array
from evermix.distributed.actor import Answer, Assignment, Node, ShardActor, combined
from evermix.distributed.client import (
    CHECK_SECONDS,
    MEMORY_ADVICE,
    PAUSE,
    address_of,
    is_loss,
    reply_of,
    result_of,
    workers_of,
)
from evermix.distributed.collections import Partition
from evermix.engines.batch import Batch
from evermix.engines.shards import Shard, Shards, TakeRows, Task, blocks
from evermix.state import Record

Value = TypeVar("Value")

FAN_OUT = 8  # actors that one place sends a task to; they send it on
MAX_LOSSES = 3  # of the same actor in a row
MAX_RETRIES = 50  # of a request whose answer was lost, though no worker was


@dataclass
class Spent:
    """Seconds spent on tasks.

    Attributes
    ----------
    wall : float
        From requests to answers.
    compute : float
        Of this, the time of the busiest worker.
    mean : float
        The time of a worker, on average.
    calls : int
    """

    wall: float = 0.0
    compute: float = 0.0
    mean: float = 0.0
    calls: int = 0


@dataclass(frozen=True)
class FetchRecords(Task[dict[str, Record]]):
    """Fetch what is remembered of batches."""

    def of(self, shard: Shard, key: int) -> dict[str, Record]:
        """Return the record of a batch, if there is one."""
        return {str(key): shard.memo[str(key)]} if str(key) in shard.memo else {}

    def joined(self, answers: Iterable[dict[str, Record]]) -> dict[str, Record]:
        """Return all records."""
        return {key: record for some in answers for key, record in some.items()}


@dataclass
class _Place:
    """An actor, and what it takes to make it again."""

    assignment: Assignment
    parts: list[Any]  # partitions, which Dask can compute again
    worker: str = ""
    future: Any = None  # keeps the actor alive
    actor: Any = None
    losses: int = 0


class _DoneTask(NamedTuple):
    """A task that was done, and the keys of the batches that still remember what it wrote."""

    task: Task[Any]
    keys: set[int]


class ClusterShards(Shards):
    """Batches on the workers of a cluster.

    Every worker has an actor with one run of batches. The tasks that wrote what batches remember
    are kept here, to be repeated if a worker is lost. They hold the beliefs about the clusters of
    every step of a lap, whatever the number of workers.

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
        Called as ``prepare(rows)``; returns rows prepared for the family, or raises.
    records : dict of records
        What is remembered of batches already.

    Attributes
    ----------
    spent : Spent
        Where the time was spent.
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
        self._records, self._log, self._number = dict(records), list[_DoneTask](), 0
        self.spent = Spent()
        workers = workers_of(client)
        runs = [run for run in blocks(len(self), min(len(workers), len(self))) if len(run)]
        self.width = len(runs)
        ends = np.cumsum([0, *lengths])
        self._places = [_Place(*self._assign(run, parts, ends, prepare)) for run in runs]
        for place, worker in zip(self._places, workers, strict=False):
            self._start(place, worker)
        for place in self._places:
            self._wait_for(place)

    def __len__(self) -> int:
        return -(-len(self._weights) // self.size)

    def __getitem__(self, key: Any) -> Any:
        """Return a batch; its rows are fetched from their worker."""
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
        by_key = {int(k): some - k * self.size for k, some in zip(keys, each, strict=True)}
        return self.do(TakeRows(by_key), by_key) if by_key else {}

    def do(self, task: Task[Value], keys: Iterable[int]) -> Value:
        """Do a task with these batches, where they are."""
        began, numbers = time.perf_counter(), [int(key) for key in keys]
        self._number += 1
        chosen = []
        for place in self._places:
            mine = [key for key in numbers if key in place.assignment.keys]
            if mine:
                chosen.append((place, mine))
        # Those after the first few get the task from others, which combine their answers.
        each = [chosen[root::FAN_OUT] for root in range(min(FAN_OUT, len(chosen)))]
        if len({place.worker for place, _ in chosen}) < len(chosen):  # see _Request.send
            each = [[one] for one in chosen]
        requests = [_Request(self._number, task, some) for some in each]
        try:
            for request in requests:
                request.send()
            answer = combined(task, [self._answer(request) for request in requests])
        except BaseException:
            if task.writes:  # all, or nothing
                self._undo(chosen)
            raise
        if task.writes:
            self._log_task(task, set(numbers))
        self.spent.wall += time.perf_counter() - began
        self.spent.compute += max(answer.seconds)
        self.spent.mean += sum(answer.seconds) / len(self._places)
        self.spent.calls += 1
        return answer.value

    def bring_home(self, memo: dict[str, Record]) -> None:
        """Put what is remembered of batches into a memo.   Consumes: memo."""
        for place in self._places:
            records = self.do(FetchRecords(), place.assignment.keys)
            memo |= records

    def release(self) -> None:
        """Let the workers forget everything."""
        for place in self._places:
            place.actor = place.future = None

    # ---- actors ----------------------------------------------------------------------------

    def _assign(
        self, run: Array, parts: Sequence[Partition], ends: Array, prepare: Callable[[Any], Array]
    ) -> tuple[Assignment, list[Any]]:
        """Return the assignment of an actor with a run of batches, and the partitions it needs."""
        keys = range(int(run[0]), int(run[-1]) + 1)
        first, last = keys.start * self.size, min(keys.stop * self.size, len(self._weights))
        cuts, mine, lengths = [], [], []
        for part, start, end in zip(parts, ends, ends[1:], strict=False):
            a, b = max(first - start, 0), min(last, end) - start
            if a < b:
                cuts.append(slice(int(a), int(b)))
                mine.append(part.rows)
                lengths.append(int(end - start))
        weights = self._weights[first:last]
        return Assignment(keys, self.size, weights, cuts, lengths, prepare), mine

    def _start(self, place: _Place, worker: str) -> None:
        """Make the actor of a place on a worker."""
        mine = map(str, place.assignment.keys)
        records = {key: self._records[key] for key in mine if key in self._records}
        where = {"workers": [worker], "allow_other_workers": True}
        parts = self._client.compute(place.parts, **where)
        place.worker, place.actor = worker, None
        place.future = self._client.submit(
            ShardActor, parts, place.assignment, records, actor=True, pure=False, **where
        )

    def _wait_for(self, place: _Place) -> None:
        """Wait until an actor is ready, and repeat the tasks that the one before it had done."""
        while place.actor is None:
            try:
                actor = result_of(self._client, place.future)
                place.worker = address_of(self._client, place.future)
                for number, done in enumerate(self._log):
                    mine = sorted(done.keys.intersection(place.assignment.keys))
                    if mine:
                        node = Node(actor, place.worker, mine)
                        reply = actor.do(-1 - number, node, done.task.part(mine))
                        reply_of(self._client, reply, [place.worker])
                place.actor = actor
            except BaseException as error:
                if not is_loss(error):
                    raise
                self._restart(place, error)

    def _restart(self, place: _Place, error: BaseException) -> None:
        """Make a lost actor again, on the worker that has the fewest others."""
        place.losses += 1
        if place.losses > MAX_LOSSES:
            rows, batches = len(place.assignment.weights), len(place.assignment.keys)
            raise MemoryError(
                f"the worker {place.worker} was lost, the {place.losses}th in a row with the same "
                f"{rows:,} rows in {batches:,} batches. {MEMORY_ADVICE}"
            ) from error
        busy = [other.worker for other in self._places if other is not place]
        self._start(place, min(workers_of(self._client), key=busy.count))

    # ---- requests --------------------------------------------------------------------------

    def _answer(self, request: "_Request") -> Answer:
        """Wait for an answer; if an actor is lost, make it again and repeat the request."""
        while True:
            try:
                answer = request.wait(self._client)
            except BaseException as error:
                if isinstance(error, MemoryError):
                    raise MemoryError(
                        f"a worker has no memory left ({error}). {MEMORY_ADVICE}"
                    ) from error
                if not is_loss(error):
                    raise
                self._replace_lost(request, error)
                request.send(directly=True)
            else:
                for place, _ in request.places:
                    place.losses = 0
                return answer

    def _replace_lost(self, request: "_Request", error: BaseException) -> None:
        """Make the actors of a request again that were lost."""
        lost = [place for place, _ in request.places if place.future.status != "finished"]
        for place in lost:
            self._restart(place, error)
        for place in lost:
            self._wait_for(place)
        if not lost:  # it takes a moment until a loss is known; or only the answer was lost
            request.retries += 1
            if request.retries > MAX_RETRIES:
                raise error
            time.sleep(PAUSE)

    def _undo(self, chosen: list[tuple[_Place, list[int]]]) -> None:
        """Undo the last task on all actors that can be reached."""
        for place, _ in chosen:
            with suppress(Exception):
                place.actor.undo(self._number).result(timeout=CHECK_SECONDS)

    def _log_task(self, task: Task[Any], keys: set[int]) -> None:
        """Keep a task until what it wrote has been replaced."""
        if task.anew:
            for key in keys:
                self._records.pop(str(key), None)
            for done in self._log:
                done.keys.difference_update(keys)
            self._log = [done for done in self._log if done.keys]
        self._log.append(_DoneTask(task, keys))


@dataclass
class _Request:
    """A task for some actors: it goes to the first, which sends it on to the others."""

    number: int
    task: Task[Any]
    places: list[tuple[_Place, list[int]]]
    replies: list[tuple[Any, list[str]]] = field(default_factory=list)
    failed: Exception | None = None
    retries: int = 0

    def send(self, directly: bool = False) -> None:
        """Send it; directly to every actor, once one of them has been lost.

        A worker does one thing at a time. Of two actors on the same worker, the first could wait
        for ever for an actor below it that waits for the second.
        """
        nodes = [Node(place.actor, place.worker, keys) for place, keys in self.places]
        self.replies, self.failed = [], None
        try:
            for node in nodes if directly else [_tree(nodes)]:
                part = self.task.part(node.all_keys())
                self.replies.append((node.actor.do(self.number, node, part), node.all_addresses()))
        except (RuntimeError, ValueError) as error:  # the actor is known to be lost
            self.failed = error

    def wait(self, client: Any) -> Answer:
        """Return the answer, or raise the error that came instead."""
        if self.failed is not None:
            raise self.failed
        return combined(self.task, [reply_of(client, *reply) for reply in self.replies])


def _tree(nodes: list[Node]) -> Node:
    """Return the first node with the others below it, at most ``FAN_OUT`` directly below each."""
    first, *others = nodes
    each = [others[root::FAN_OUT] for root in range(min(FAN_OUT, len(others)))]
    return first._replace(below=[_tree(some) for some in each])
