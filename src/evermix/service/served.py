"""What the application asks of a model, whoever lets it learn."""

from concurrent.futures import Future
from threading import Lock
from typing import Any, Protocol

from evermix.service.bodies import Observations
from evermix.service.core import Core
from evermix.service.webhooks import Webhook


class Served(Protocol):
    """A model that learns in a thread of its own.

    Attributes
    ----------
    status : str
        "loading", "ready", "failed" or "stopped".
    problem : str or None
        Why it has failed.
    plan : object with ``to_spec``
        What it is made of.
    clusters : int
        How many there were after the last request.
    core : Core
        What it has learnt; only the thread that learns may ask its mixture.
    reading : Lock
        Held by those who ask a snapshot.
    """

    status: str
    problem: str | None
    plan: Any
    clusters: int
    core: Core
    reading: Lock

    @property
    def waiting(self) -> int:
        """How many requests wait."""

    def snapshot(self) -> Core:
        """Return a copy of the model to read from, of now or a moment ago."""

    def submit(
        self, action: str, form: str, body: bytes, given: Observations | None = None
    ) -> Future[Any]:
        """Queue a request and return where its answer will be."""


class Catalogue(Protocol):
    """Models by name."""

    webhook: Webhook | None

    @property
    def ready(self) -> bool:
        """Whether all models can answer."""

    def start(self) -> None:
        """Begin to learn."""

    def stop(self) -> None:
        """Learn what waits, and end."""

    def items(self) -> list[tuple[str, Any]]:
        """Return names and models."""

    def __getitem__(self, name: str) -> Served: ...

    def make(self, name: str, plan: Any) -> bool:
        """Make a model, and return False if there is one with the same settings already."""

    def remove(self, name: str) -> None:
        """Delete a model."""
