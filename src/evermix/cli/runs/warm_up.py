"""The first rows of a stream: what is learnt from them, and answers for texts that wait."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from evermix._schema import check_number
from evermix.cli.console import note
from evermix.cli.input.rows import features
from evermix.cli.input.texts import stream_counter
from evermix.cli.options.mixture import make_mixture
from evermix.cli.options.settings import Settings
from evermix.cli.runs.run import NOTHING
from evermix.estimators import Mixture
from evermix.io.brokers import is_address
from evermix.io.sources import Chunk, SourceError
from evermix.io.sources.bad_rows import of_bad_row
from evermix.io.sources.several import joined
from evermix.io.text import Hashing
from evermix.io.text_counter import TextCounter

FEW = 100  # texts to learn a vocabulary on where they come slowly


def with_warm_up(settings: Settings) -> Settings:
    """Return settings that begin to learn early where texts are followed or come from a broker."""
    slow = settings.follow or any(map(is_address, settings.sources))
    return settings.changed(warmup=FEW) if slow and "warmup" not in settings.given else settings


def first_counter(settings: Settings, mix: Mixture, head: Iterable[Chunk]) -> TextCounter:
    """Return how words are counted, given the first texts.   Consumes: mix.

    Those after the warm-up change nothing, wherever it was cut off.
    """
    known = [text for chunk in head for text in chunk.X][: settings.warmup]
    longer = "a larger --warmup, or " if len(known) == settings.warmup else ""
    return stream_counter(settings, mix, known, f"{longer}--hash")


def first_chunks(chunks: Iterator[Chunk], rows: int) -> list[Chunk]:
    """Return the first chunks that together have so many rows, or all there are."""
    taken: list[Chunk] = []
    try:
        while sum(len(chunk.ids) for chunk in taken) < rows:
            taken.append(next(chunks))
    except StopIteration:
        pass
    except SourceError as error:
        raise of_bad_row(error, NOTHING) from error
    return taken


class WarmUp:
    """The first texts of a live source, until there are enough to learn a vocabulary from.

    They are answered by a model of their own, which counts hashes of words, so that what is learnt
    in the end does not depend on when they came. A checkpoint holds that model, and the texts.

    Parameters
    ----------
    settings : Settings
    notes : dict or None
        What :meth:`notes` of an earlier run said; with it come the ``model`` and the ``text`` of
        its checkpoint.

    Attributes
    ----------
    rows : int
        Number of texts that wait, all of which have been answered.
    model : Mixture
        Which answers them.
    text : TextCounter
        How it counts their words.
    """

    def __init__(
        self,
        settings: Settings,
        notes: dict[str, Any] | None = None,
        model: Mixture | None = None,
        text: TextCounter | None = None,
    ) -> None:
        self.text = Hashing() if text is None else text
        self.model = make_mixture(settings, "text", streaming=True) if model is None else model
        self._chunks = [] if notes is None else [_waiting_chunk(notes)]
        self.rows = sum(len(chunk.ids) for chunk in self._chunks)

    def answer(self, chunk: Chunk) -> Mixture:
        """Keep a chunk, and return a model that has labels for its rows."""
        times = None if self.model.forgetting is None else chunk.times
        self.model.partial_fit(features(self.model.family, self.text, chunk.X), times=times)
        self._chunks.append(chunk)
        self.rows += len(chunk.ids)
        return self.model

    def joined(self, *chunks: Chunk) -> Chunk:
        """Return all texts that wait, and then these chunks, as one chunk."""
        return joined([*self._chunks, *chunks])

    def say(self, settings: Settings) -> None:
        """Say that nothing is learnt yet."""
        wait = f" ({self.rows:,} of them wait already)" if self.rows else ""
        note(
            f"the vocabulary is learnt from the first {settings.warmup:,} texts{wait}: until then "
            "answers are provisional and nothing else is learnt. A smaller --warmup begins "
            "earlier, and --hash at once."
        )

    def notes(self) -> dict[str, Any]:
        """Return the texts that wait, as a JSON-ready dict."""
        whole = self.joined()
        times = whole.times
        return {
            **{name: getattr(whole, name) for name in WAITING},
            "rows": whole.rows.tolist(),
            "times": None if times is None else [str(times.dtype), times.astype(str).tolist()],
        }


WAITING = "ids", "X", "first", "offset", "offsets", "fields"


def check_waiting(notes: dict[str, Any]) -> None:
    """Raise ValueError, TypeError or LookupError unless notes are those of a warm-up."""
    chunk = _waiting_chunk(notes)
    n = len(chunk.ids)
    for name in ("X", "rows", "times", "offsets", "fields"):
        values = getattr(chunk, name)
        if values is not None and len(values) != n:
            raise ValueError(f"expected {n:,} {name} of texts that wait, got {len(values):,}")
    if not (n and all(isinstance(text, str) for text in chunk.X)):
        raise TypeError("texts that wait must be strings, at least one")
    for name in ("first", "offset"):
        check_number(name, getattr(chunk, name))


def _waiting_chunk(notes: dict[str, Any]) -> Chunk:
    values = {name: notes[name] for name in WAITING}
    times = notes["times"]
    return Chunk(
        **values,
        rows=np.array(notes["rows"], dtype=np.int64),
        times=None if times is None else np.array(times[1], dtype=times[0]),
    )
