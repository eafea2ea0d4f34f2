"""How well the words of topics go together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from evermix._xp import Floats


def coherence(words: Sequence[Sequence[Any]], X: Any, vocabulary: Any = None) -> Floats:
    """Return the coherence of each topic, -1 to 1 (K,): how often its words occur together.

    It is the mean over pairs of words of the normalised pointwise mutual information (NPMI),
    log(p(v, w) / p(v) p(w)) / -log p(v, w), where p are shares of documents: 1 for words that only
    occur together, 0 for words that are independent, -1 for words that never occur together.

    Parameters
    ----------
    words : list of lists
        The words of each topic, such as those of :meth:`evermix.TopicModel.top_words`. A topic
        with fewer than two words gets NaN.
    X : array or CSR matrix (D, V)
        How often each word is in each document; also of other documents than the topics are from.
    vocabulary : sequence (V,), optional
        The word of each column. None: words are given as numbers of columns.

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> X = np.array([[2, 1, 0, 0], [1, 1, 0, 0], [0, 0, 3, 1], [0, 0, 1, 1]])
    >>> em.coherence([["cat", "dog"], ["cat", "tax"]], X, ["cat", "dog", "tax", "law"])
    array([ 1., -1.])
    """
    present = sparse.csc_matrix(X, dtype=bool).astype(np.float64)
    n, V = present.shape
    if not n:
        raise ValueError("X holds no documents: give some in which words occur together.")
    names = range(V) if vocabulary is None else list(vocabulary)
    if len(names) != V:
        raise ValueError(f"vocabulary must have one entry per column, ({V},), got {len(names)}.")
    column = {name: v for v, name in enumerate(names)}
    return np.array([_of_topic(present[:, _columns(some, column)], n) for some in words])


def _columns(words: Sequence[Any], column: dict[Any, int]) -> list[int]:
    unknown = [word for word in words if word not in column]
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is not in the vocabulary. Give that of the columns of X, which must "
            "hold all words of the topics."
        )
    return [column[word] for word in words]


def _of_topic(present: Any, n: int) -> float:
    """Return the mean NPMI of the columns of a matrix (D, n_words) of words that are there."""
    if present.shape[1] < 2:
        return float("nan")
    together = (present.T @ present).toarray() / n
    alone = np.diag(together)
    pairs = np.triu_indices(len(alone), 1)
    both, apart = together[pairs], np.outer(alone, alone)[pairs]
    npmi = np.full(len(both), -1.0)
    npmi[both == 1] = 1.0
    some = (both > 0) & (both < 1)
    npmi[some] = np.log(both[some] / apart[some]) / -np.log(both[some])
    return float(npmi.mean())
