"""The most frequent and the most distinctive words of clusters of documents."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata

NAME = 3  # words in the name of a topic


def frequent_words(
    counts: Any, words: Sequence[str], n: int = 10, *, rows: NDArray[Any] | None = None
) -> list[list[str]]:
    """Return the n most frequent words of each cluster, the most frequent first.

    Parameters
    ----------
    counts : array or sparse matrix (K, V)
        How often each cluster uses each word; counts may be fractional.
    words : sequence of str (V,)
    n : int
        Number of words per cluster; words that it does not use are left out.
    rows : int array, optional
        The clusters to describe, by row; all if None.

    Examples
    --------
    >>> frequent_words([[5.0, 1.0, 0.0], [5.0, 0.0, 3.0]], ["the", "cat", "dog"], 2)
    [['the', 'cat'], ['the', 'dog']]
    """
    counts = _checked(counts, words)
    return [_leading(used, used, w, words, n) for w, used in _rows(counts, rows)]


def distinctive_words(
    counts: Any,
    words: Sequence[str],
    n: int = 10,
    *,
    rows: NDArray[Any] | None = None,
    smoothing: float = 10.0,
) -> list[list[str]]:
    """Return the n words of each cluster that set it apart most from the whole corpus.

    Words are ranked by their terms p log(p / q) of the divergence of the cluster's distribution p
    from that of the corpus, q, so that they are frequent too. For q every word counts ``smoothing``
    times more than it occurs.

    Parameters are those of :func:`frequent_words`, and

    smoothing : float
        Occurrences that are added to every word of the corpus.

    Examples
    --------
    >>> distinctive_words([[50.0, 30.0, 0.0], [50.0, 0.0, 30.0]], ["the", "cat", "dog"], 1)
    [['cat'], ['dog']]
    """
    counts = _checked(counts, words, smoothing)
    corpus = _total(counts) + smoothing
    q, found = corpus / max(corpus.sum(), 1e-300), []
    for w, used in _rows(counts, rows):
        p = used / max(used.sum(), 1e-300)
        found.append(_leading(p * np.log(p / q[w]), used, w, words, n))
    return found


def lift_words(
    counts: Any,
    words: Sequence[str],
    n: int = 10,
    *,
    rows: NDArray[Any] | None = None,
    smoothing: float = 10.0,
) -> list[list[str]]:
    """Return the n words of each cluster that it uses most beyond the whole corpus, rare ones too.

    Words are ranked by lift, the probability of the word in the cluster over its probability in
    the corpus, smoothed as in :func:`distinctive_words`: a word that occurs once is not the first.

    Examples
    --------
    >>> lift_words([[50.0, 10.0, 0.0], [50.0, 0.0, 30.0]], ["the", "cat", "dog"], 1)
    [['cat'], ['dog']]
    """
    counts = _checked(counts, words, smoothing)
    corpus = _total(counts) + smoothing
    # A cluster's total would not change the order of its words.
    return [_leading(used / corpus[w], used, w, words, n) for w, used in _rows(counts, rows)]


def frex_words(
    counts: Any,
    words: Sequence[str],
    n: int = 10,
    *,
    rows: NDArray[Any] | None = None,
    smoothing: float = 10.0,
    weight: float = 0.5,
) -> list[list[str]]:
    """Return the n words of each cluster that are both frequent in it and rare elsewhere.

    Words are ranked by FREX, the harmonic mean of two ranks among the words that the cluster uses:
    by count, and by exclusivity, the share of its occurrences that are in the cluster. Both are
    from 0 to 1, where 1 is the highest.

    Parameters are those of :func:`distinctive_words`, and

    weight : float
        Of exclusivity, from 0 to 1.

    References
    ----------
    Bischof and Airoldi (2012), "Summarizing topical content with word frequency and exclusivity".

    Examples
    --------
    >>> counts = [[50.0, 20.0, 2.0, 0.0], [50.0, 0.0, 0.0, 30.0]]
    >>> frex_words(counts, ["the", "cat", "lynx", "dog"], 1)
    [['cat'], ['dog']]
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"weight must lie in [0, 1], got {weight}.")
    counts = _checked(counts, words, smoothing)
    corpus = _total(counts) + smoothing
    found = []
    for w, used in _rows(counts, rows):
        exclusive, frequent = (
            rankdata(score, method="max") / max(len(w), 1) for score in (used / corpus[w], used)
        )
        score = 1.0 / (weight / exclusive + (1.0 - weight) / frequent)
        found.append(_leading(score, exclusive, w, words, n))
    return found


def naming_words(model: Any, n: int, vocabulary: Any = None) -> list[list[Any]]:
    """Return the n words that stand for each topic of a model wherever it is shown.

    They are those that set it apart: the most frequent ones are much the same in many topics.
    """
    found: list[list[Any]] = model.top_words(n, vocabulary, by="frex")
    return found


def topic_name(words: Sequence[Any]) -> str:
    """Return the name of a topic, by its :func:`naming_words`; "" where columns have no words."""
    return ", ".join(word for word in words[:NAME] if isinstance(word, str))


def numbered(
    words: Sequence[Sequence[Any]], names: Mapping[int, str] = MappingProxyType({})
) -> list[list[str]]:
    """Return the words of each topic, the first of them behind the number of the topic.

    In the place of words stands the name of a topic, if it has one.

    Examples
    --------
    >>> numbered([["sea", "ship"], [], ["moon"]], {2: "sky"})
    [['0: sea', 'ship'], ['1'], ['2: sky']]
    """
    shown = [[names[k]] if k in names else some for k, some in enumerate(words)]
    return [
        [f"{k}: {some[0]}", *map(str, some[1:])] if some else [str(k)]
        for k, some in enumerate(shown)
    ]


def _checked(counts: Any, words: Sequence[str], smoothing: float = 0.0) -> Any:
    """Return counts as a CSR matrix (K, V)."""
    if not smoothing >= 0:
        raise ValueError(f"smoothing must be >= 0, got {smoothing}.")
    counts = counts if sparse.issparse(counts) else np.asarray(counts, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[1] != len(words):
        raise ValueError(
            f"counts must be (K, {len(words)}), one column per word, got shape {counts.shape}."
        )
    return sparse.csr_matrix(counts)


def _total(counts: Any) -> NDArray[Any]:
    """Return how often each word is used in all (V,)."""
    return np.asarray(counts.sum(axis=0, dtype=np.float64)).ravel()


def _rows(counts: Any, rows: NDArray[Any] | None) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield, of each cluster, the words that it uses and how often."""
    for k in range(counts.shape[0]) if rows is None else rows:
        part = slice(*counts.indptr[[k, k + 1]])
        w, used = counts.indices[part], counts.data[part].astype(np.float64)
        # Soft assignment leaves a trace of every word in every cluster.
        some = used >= 0.5
        order = np.argsort(w[some])
        yield w[some][order], used[some][order]


def _leading(
    score: NDArray[Any], second: NDArray[Any], w: NDArray[Any], words: Sequence[str], n: int
) -> list[str]:
    """Return the words of highest score, ties by a second one and then in vocabulary order."""
    return [words[i] for i in w[np.lexsort((-second, -score))[:n]]]
