"""Answers for texts of a live source that wait for a vocabulary."""

from evermix.cli.input.rows import features
from evermix.cli.options.mixture import make_mixture
from evermix.cli.options.settings import Settings
from evermix.estimators import Mixture
from evermix.io.sources import Chunk
from evermix.io.sources.several import joined
from evermix.io.text import Hashing


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
        self.rows = 0
        self._chunks: list[Chunk] = []
        self._counter = Hashing()
        self._mix = make_mixture(settings, "text", streaming=True)

    def answer(self, chunk: Chunk) -> Mixture:
        """Keep a chunk, and return a model that has labels for its rows."""
        times = None if self._mix.forgetting is None else chunk.times
        self._mix.partial_fit(features(self._mix.family, self._counter, chunk.X), times=times)
        self._chunks.append(chunk)
        self.rows += len(chunk.ids)
        return self._mix

    def joined(self, *chunks: Chunk) -> Chunk:
        """Return all texts that wait, and then these chunks, as one chunk."""
        return joined([*self._chunks, *chunks])
