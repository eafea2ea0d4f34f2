"""A model that another loop lets learn, and the server that shows it meanwhile."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any

import uvicorn

from evermix.estimators import Mixture
from evermix.service.app import RequestLimits, Service
from evermix.service.bodies import Observations
from evermix.service.core import Core
from evermix.service.edits import EDITS
from evermix.service.log import Record
from evermix.service.models import AbsentError, ConflictError
from evermix.service.past import past_events, past_timeline
from evermix.service.plans import Plan
from evermix.service.server import bound, settings_of
from evermix.service.webhooks import Webhook
from evermix.service.worker import PATIENCE, READY, BusyError, UnavailableError

HOST = "127.0.0.1"
QUEUE = 64  # requests that may wait
UNANSWERED = (
    *("/metrics", "/openapi.json"),
    *(f"/models/{{name}}/{rows}" for rows in ("observations", "predict", "explain")),
)

Words = tuple[Sequence[str] | None, dict[int, list[str]]]


@dataclass(frozen=True)
class About:
    """What is said of a model that is watched."""

    kind: str
    source: str

    def to_spec(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {"kind": self.kind, "source": self.source}


class Watched:
    """A model that another loop lets learn, as the application wants it.

    Parameters
    ----------
    mix : Mixture
    rows : int
        How many it has learnt.
    about : About
    words : callable
        Returns names of the columns, and words that name clusters.
    """

    def __init__(self, mix: Mixture, rows: int, about: About, words: Callable[[], Words]) -> None:
        self.status: str = READY
        self.problem: str | None = None
        self.plan, self._words = about, words
        self.core = Core(Plan("vectors"), mix, None, rows=rows)
        if self.core.begun and not self.core.provisional:
            self.core.timeline, self.core.events = past_timeline(mix, rows), past_events(mix)
        self.clusters = self.core.n_clusters
        self.reading = Lock()
        self._learning, self._wanted = Lock(), True
        self._learning.acquire()
        self._shown = Core.new(Plan("vectors"))
        self._jobs: deque[tuple[str, bytes, Future[Any]]] = deque()
        self._show()

    # ---- from other threads ----------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._jobs)

    def snapshot(self) -> Core:
        """Return a copy of the model to read from, of now or a moment ago."""
        if self._shown.sequence < self.core.sequence:
            self._wanted = True
            if self._learning.acquire(timeout=PATIENCE):  # the other thread waits for rows
                try:
                    self._show()
                finally:
                    self._learning.release()
        return self._shown

    def submit(
        self, action: str, form: str, body: bytes, given: Observations | None = None
    ) -> Future[Any]:
        """Queue what a person wants with clusters, and return where its answer will be."""
        del form
        if action not in EDITS or given is not None:
            raise UnavailableError("this model learns a stream, and takes no observations.")
        if len(self._jobs) >= QUEUE:
            raise BusyError(f"{len(self._jobs)} requests wait already. Try again later.")
        future: Future[Any] = Future()
        self._jobs.append((action, body, future))
        return future

    # ---- in the thread that learns ---------------------------------------------------------

    @contextmanager
    def learning(self, n: int) -> Iterator[None]:
        """Note what happens while n rows are learnt."""
        core = self.core
        before = core.lives()
        yield
        core.sequence += 1
        core.learnt(before, n, time.time())
        self.clusters = core.n_clusters

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Let others look at the model while this thread waits for rows."""
        self._learning.release()
        try:
            yield
        finally:
            self._learning.acquire()

    def turn(self, keep: Callable[[], None]) -> None:
        """Do what people want, and show how it is now.

        They get their answers once ``keep`` has saved what was done.
        """
        answers = list[tuple[Future[Any], dict[str, Any]]]()
        while self._jobs:
            action, body, future = self._jobs.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                record = Record(self.core.sequence + 1, time.time(), action, "json", body)
                result = self.core.edit(record)
            except Exception as error:
                future.set_exception(error)
            else:
                answers.append((future, result))
        self.clusters = self.core.n_clusters
        self._show()
        if answers:
            self._answer(answers, keep)

    @staticmethod
    def _answer(
        answers: Sequence[tuple[Future[Any], dict[str, Any]]], keep: Callable[[], None]
    ) -> None:
        """Save what was done, and then say so."""
        try:
            keep()
        except Exception as error:
            for future, _ in answers:
                future.set_exception(UnavailableError(f"it could not be saved: {error}"))
            raise
        for future, result in answers:
            future.set_result(result)

    def _show(self) -> None:
        """Let readers have a copy of the model as it is now, if they want one."""
        if self._wanted:
            self._wanted = False  # a reader may want a newer one from now on
            shown = self.core.snapshot()
            shown.columns, shown.naming = self._words() if self.core.begun else (None, {})
            self._shown = shown

    def stop(self) -> None:
        """Answer all who wait that there will be no answer."""
        self.status, self.problem = "stopped", "the stream has ended."
        while self._jobs:
            self._jobs.popleft()[2].set_exception(UnavailableError(self.problem))


class WatchedModels:
    """One model, by its name."""

    def __init__(self, name: str, model: Watched) -> None:
        self._name, self._model = name, model
        self.ready = True
        self.webhook: Webhook | None = None

    def start(self) -> None:
        """Do nothing: another loop lets it learn."""

    def stop(self) -> None:
        """Do nothing: another loop lets it learn."""

    def items(self) -> list[tuple[str, Any]]:
        """Return name and model."""
        return [(self._name, self._model)]

    def __getitem__(self, name: str) -> Watched:
        if name != self._name:
            raise AbsentError(f"there is no model {name!r:.80}, only {self._name}.")
        return self._model

    def make(self, name: str, plan: Any) -> bool:
        """Refuse to make another model."""
        raise ConflictError("a stream has one model.")

    def remove(self, name: str) -> None:
        """Refuse to delete the model."""
        raise ConflictError("the model is that of a stream, which goes on.")


class Watch:
    """Serves the live page of one model on this machine, in a thread.

    Attributes
    ----------
    address : str
        Where it is.
    """

    def __init__(self, name: str, model: Watched, port: int) -> None:
        service = Service(WatchedModels(name, model), RequestLimits(body=2**16))
        place = bound(HOST, port)
        self.address = f"http://{HOST}:{place.getsockname()[1]}"
        self._model = model
        self._server = uvicorn.Server(
            uvicorn.Config(service.app(None, UNANSWERED), **settings_of(grace=1))
        )
        service.stopping = lambda: self._server.should_exit
        sockets = {"sockets": [place]}
        self._thread = Thread(target=self._server.run, kwargs=sockets, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._model.stop()
        self._server.should_exit = True
        self._thread.join(5.0)
