"""The first rows of a stream: what is learnt from them, and answers for texts that wait."""

from collections.abc import Iterable, Iterator

from evermix.cli.console import note
from evermix.cli.input.rows import features
from evermix.cli.input.texts import stream_counter
from evermix.cli.options.mixture import make_mixture
from evermix.cli.options.settings import Settings
from evermix.cli.runs.run import NOTHING
from evermix.estimators import Mixture
from evermix.io.brokers import is_address
from evermix.io.sources import Chunk, SourceError
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
    return stream_counter(settings, mix, known, "a larger --warmup, or --hash")


def first_chunks(chunks: Iterator[Chunk], rows: int) -> list[Chunk]:
    """Return the first chunks that together have so many rows, or all there are."""
    taken: list[Chunk] = []
    try:
        while sum(len(chunk.ids) for chunk in taken) < rows:
            taken.append(next(chunks))
    except StopIteration:
        pass
    except SourceError as error:
        raise SourceError(
            f"{error} {NOTHING} Correct the row, or leave out bad rows with --skip-bad."
        ) from error
    return taken


class WarmUp:
    """The first texts of a live source, until there are enough to learn a vocabulary from.

    They are answered by a model of their own, which counts hashes of words, so that what is learnt
    in the end does not depend on when they came.

    Attributes
    ----------
    rows : int
        Number of texts that wait, all of which have been answered.
    """

    def __init__(self, settings: Settings) -> None:
        self.rows, self._settings = 0, settings
        self._quiet = settings.quiet
        self._chunks: list[Chunk] = []
        self._counter = Hashing()
        self._mix = make_mixture(settings, "text", streaming=True)

    def answer(self, chunk: Chunk) -> Mixture:
        """Keep a chunk, and return a model that has labels for its rows."""
        times = None if self._mix.forgetting is None else chunk.times
        self._mix.partial_fit(features(self._mix.family, self._counter, chunk.X), times=times)
        self._chunks.append(chunk)
        self.rows += len(chunk.ids)
        if not self._quiet and len(chunk.ids) < self._settings.batch:  # more are waited for
            self._quiet = True
            note(
                f"{self.rows:,} of {self._settings.warmup:,} texts for the vocabulary: until then "
                "answers are provisional and nothing is learnt. A smaller --warmup begins earlier, "
                "and --hash at once."
            )
        return self._mix

    def joined(self, *chunks: Chunk) -> Chunk:
        """Return all texts that wait, and then these chunks, as one chunk."""
        return joined([*self._chunks, *chunks])
