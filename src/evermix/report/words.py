"""The words that tell clusters of documents apart."""

from collections.abc import Sequence

import numpy as np

from evermix._xp import Array


def frequent_words(
    counts: Array, words: Sequence[str], n: int = 10, *, rows: Array | None = None
) -> list[list[str]]:
    """Return the n most frequent words of each cluster, the most frequent first.

    Parameters
    ----------
    counts : array (K, V)
        How often each cluster uses each word; soft counts are welcome.
    words : sequence of str (V,)
    n : int
        How many words per cluster; words that a cluster does not use are left out.
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
    counts: Array,
    words: Sequence[str],
    n: int = 10,
    *,
    rows: Array | None = None,
    smoothing: float = 10.0,
) -> list[list[str]]:
    """Return the n words of each cluster that it uses most beyond the whole corpus.

    Words are ranked by lift, the probability of the word in the cluster over its probability in
    the corpus. The corpus probability is taken as if every word had been seen ``smoothing`` times
    more, so that a word met once does not look like the mark of its cluster.

    Parameters
    ----------
    counts : array (K, V)
        How often each cluster uses each word; soft counts are welcome.
    words : sequence of str (V,)
    n : int
        How many words per cluster; words that a cluster does not use are left out.
    rows : int array, optional
        The clusters to describe, by row; all if None.
    smoothing : float
        Further occurrences that every word of the corpus is credited with.

    Examples
    --------
    >>> distinctive_words([[50.0, 10.0, 0.0], [50.0, 0.0, 30.0]], ["the", "cat", "dog"], 1)
    [['cat'], ['dog']]
    """
    if not smoothing >= 0:
        raise ValueError(f"smoothing must be >= 0, got {smoothing}.")
    counts = _checked(counts, words)
    corpus = counts.sum(axis=0) + smoothing
    # A cluster's total scales all its words alike and cannot change their order.
    chosen = counts if rows is None else counts[rows]
    return _leading(chosen / np.where(corpus > 0, corpus, 1.0), chosen, words, n)


def _checked(counts: Array, words: Sequence[str]) -> Array:
    counts = np.asarray(counts, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[1] != len(words):
        raise ValueError(
            f"counts must be (K, {len(words)}), one column per word, got shape {counts.shape}."
        )
    return counts


def _leading(score: Array, counts: Array, words: Sequence[str], n: int) -> list[list[str]]:
    """Return the words of highest score per row, ties by count and then in vocabulary order."""
    found = []
    for scores, used in zip(score, counts, strict=True):
        order = np.lexsort((-used, -scores))[:n]
        # Soft assignment leaves a trace of every word everywhere; half a word is none.
        found.append([words[w] for w in order if used[w] >= 0.5])
    return found
