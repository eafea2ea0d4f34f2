"""The thread in which a model learns: a bounded queue, the log, checkpoints and snapshots."""

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Lock, Thread
from typing import Any

from evermix.estimators import files
from evermix.io.checkpoint import CheckpointError
from evermix.service.bodies import Observations
from evermix.service.core import FATAL, Core
from evermix.service.events import Event
from evermix.service.log import Log, LogError, Record, Safe
from evermix.service.plans import Plan

CHECKPOINT = "model.evermix"
GROUP = 64  # requests that are synced to the disk together
PATIENCE = 0.25  # seconds that a reader waits for a newer snapshot
LOADING, READY, FAILED, STOPPED = "loading", "ready", "failed", "stopped"


class BusyError(Exception):
    """The queue is full: try again later."""


class UnavailableError(Exception):
    """The model cannot take requests now."""


@dataclass(frozen=True)
class Limits:
    """How much a model takes.

    Attributes
    ----------
    queue : int
        Requests that may wait.
    queue_bytes : int
        Bytes of their bodies.
    checkpoint_seconds : float
        Between two checkpoints, while something is learnt.
    log_bytes : int
        Of a log after which a checkpoint is written.
    """

    queue: int = 256
    queue_bytes: int = 2**26
    checkpoint_seconds: float = 60.0
    log_bytes: int = 2**27


@dataclass
class Totals:
    """Numbers for metrics, since the service was started."""

    requests: int = 0
    rows: int = 0
    duplicates: int = 0
    refused: int = 0
    busy: int = 0
    replayed: int = 0
    checkpoints: int = 0
    learn_seconds: float = 0.0
    sync_seconds: float = 0.0


@dataclass
class Job:
    """A request that waits."""

    action: str
    form: str
    body: bytes
    given: Observations | None
    future: Future[Any] = field(default_factory=Future)


