"""Who looks on at a stream: the live page, and the webhook, if they are wanted."""

import re
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from evermix._extras import install
from evermix.cli.console import at_terminal, note
from evermix.cli.input.model_rows import all_words, text_labels
from evermix.cli.options.settings import Settings
from evermix.cli.runs.interrupts import Interrupts, Stopped
from evermix.estimators import Mixture
from evermix.io.sources import Chunk
from evermix.io.text_counter import TextCounter

EXTRA = f"--live and --webhook need what services need: {install('serve')}"

PAUSE = 0.1  # seconds between two looks at what people want with a page


class Live:
    """Shows a stream in browsers of this machine, and posts its new clusters to an address.

    Without ``--live`` and ``--webhook`` it does nothing.

    Parameters
    ----------
    settings : Settings
    mix : Mixture
    kind : str
        What the rows are.
    rows : int
        How many were learnt.
    notes : dict or None
        Those of the checkpoint from which the stream goes on.
    text : callable
        Returns how words are counted; None if there are none.
    """

    def __init__(
        self,
        settings: Settings,
        mix: Mixture,
        kind: str,
        rows: int,
        notes: dict[str, Any] | None,
        text: Callable[[], TextCounter | None],
    ) -> None:
        self._settings, self._watched = settings, None
        self._announcing: Any = None
        if settings.live is None is settings.webhook:
            return
        try:
            from evermix.service.announcing import Announcing
            from evermix.service.watched import About, Watch, Watched
        except ImportError as error:
            raise ImportError(f"{EXTRA} ({error}).") from error
        name = _name(settings.source)

        def words() -> tuple[Sequence[str] | None, dict[int, list[str]]]:
            return all_words(mix, text())

        def labels(texts: list[str]) -> list[int]:
            return text_labels(mix, text(), texts)

        if settings.webhook is not None:
            waiting = (notes or {}).get("confirming")
            self._announcing = Announcing(settings.webhook, name, mix, words, labels, waiting)
        if settings.live is None:
            return
        self._watched = Watched(mix, rows, About(kind, name), words)
        self._watch = Watch(name, self._watched, settings.live)
        note(f"watch it at {self._watch.address}")

    @contextmanager
    def learning(self, chunk: Chunk) -> Iterator[None]:
        """Note what happens while the rows of a chunk are learnt."""
        with nullcontext() if self._watched is None else self._watched.learning(len(chunk.ids)):
            yield
        if self._announcing is not None:
            self._announcing.learnt(chunk.ids, chunk.texts)

    def idle(self) -> AbstractContextManager[None]:
        """Return a context in which the stream waits for rows, and its page is up to date."""
        return nullcontext() if self._watched is None else self._watched.idle()

    def turn(self, keep: Callable[[], None]) -> None:
        """Do what people want, save it with ``keep`` if there is something, and answer them."""
        if self._watched is not None:
            self._watched.turn(keep)

    def ended(self) -> bool:
        """Post what waits, since no rows come for now; return whether a checkpoint is to say so."""
        return self._announcing is not None and bool(self._announcing.ended())

    def stay(self, interrupts: Interrupts, keep: Callable[[], None]) -> None:
        """Keep the page until a signal comes, if a person is at a terminal to send one.

        Changes by hand are saved with ``keep``.
        """
        if self._watched is None:
            return
        if not at_terminal():
            path = self._settings.checkpoint
            if path is not None and not self._settings.quiet:
                command = shlex.join(["evermix", "report", str(path)])
                note(f"--live has ended with the last row; a page that stays: {command}")
            return
        note(f"all rows are learnt; {self._watch.address} stays until Ctrl-C")
        with suppress(Stopped):
            while True:
                with self.idle(), interrupts.allowed():
                    time.sleep(PAUSE)
                self.turn(keep)

    def notes(self) -> dict[str, Any]:
        """Return what a checkpoint holds, so that every cluster is posted once."""
        return {} if self._announcing is None else {"confirming": self._announcing.to_spec()}

    def close(self) -> None:
        """End the page, and send what waits."""
        if self._watched is not None:
            self._watch.close()
        if self._announcing is not None:
            self._announcing.close()
            if lost := self._announcing.lost():
                note(f"--webhook: {lost}")


def _name(source: str) -> str:
    """Return a name for the model of a source, such as models of the service have.

    Addresses of brokers may hold a password, so that only the kind of broker is shown.
    """
    scheme, address, _ = source.partition("://")
    stem = scheme if address else Path(source).name.partition(".")[0].lower()
    return re.sub("[^a-z0-9_-]+", "-", stem).strip("-_")[:64] or "stream"
