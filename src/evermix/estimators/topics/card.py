"""Cards of topics: what a person wants to know of them, from the draw that is shown."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evermix._limits import MIN_DOCUMENTS
from evermix._words import counted
from evermix._xp import Array, Floats, Ints
from evermix.estimators.data.times import shown_label
from evermix.report.lifetimes import Lifetimes, changes, lifetimes, rank_changes, reliable_times
from evermix.report.shares import percent
from evermix.report.words import NAME, naming_words, topic_name

SHARE = 0.01  # a topic with less is absent
TINY = 0.001  # a topic with less is no neighbour of others
WORDS, NEAREST, DOCUMENTS = 12, 3, 5  # on a card
LONG = 30  # letters of a document's name, from which on each has a line of its own
FEW = 10  # words that are added to every document, so that short ones are not first


@dataclass(frozen=True, repr=False)
class TopicCard:
    """What there is to know of a topic.

    Attributes
    ----------
    id : int
    name : str
        The one that ``TopicModel.rename`` gave it, or else the first words that set it apart; ""
        where none are known.
    size : int
        Number of its words.
    share : float
        Of all words.
    words : tuple
        The most probable ones.
    apart : tuple
        Those that set it apart: frequent in it and rare elsewhere.
    times : tuple
        The times in order, less those with too few documents; empty for models without times.
    shares : tuple of float
        Its share of the words of each time.
    first, last : time or None
        When it has at least 1% of the words for the first and for the last time.
    born, died : time or None
        When it has that for the first time, and when no longer, with less than half of it before
        or after, on average. None where that is not known, since it is there at the first or last
        time, since it comes and goes, or since times have too few documents to tell.
    change : float or None
        Its largest share at any time less its smallest; negative if the largest comes first.
        None without times.
    documents : tuple of (int, float)
        Rows of the documents with most of it, and its share of their words.
    nearest : tuple of (int, float)
        Topics that the same words set apart, and how far they are: 1 less the correlation of what
        words have in excess of all documents; 0 for the same words, about 1 for unrelated ones.
    region : int
    """

    id: int
    name: str
    size: int
    share: float
    words: tuple[Any, ...]
    apart: tuple[Any, ...]
    times: tuple[Any, ...]
    shares: tuple[float, ...]
    first: Any
    last: Any
    born: Any
    died: Any
    change: float | None
    documents: tuple[tuple[Any, float], ...]
    nearest: tuple[tuple[int, float], ...]
    region: int

    def to_dict(self) -> dict[str, Any]:
        """Return the card as JSON-ready values."""
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        plain["name"] = self.name or None
        plain["documents"] = [{"row": row, "share": share} for row, share in self.documents]
        plain["nearest"] = [{"id": id, "distance": distance} for id, distance in self.nearest]
        return plain

    def __repr__(self) -> str:
        given = {} if self.name == topic_name(self.apart) else {self.id: self.name}
        lines = [f"{called(self.id, given)}: {counted(self.size, 'word')}, {percent(self.share)}"]
        lines.append(f"  what sets it apart: {', '.join(map(str, self.apart))}")
        if self.apart != self.words:
            lines.append(f"  most frequent words: {', '.join(map(str, self.words))}")
        if len(self.times) > 1:
            peak = int(np.argmax(self.shares))
            places = {self.times[t]: self.shares[t] for t in (0, peak, len(self.times) - 1)}
            course = ", ".join(f"{percent(share)} in {time}" for time, share in places.items())
            moves = {"born": self.born, "died": self.died}
            changes = [f"{name} {time}" for name, time in moves.items() if time is not None]
            lines.append(f"  over time: {'; '.join([course, *changes])}")
        if self.documents:
            some = [f"{row} ({percent(share)})" for row, share in self.documents]
            long = max(map(len, some)) > LONG
            listed = "".join(f"\n    {one}" for one in some) if long else f" {', '.join(some)}"
            lines.append(f"  documents with most of it:{listed}")
        if self.nearest:
            near = ", ".join(f"{id} ({distance:.2f})" for id, distance in self.nearest)
            lines.append(f"  nearest: {near}")
        return "\n".join(lines)


class OverTime(NamedTuple):
    """Topics over time."""

    times: list[Any]  # (T,) as they are shown; empty for models without times
    evolution: Floats  # (T, K) share of each topic at each time
    documents: list[int] | None  # (T,) number of documents; None if it is not known

    @classmethod
    def of(cls, model: Any) -> "OverTime":
        """Return the times that a model knows, and its topics over them."""
        times = [shown_label(time) for time in model.times_.tolist()]
        return cls(times, model.evolution_[: len(times)], model.n_documents_)


def excess(components: Floats, corpus: Floats) -> Floats:
    """Return what words have in topics in excess of the corpus (K, V), each topic of length 1.

    Where topics are compared by their words as they are, those that have all words a little are
    near to all others.
    """
    expected = np.maximum(corpus, np.finfo(np.float64).tiny)
    found: Floats = (components - expected) / np.sqrt(expected)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)


class TopicCards:
    """Writes cards of the topics of a model.

    Parameters
    ----------
    model : TopicModel
    vocabulary : sequence (V,), optional
    n : int
        Number of words.
    share : float
        A topic with less is absent.
    least : int
        Times with fewer documents tell of no births and deaths.
    over_time : OverTime, optional
        Topics over times that the model does not know.
    """

    def __init__(
        self,
        model: Any,
        vocabulary: Any = None,
        *,
        n: int = WORDS,
        share: float = SHARE,
        least: int = MIN_DOCUMENTS,
        over_time: OverTime | None = None,
    ) -> None:
        self.point, self.names = model._fitted.point(), model.names_
        self.words = model.top_words(n, vocabulary)
        self.apart = naming_words(model, max(n, NAME), vocabulary)
        self.components, self.weights = model.components_, model.weights_
        self.corpus: Floats = self.weights @ self.components
        self.times, self.evolution, documents = over_time or OverTime.of(model)
        self.share = max(share, np.nextafter(0.0, 1.0))
        self._few = share, documents, least
        self.alive = self.lifetimes(np.arange(len(self.weights)))
        self.changes = changes(self.evolution, documents, least)
        self.ranks = rank_changes(self.evolution, documents, least)
        self._reliable = reliable_times(len(self.times), documents, least).tolist()
        if len(self._reliable) < 2:
            self._reliable = list(range(len(self.times)))

    def lifetimes(self, topics: Ints) -> Lifetimes:
        """Return when topics are there; numbers in it are places among these topics."""
        return lifetimes(self.evolution[:, topics], *self._few)

    @cached_property
    def distances(self) -> Floats:
        """Hellinger distances (K, K) of the words of topics, from 0 to 1."""
        roots = np.sqrt(self.components)
        apart: Floats = np.sqrt(np.maximum(1 - roots @ roots.T, 0.0))
        np.fill_diagonal(apart, 0.0)
        return apart

    def order(self, by: str) -> list[int]:
        """Return the topics, the largest or those that change most first."""
        sizes = {"size": self.weights, "change": self.ranks}
        if by not in sizes:
            raise ValueError(f"by must be 'size' or 'change', got {by!r}.")
        if by == "change" and not self.times:
            raise ValueError("a model without times knows no change. Rank topics by 'size'.")
        return np.argsort(-sizes[by], kind="stable").tolist()

    def card(self, k: int) -> TopicCard:
        """Return the card of a topic."""
        times, shares = self.times, self.evolution[self._reliable, k]
        there = [self._reliable[t] for t in np.flatnonzero(shares >= self.share)]
        born, died = (None if t is None else times[t] for t in self.alive.moves(k))
        return TopicCard(
            id=k,
            name=self.names.get(k) or topic_name(self.apart[k]),
            size=int(self.point.words[:, k].sum()),
            share=float(self.weights[k]),
            words=tuple(self.words[k]),
            apart=tuple(self.apart[k]),
            times=tuple(times[t] for t in self._reliable),
            shares=tuple(shares.tolist()),
            first=times[there[0]] if there else None,
            last=times[there[-1]] if there else None,
            born=born,
            died=died,
            change=float(self.changes[k]) if times else None,
            documents=self._documents(k),
            nearest=self.nearest(k),
            region=int(self.point.region[k]),
        )

    def nearest(self, k: int) -> tuple[tuple[int, float], ...]:
        """Return the topics nearest to topic k, and how far they are; tiny ones are left out."""
        far = np.maximum(1.0 - self._excess @ self._excess[k], 0.0)
        order = np.argsort(far, kind="stable").tolist()
        order = [j for j in order if j != k and self.weights[j] >= TINY]
        return tuple((j, round(float(far[j]), 2)) for j in order[:NEAREST])

    @cached_property
    def _excess(self) -> Floats:
        return excess(self.components, self.corpus)

    @cached_property
    def _lengths(self) -> Array:
        return np.asarray(self.point.documents.sum(axis=1)).ravel()

    @cached_property
    def _columns(self) -> Array:
        return self.point.documents.tocsc()

    def _documents(self, k: int) -> tuple[tuple[int, float], ...]:
        """Return the documents with most of a topic."""
        if self.point.documents is None:  # of an older file
            return ()
        part = slice(*self._columns.indptr[[k, k + 1]])
        rows, words = self._columns.indices[part], self._columns.data[part]
        order = np.lexsort((rows, -words / (self._lengths[rows] + FEW)))[:DOCUMENTS]
        found = rows[order], words[order] / self._lengths[rows[order]]
        return in_order(*found)


def in_order(rows: Ints, shares: Floats) -> tuple[tuple[int, float], ...]:
    """Return documents and their shares of a topic, the largest share first."""
    order = np.argsort(-shares, kind="stable")
    return tuple((int(rows[i]), float(shares[i])) for i in order)


def called(topic: int, names: Mapping[int, str]) -> str:
    """Return how texts call a topic, given names by numbers."""
    return f"topic {topic} ({names[topic]})" if topic in names else f"topic {topic}"


def document_name(id: Any, title: str = "") -> str:
    """Return how people call a document: by its id, or the number of its row, and its title."""
    if title and title != id:
        return f"{id}: {title}"
    return f"row {id:,}" if isinstance(id, int) else str(id)