class Worker:
    """A model with the thread in which it learns.

    Attributes
    ----------
    status : str
        "loading", "ready", "failed" or "stopped".
    clusters : int
        How many there were after the last request.
    problem : str or None
        Why it has failed.
    """

    def __init__(
        self, folder: Path, plan: Plan, limits: Limits, tell: Callable[[Event], None] | None = None
    ) -> None:
        self.folder, self.plan, self.limits, self._told = folder, plan, limits, tell
        self.totals, self.log = Totals(), Log(folder)
        self.status, self.clusters = LOADING, 0
        self.problem: str | None = None
        self.core = Core.new(plan)
        self._shown = self.core.snapshot()
        self.reading = Lock()  # held by readers of a snapshot, which keeps what it has computed
        self._changed = Condition()
        self._jobs: deque[Job] = deque()
        self._waiting_bytes = 0
        self._wanted = self._stopping = self._discarded = False
        self._saved, self._saved_at = 0, time.monotonic()
        self._thread = Thread(target=self._run, name=f"evermix {folder.name}", daemon=True)
        self._disk = ThreadPoolExecutor(1, f"evermix {folder.name} disk")

    # ---- from other threads ----------------------------------------------------------------

    def start(self) -> None:
        """Load the model and begin to learn, in a thread."""
        self._thread.start()

    def submit(
        self, action: str, form: str, body: bytes, given: Observations | None = None
    ) -> Future[Any]:
        """Queue a request and return where its answer will be.

        BusyError: too many wait. UnavailableError: the model is loading, stopping or has failed.
        """
        job = Job(action, form, body, given)
        with self._changed:
            if self.status != READY or self._stopping:
                raise UnavailableError(self.problem or f"the model is {self.status}.")
            full = self._waiting_bytes + len(body) > self.limits.queue_bytes
            if len(self._jobs) >= self.limits.queue or (full and self._jobs):
                self.totals.busy += 1
                raise BusyError(f"{len(self._jobs)} requests wait already. Try again later.")
            self._jobs.append(job)
            self._waiting_bytes += len(body)
            self._changed.notify_all()
        return job.future

    def snapshot(self) -> Core:
        """Return a copy of the model to read from, of now or a moment ago."""
        with self._changed:
            if self.status == READY and self._shown.sequence < self.core.sequence:
                self._wanted = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: not self._wanted, PATIENCE)
            return self._shown

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._jobs)

    def stop(self, patience: float | None = None) -> None:
        """Learn what waits, write a checkpoint, and end the thread."""
        self._stop([], patience)

    def discard(self) -> None:
        """Refuse what waits, and end the thread: what is on the disk stays as it is."""
        with self._changed:
            jobs, self._jobs, self._discarded = list(self._jobs), deque(), True
            self._waiting_bytes = 0
        self._stop(jobs, None)

    def _stop(self, refused: list[Job], patience: float | None) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        _refuse_all(refused, "the model was deleted.")
        if self._thread.is_alive():
            self._thread.join(patience)

    # ---- in the thread ---------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._load()
            if self._told is not None:  # from now on: what is replayed was sent before
                self.core.events.listen(self._told)
            self.clusters = self.core.n_clusters
            self._show()
            with self._changed:
                self.status = READY
            while self._turn():
                pass
            if not self._discarded:
                self._checkpoint()
            why = "the model was deleted." if self._discarded else "the service is stopping."
            self._end(STOPPED, why)
        except Exception as error:  # what is on the disk is as it was
            self._end(FAILED, f"the model {self.folder.name} has failed: {error}")
            warnings.warn(self.problem or "", RuntimeWarning, stacklevel=2)

    def _end(self, status: str, problem: str) -> None:
        """Answer all who wait that there will be no answer, and close the log."""
        with self._changed:
            self.status, self.problem, self._wanted = status, problem, False
            jobs, self._jobs = list(self._jobs), deque()
            self._changed.notify_all()
        _refuse_all(jobs, problem)
        self._disk.shutdown()
        self.log.close()

    def _load(self) -> None:
        """Replay the log onto the last checkpoint."""
        path = self.folder / CHECKPOINT
        if path.exists():
            mix, extra = files.load_with_extra(path)
            try:
                self.core = Core.from_file(self.plan, mix, extra)
            except (LookupError, TypeError, ValueError) as error:
                raise CheckpointError(f"{path} was not saved by a service ({error}).") from error
        self._saved = self.core.sequence
        for record in self.log.records(self._saved):
            self.core.apply(record)
            self.totals.replayed += 1
        self.log.resume(self.core.sequence + 1)

    def _turn(self) -> bool:
        """Take the next requests, or show a snapshot; return False at the end."""
        with self._changed:
            due = self._saved_at + self.limits.checkpoint_seconds - time.monotonic()
            unsaved = self.core.sequence > self._saved
            self._changed.wait_for(
                lambda: self._jobs or self._wanted or self._stopping,
                max(due, 0.0) if unsaved else None,
            )
            group = [self._jobs.popleft() for _ in range(min(GROUP, len(self._jobs)))]
            self._waiting_bytes -= sum(len(job.body) for job in group)
            if not group and self._stopping:
                return False
        if self._wanted:
            self._show()
        if group:
            self._take([job for job in group if job.future.set_running_or_notify_cancel()])
        late = time.monotonic() - self._saved_at >= self.limits.checkpoint_seconds
        if (late and self.core.sequence > self._saved) or self.log.size > self.limits.log_bytes:
            self._checkpoint()
        return True

    def _take(self, group: list[Job]) -> None:
        """Log requests that can be done, do them, and answer once they are safe on the disk.

        Rows are learnt while the disk works. If it fails then, so does the model: what it has
        learnt may not be in the log, from which it is loaded again.
        """
        jobs = [job for job in group if self._admitted(job)]
        first, now = self.core.sequence + 1, time.time()
        records = [
            Record(number, now, job.action, job.form, job.body)
            for number, job in enumerate(jobs, first)
        ]
        if not records:
            return
        start = time.perf_counter()
        try:
            self.log.write(records)
        except LogError as error:
            _refuse_all(jobs, str(error))
            return
        synced = self._disk.submit(self._sync)
        try:
            for job, record in zip(jobs, records, strict=True):
                self._answer(job, record, synced.result)
                if self._wanted:
                    self._show()
            synced.result()
        except Exception:
            _refuse_all(jobs, "the model has failed: see its status.")
            raise
        self.totals.learn_seconds += time.perf_counter() - start

    def _sync(self) -> None:
        start = time.perf_counter()
        self.log.sync()
        self.totals.sync_seconds += time.perf_counter() - start

    def _admitted(self, job: Job) -> bool:
        """Whether a request can be done; otherwise it is answered, and never logged."""
        core = self.core
        try:
            if job.given is None:
                core.checked_edit(job.action, job.body)
                return True
            if not core.remembered.new(job.given.ids):  # nothing to learn
                answers = core.known(job.given)
                self.totals.duplicates += len(answers)
                job.future.set_result(answers)
                return False
            core.check(job.given)
        except Exception as error:
            self._refuse(job, error)
            return False
        return True

    def _do(self, job: Job, record: Record, safe: Safe) -> Any:
        """Do what a request wants, which is in the log."""
        if job.given is None:
            safe()
            return self.core.edit(record)
        before = self.core.rows
        answers = self.core.learn(record, job.given, safe=safe)
        learnt = self.core.rows - before
        self.totals.rows += learnt
        self.totals.duplicates += len(answers) - learnt
        return answers

    def _answer(self, job: Job, record: Record, safe: Safe) -> None:
        self.totals.requests += 1
        try:
            result = self._do(job, record, safe)
            safe()
            self.clusters = self.core.n_clusters  # before those who know the answer can ask
        except FATAL:
            raise
        except Exception as error:  # and so it will be when the log is replayed
            self._refuse(job, error)
        else:
            job.future.set_result(result)

    def _refuse(self, job: Job, error: Exception) -> None:
        self.totals.refused += 1
        job.future.set_exception(error)

    def _show(self) -> None:
        """Let readers have a copy of the model as it is now."""
        shown = self.core.snapshot()
        with self._changed:
            self._shown, self._wanted = shown, False
            self._changed.notify_all()

    def _checkpoint(self) -> None:
        """Write a checkpoint and begin a new log, unless there is nothing new."""
        self._saved_at = time.monotonic()
        if self.core.sequence == self._saved or not self.core.begun:
            return
        try:
            files.save(self.core.mix, self.folder / CHECKPOINT, self.core.to_extra())
        except OSError as error:  # the log still has everything
            warnings.warn(f"no checkpoint was written: {error}", RuntimeWarning, stacklevel=2)
            return
        self._saved = self.core.sequence
        self.totals.checkpoints += 1
        try:
            self.log.begin(self._saved + 1)
        except LogError as error:  # the old one goes on
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)


def _refuse_all(jobs: Iterable[Job], problem: str) -> None:
    """Answer those requests that have no answer yet."""
    for job in jobs:
        with suppress(InvalidStateError):
            job.future.set_exception(UnavailableError(problem))
