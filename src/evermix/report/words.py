"""The most frequent and the most distinctive words of clusters of documents."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def frequent_words(
    counts: NDArray[Any], words: Sequence[str], n: int = 10, *, rows: NDArray[Any] | None = None
) -> list[list[str]]:
    """Return the n most frequent words of each cluster, the most frequent first.

    Parameters
    ----------
    counts : array (K, V)
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
    chosen = counts if rows is None else counts[rows]
    return _leading(chosen, chosen, words, n)


def distinctive_words(
    counts: NDArray[Any],
    words: Sequence[str],
    n: int = 10,
    *,
    rows: NDArray[Any] | None = None,
    smoothing: float = 10.0,
) -> list[list[str]]:
    """Return the n words of each cluster that it uses most beyond the whole corpus.

    Words are ranked by lift, the probability of the word in the cluster over its probability in
    the corpus. For the latter every word counts ``smoothing`` times more than it occurs, so that
    a word that occurs once is not the most distinctive of its cluster.

    Parameters
    ----------
    counts : array (K, V)
        How often each cluster uses each word; counts may be fractional.
    words : sequence of str (V,)
    n : int
        Number of words per cluster; words that it does not use are left out.
    rows : int array, optional
        The clusters to describe, by row; all if None.
    smoothing : float
        Occurrences that are added to every word of the corpus.

    Examples
    --------
    >>> distinctive_words([[50.0, 10.0, 0.0], [50.0, 0.0, 30.0]], ["the", "cat", "dog"], 1)
    [['cat'], ['dog']]
    """
    if not smoothing >= 0:
        raise ValueError(f"smoothing must be >= 0, got {smoothing}.")
    counts = _checked(counts, words)
    corpus = counts.sum(axis=0) + smoothing
    # A cluster's total would not change the order of its words.
    chosen = counts if rows is None else counts[rows]
    return _leading(chosen / np.where(corpus > 0, corpus, 1.0), chosen, words, n)


def _checked(counts: NDArray[Any], words: Sequence[str]) -> NDArray[Any]:
    counts = np.asarray(counts, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[1] != len(words):
        raise ValueError(
            f"counts must be (K, {len(words)}), one column per word, got shape {counts.shape}."
        )
    return counts


def _leading(
    score: NDArray[Any], counts: NDArray[Any], words: Sequence[str], n: int
) -> list[list[str]]:
    """Return the words of highest score per row, ties by count and then in vocabulary order."""
    found = []
    for scores, used in zip(score, counts, strict=True):
        order = np.lexsort((-used, -scores))[:n]
        # Soft assignment leaves a trace of every word in every cluster.
        found.append([words[w] for w in order if used[w] >= 0.5])
    return found
