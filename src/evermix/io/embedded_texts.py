"""Texts that are clustered by vectors, and the words of their clusters."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix.io.text_counter import LONGEST, TextCounter, WordTotals, analyzer

MOST = 1000  # words of a cluster that are kept, when there were twice as many

Embedding = Callable[[list[str]], Any]


def imported_function(name: str) -> Embedding:
    """Import the function of ``MODULE:FUNCTION``, or raise ImportError or TypeError."""
    module, _, function = name.partition(":")
    if not module or not function:
        raise ValueError(f"--embed wants MODULE:FUNCTION, got {name!r}.")
    try:
        found = import_module(module)
    except Exception as error:
        raise ImportError(
            f"--embed {name}: the module {module} could not be imported "
            f"({type(error).__name__}: {error}). Give the name of a module in this folder, or of "
            "one that is installed."
        ) from error
    embed: Any = found
    for part in function.split("."):
        embed = getattr(embed, part, None)
    if not callable(embed):
        raise TypeError(
            f"--embed {name}: {function} must be a function from a list of texts to an array with "
            f"a row for each, got {embed!r:.80}."
        )
    return embed


class EmbeddedTexts(TextCounter):
    """Turns texts into vectors, and counts the words of each cluster.

    Parameters
    ----------
    name : str or None
        ``MODULE:FUNCTION`` of the embedding; None if vectors come with the texts.
    embed : callable or None
        The embedding itself; a file has only its name.
    n_features : int
        Numbers in a vector; 0 before the first.
    clusters : mapping of int to mapping of str to int
        How often the texts of each cluster, by the id it had then, hold each word.
    waiting : sequence of str
        Texts that were read, but whose clusters may still get other ids.
    """

    words = None

    def __init__(
        self,
        name: str | None,
        embed: Embedding | None = None,
        n_features: int = 0,
        clusters: Mapping[Any, Mapping[str, int]] | None = None,
        waiting: Sequence[str] = (),
    ) -> None:
        self.name, self.embed, self.n_features = name, embed, int(n_features)
        self.clusters = {int(k): Counter(dict(some)) for k, some in (clusters or {}).items()}
        self.waiting = [str(text) for text in waiting]
        self.totals = WordTotals()

    @cached_property
    def _words_of(self) -> Callable[[str], list[str]]:
        return analyzer("english")

    def counts(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """Return the vectors of texts (N, n_features), or raise ValueError."""
        texts = list(texts)
        if self.embed is None:
            made = f"{self.name} makes of them" if self.name else "came with the texts"
            raise ValueError(f"the model was learnt from vectors: give those that {made}.")
        try:
            X = np.asarray(self.embed(texts), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"--embed {self.name} returned no array ({error}).") from error
        if X.ndim != 2 or X.shape[0] != len(texts) or not X.shape[1]:
            raise ValueError(
                f"--embed {self.name} must return an array with a row for each of {len(texts)} "
                f"texts, got shape {X.shape}."
            )
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        if len(bad):
            raise ValueError(
                f"--embed {self.name} must return finite numbers, got others for the text "
                f"{texts[bad[0]]!r:.60}."
            )
        if self.n_features not in (0, X.shape[1]):
            raise ValueError(
                f"--embed {self.name} must return {self.n_features} numbers for each text, as "
                f"before, got {X.shape[1]}."
            )
        self.n_features = X.shape[1]
        return X

    def learnt(self, texts: Iterable[str], labels: Iterable[int]) -> None:
        """Count the words of texts, given the ids of their clusters."""
        for text, label in zip(texts, labels, strict=True):
            if label < 0:  # its cluster was dropped
                continue
            words = self.clusters.setdefault(int(label), Counter())
            words.update(word for word in self._words_of(text) if len(word) <= LONGEST)
            if len(words) > 2 * MOST:
                self.clusters[int(label)] = Counter(dict(words.most_common(MOST)))

    def words_of(self, ids: Sequence[int], current: Callable[[Any], Any]) -> Any:
        """Return how often clusters use words, (K, V), and the words.

        ``current`` returns the ids that clusters have now, given those that they had.
        """
        row = {id: k for k, id in enumerate(ids)}
        before = list(self.clusters)
        now = np.asarray(current(np.array(before, dtype=np.int64))).tolist() if before else []
        words = sorted({word for some in self.clusters.values() for word in some})
        column = {word: v for v, word in enumerate(words)}
        counts = np.zeros((len(ids), len(words)))
        for id, heir in zip(before, now, strict=True):
            if heir in row:
                for word, n in self.clusters[id].items():
                    counts[row[heir], column[word]] += n
        return counts, words

    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-ready dict for :func:`evermix.io.text.from_spec`."""
        return {
            "type": "embedding",
            "name": self.name,
            "n_features": self.n_features,
            "clusters": {str(k): dict(words) for k, words in self.clusters.items()},
            "waiting": list(self.waiting),
        }
