"""Batches on a cluster: holders, what is asked of them, and what happens if one is lost."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from evermix._xp import Array
from evermix.distributed.collections import Partition
from evermix.distributed.actor import Answer, Branch, Holder, Load
from evermix.distributed.workers import (
    ADVICE,
    LOOK,
    address_of,
    is_loss,
    reply_of,
    result_of,
    workers_of,
)
from evermix.engines.batch import Batch
from evermix.engines.shards import Shard, Shards, TakeRows, Task, blocks
from evermix.state import Record

Value = TypeVar("Value")

FAN = 8  # holders that one place asks; they ask others
LOSSES = 3  # of the same holder in a row, after which it is no accident
GLITCHES, PAUSE = 50, 0.1  # times that a lost answer is asked for again, and seconds between


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


@dataclass(frozen=True)
class Remembered(Task[dict[str, Record]]):
    """Bring home what is remembered of batches."""

    def of(self, shard: Shard, key: int) -> dict[str, Record]:
        """Return the record of a batch, if there is one."""
        return {str(key): shard.memo[str(key)]} if str(key) in shard.memo else {}

    def joined(self, answers: Iterable[dict[str, Record]]) -> dict[str, Record]:
        """Return all records."""
        return {key: record for some in answers for key, record in some.items()}


@dataclass
class _Held:
    """A holder and what it takes to make it again."""

    load: Load
    parts: list[Any]  # partitions, which Dask knows how to compute
    worker: str = ""
    future: Any = None  # keeps the actor alive
    actor: Any = None
    losses: int = 0


class _Done(NamedTuple):
    """A task that was done, and the batches that still remember what it wrote."""

    task: Task[Any]
    keys: set[int]


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
        workers = workers_of(client)
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
        self._number += 1
        asked = []
        for held in self._held:
            mine = [key for key in wanted if key in held.load.keys]
            if mine:
                asked.append((held, mine))
        # Those after the first few are asked by others, and others join their answers.
        each = [asked[root::FAN] for root in range(min(FAN, len(asked)))]
        if len({held.worker for held, _ in asked}) < len(asked):  # see _Question.ask
            each = [[one] for one in asked]
        try:
            answers = self._answers([_Question(self._number, task, some) for some in each])
        except BaseException:
            if task.writes:  # all, or nothing
                self._undo(asked)
            raise
        if task.writes:
            self._note(task, set(wanted))
        value = task.joined(answer.value for answer in answers)
        seconds = [some for answer in answers for some in answer.seconds]
        self.spent.wall += time.perf_counter() - began
        self.spent.compute += max(seconds)
        self.spent.mean += sum(seconds) / len(self._held)
        self.spent.calls += 1
        return value

    def bring_home(self, memo: dict[str, Record]) -> None:
        """Put what is remembered of batches into a memo.   Consumes: memo."""
        for held in self._held:
            records = self.do(Remembered(), held.load.keys)
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
        cuts, mine, lengths = [], [], []
        for part, start, end in zip(parts, ends, ends[1:], strict=False):
            a, b = max(first - start, 0), min(last, end) - start
            if a < b:
                cuts.append(slice(int(a), int(b)))
                mine.append(part.rows)
                lengths.append(int(end - start))
        return Load(keys, self.size, self._weights[first:last], cuts, lengths, prepare), mine

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
                actor = result_of(self._client, held.future)
                held.worker = address_of(self._client, held.future)
                for number, done in enumerate(self._log):
                    mine = sorted(done.keys.intersection(held.load.keys))
                    if mine:
                        branch = Branch(actor, held.worker, mine)
                        reply = actor.do(-1 - number, branch, done.task.part(mine))
                        reply_of(self._client, reply, [held.worker])
                held.actor = actor
            except BaseException as error:
                if not is_loss(error):
                    raise
                self._lose(held, error)

    def _answers(self, questions: "list[_Question]") -> list[Answer]:
        for question in questions:
            question.ask()
        return [self._answer(question) for question in questions]

    def _undo(self, asked: list[tuple[_Held, list[int]]]) -> None:
        """Let holders forget what the last task wrote, those that can be reached."""
        for held, _ in asked:
            with suppress(Exception):
                held.actor.undo(self._number).result(timeout=LOOK)

    def _answer(self, question: "_Question") -> Answer:
        """Wait for an answer; if a holder is lost, ask again, with another in its place."""
        while True:
            try:
                answer: Answer = question.wait(self._client)
            except BaseException as error:
                if isinstance(error, MemoryError):
                    raise MemoryError(f"a worker has no memory left ({error}). {ADVICE}") from error
                if not is_loss(error):
                    raise
                self._mend(question, error)
                question.ask(directly=True)
            else:
                for held, _ in question.asked:
                    held.losses = 0
                return answer

    def _mend(self, question: "_Question", error: BaseException) -> None:
        """Find out which holders are lost, and put others in their places."""
        lost = [held for held, _ in question.asked if held.future.status != "finished"]
        for held in lost:
            self._lose(held, error)
        for held in lost:
            self._arrive(held)
        if not lost:  # it takes a moment until this is known; or only the answer was lost
            question.glitches += 1
            if question.glitches > GLITCHES:
                raise error
            time.sleep(PAUSE)

    def _lose(self, held: _Held, error: BaseException) -> None:
        """Send a holder to another worker."""
        held.losses += 1
        if held.losses > LOSSES:
            load = held.load
            raise MemoryError(
                f"the worker {held.worker} was lost, the {held.losses}th in a row that should hold "
                f"the same {len(load.weights):,} rows in {len(load.keys):,} batches. {ADVICE}"
            ) from error
        busy = [other.worker for other in self._held if other is not held]
        self._send(held, min(workers_of(self._client), key=busy.count))

    def _note(self, task: Task[Any], keys: set[int]) -> None:
        """Keep a task until what it wrote has been written anew."""
        if task.anew:
            for key in keys:
                self._known.pop(str(key), None)
            for done in self._log:
                done.keys.difference_update(keys)
            self._log = [done for done in self._log if done.keys]
        self._log.append(_Done(task, keys))


@dataclass
class _Question:
    """A task on its way to some holders: the first is asked, and asks the others."""

    number: int
    task: Task[Any]
    asked: list[tuple[_Held, list[int]]]
    replies: list[tuple[Any, list[str]]] = field(default_factory=list)
    failed: Exception | None = None
    glitches: int = 0

    def ask(self, directly: bool = False) -> None:
        """Send it; directly to every holder, once one of them has been lost.

        A worker does one thing at a time. Of two holders on the same one, the first could wait for
        ever for what is below it, if that waits for the second.
        """
        branches = [Branch(held.actor, held.worker, keys) for held, keys in self.asked]
        self.replies, self.failed = [], None
        try:
            for branch in branches if directly else [_tree(branches)]:
                part = self.task.part(branch.every_key())
                reply = branch.actor.do(self.number, branch, part)
                self.replies.append((reply, branch.every_address()))
        except (RuntimeError, ValueError) as error:  # it is known to be lost
            self.failed = error

    def wait(self, client: Any) -> Answer:
        """Return the answer, or raise what came in its place."""
        if self.failed is not None:
            raise self.failed
        answers = [reply_of(client, *reply) for reply in self.replies]
        seconds = [some for answer in answers for some in answer.seconds]
        return Answer(self.task.joined(answer.value for answer in answers), seconds)


def _tree(branches: list[Branch]) -> Branch:
    """Return branches below the first of them, each place with so many below it at most."""
    first, *others = branches
    each = [others[root::FAN] for root in range(min(FAN, len(others)))]
    return first._replace(below=[_tree(some) for some in each])
