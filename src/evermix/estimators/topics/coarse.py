"""Fewer, coarser topics of a fitted model: how many there shall be is said."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evermix._xp import Floats, Ints
from evermix.estimators.mixture.coarse_tree import agglomerate, cut_to, name_of
from evermix.estimators.mixture.hierarchy import Hierarchy
from evermix.report.words import frex_words
from evermix.topics.words.snapshots import Snapshot

WORDS = 8  # of a coarse topic
TINY = 1e-12  # a topic with less in excess of all words is like every other
SHARED = 0.1  # cosine from which on topics share words
ENDS = 0.025  # of the words of a topic, in the times before it begins, and after it ends


@dataclass(frozen=True)
class CoarseTopic:
    """Several topics that are shown as one.

    Attributes
    ----------
    id : int
        The least number of its topics.
    topics : tuple of int
        Its topics, the largest first.
    share : float
        Of all words.
    words : tuple
        Those that set it apart: frequent in it and rare elsewhere.
    name : str
        The names that people gave to its topics, the largest first, and how many others it has; ""
        if those with a name hold less than half of its words.
    """

    id: int
    topics: tuple[int, ...]
    share: float
    words: tuple[Any, ...]
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, with a name if it has one."""
        values = asdict(self) | {"topics": list(self.topics), "words": list(self.words)}
        return {key: value for key, value in values.items() if key != "name" or value}


class CoarseTopics:
    """Topics joined into few coarse ones, by their words."""

    _point: Any
    _names: Any
    names_: dict[int, str]

    def coarse(self, n_topics: int) -> Ints:
        """Return the coarse topic of each topic (K,), named by the least number in it.

        Each step joins two topics, until there are so many: small ones, and those that are set
        apart by the same words. How far two are apart, 1 less the correlation of their words in
        excess of all documents (averaged over the topics that were joined before, by their sizes),
        counts times the root of the words of the smaller one. So tiny topics go with what they are
        nearest to, and those of many words stay apart. Topics of different times, one of which ends
        before the other begins, are as far apart as can be unless they share words. The share of a
        coarse topic in a document is the sum of the shares of its topics; the model stays as it is.

        Examples
        --------
        >>> import numpy as np, evermix as em
        >>> rng = np.random.default_rng(0)
        >>> halves = np.repeat([[4.0, 4, 4, 0, 0, 0], [0, 0, 0, 4, 4, 4]], 20, axis=0)
        >>> topics = em.TopicModel(em.HDP(), burn_in=50, draws=50, random_state=0)
        >>> shares = topics.fit_transform(rng.poisson(halves))
        >>> coarse = topics.coarse(1)
        >>> shares[:, coarse == 0].sum(axis=1).round(6).tolist() == [1.0] * 40
        True
        """
        return cut_to(_tree(self._point()), n_topics, "topics")

    def coarse_topics(self, n_topics: int, vocabulary: Any = None) -> list[CoarseTopic]:
        """Return what the coarse topics of :meth:`coarse` are, the largest first.

        ``vocabulary`` is as in :meth:`top_words`.
        """
        point: Snapshot = self._point()
        parts, sizes = self.coarse(n_topics), point.words.sum(axis=0)
        ids, place = np.unique(parts, return_inverse=True)
        belongs = np.equal.outer(np.arange(len(ids)), place).astype(np.int64)
        words = frex_words(belongs @ point.counts.T, self._names(vocabulary).tolist(), WORDS)
        found = []
        for k in np.argsort(-(belongs @ sizes), kind="stable").tolist():
            own = np.flatnonzero(place == k)
            topics = tuple(own[np.argsort(-sizes[own], kind="stable")].tolist())
            share = float(sizes[own].sum() / sizes.sum())
            name = name_of(
                dict(zip(topics, sizes[list(topics)].tolist(), strict=True)), self.names_
            )
            found.append(CoarseTopic(int(ids[k]), topics, share, tuple(words[k]), name))
        return found


def _tree(point: Snapshot) -> Hierarchy:
    """Return the tree of topics by average linkage, in which each weighs as its words.

    Two topics are as far apart as 1 less the cosine of what their words have in excess of all
    words, in units of the roots of the shares of these. So words that all topics have join none.
    Small topics lie at right angles, nearer to each other than to large ones that lack their words;
    so those of different times are as far as can be unless they share words. To join two costs how
    far they are times the root of the words of the smaller one, as heights of Ward's method grow
    with the root of sizes: a tiny topic that shares no words with any would else stay to the last.
    All larger topics cost it alike but for how far they are, so it goes with the nearest.
    """
    counts = sparse.csr_matrix(point.counts.T, dtype=np.float64)  # (K, V)
    sizes, total = (np.asarray(counts.sum(axis=axis)).ravel() for axis in (1, 0))
    roots = np.sqrt(total / total.sum())
    scale = np.divide(1.0, roots, out=np.zeros(len(roots)), where=roots > 0.0)
    weight = np.maximum(sizes, 1.0)
    shares = sparse.diags(1.0 / weight) @ counts @ sparse.diags(scale)
    inner = (shares @ shares.T).toarray() - 1.0
    length = np.sqrt(np.maximum(np.diag(inner), TINY))
    far = 1.0 - inner / np.outer(length, length)
    far[_apart_in_time(point.words) & (far > 1.0 - SHARED)] = 2.0
    loss = far * np.sqrt(np.minimum.outer(weight, weight))
    np.fill_diagonal(loss, np.inf)

    def join(a: int, b: int, others: Ints) -> Floats:
        mean = weight[a] * far[a, others] + weight[b] * far[b, others]
        weight[a] += weight[b]
        far[a, others] = far[others, a] = mean / weight[a]
        costs: Floats = far[a, others] * np.sqrt(np.minimum(weight[a], weight[others]))
        return costs

    return agglomerate(np.arange(len(sizes)), loss, join)


def _apart_in_time(words: Ints) -> NDArray[np.bool_]:
    """Return which pairs of topics (K, K) were never there at one time, by words (T, K)."""
    course = np.cumsum(words, axis=0) / np.maximum(words.sum(axis=0), 1)
    first, last = (course <= ENDS).sum(axis=0), (course < 1.0 - ENDS).sum(axis=0)
    ended: NDArray[np.bool_] = np.less.outer(last, first)
    return ended | ended.T
