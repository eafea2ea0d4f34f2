"""The live page of a stream, if one is wanted."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evermix.cli.console import note
from evermix.cli.options.settings import Settings
from evermix.estimators import Mixture

EXTRA = "--live needs starlette, uvicorn and orjson: pip install 'evermix[serve]'"


class Live:
    """Shows a stream in browsers of this machine; without ``--live`` it does nothing.

    Parameters
    ----------
    settings : Settings
    mix : Mixture
    kind : str
        What the rows are.
    rows : int
        How many were learnt.
    words : callable
        Returns names of the columns, and words that name clusters.
    """

    def __init__(
        self,
        settings: Settings,
        mix: Mixture,
        kind: str,
        rows: int,
        words: Callable[[], tuple[Sequence[str] | None, dict[int, list[str]]]],
    ) -> None:
        self._watched: Any = None
        if settings.live is None:
            return
        try:
            from evermix.service.watched import About, Watch, Watched
        except ImportError as error:
            raise ImportError(f"{EXTRA} ({error}).") from error
        name = _name(settings.source)
        self._watched = Watched(mix, rows, About(kind, name), words)
        self._watch = Watch(name, self._watched, settings.live)
        note(f"watch it at {self._watch.address}")

    @contextmanager
    def learning(self, n: int) -> Iterator[None]:
        """Note what happens while n rows are learnt."""
        if self._watched is None:
            yield
        else:
            with self._watched.learning(n):
                yield

    def turn(self) -> bool:
        """Do what people want, and return whether that has changed the model."""
        return self._watched is not None and bool(self._watched.turn())

    def close(self) -> None:
        """End the page."""
        if self._watched is not None:
            self._watch.close()


def _name(source: str) -> str:
    """Return a name for the model of a source, such as models of the service have.

    Addresses of brokers may hold a password, so that only the kind of broker is shown.
    """
    scheme, address, _ = source.partition("://")
    stem = scheme if address else Path(source).name.partition(".")[0].lower()
    return re.sub("[^a-z0-9_-]+", "-", stem).strip("-_")[:64] or "stream"
