"""One perplexity for all topic models, and the other numbers by which topics are judged.

A model is given by its states: the words of topics, and the law of the topics of a document. Half
of the words of a held-out document give its topics, the others are predicted, with probabilities
that are averaged over states. The code is the same for all models.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import evermix as em
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.evaluation import add_probabilities, fold_in, freeze, halves

__all__ = ["TopicState", "judged", "perplexity"]

SWEEPS, SKIP = 20, 20  # over a half of a document: those that are averaged, and those before
LARGE = 0.005  # share of all words that a topic must have to be counted as large
TOP, DISTINCT = 10, 25  # words of a topic that coherence and diversity look at


class TopicState(NamedTuple):
    """A state of a topic model.

    The topics of a document have a normalised generalised gamma process of mass ``a`` and index
    ``sigma``, whose base measure is ``weights``; with index zero, that is the Dirichlet law of
    parameters ``a * weights``, as in LDA.
    """

    counts: Any  # array or CSR matrix (V, K), words of each topic
    beta: float  # of the symmetric Dirichlet law of the words of a topic
    weights: np.ndarray  # (T, K + 1) of topics at each time, and of a new one; sums are one
    a: float
    sigma: float


def perplexity(states: list[TopicState], X: sparse.csr_array, times: np.ndarray) -> float:
    """Return how half of the words of documents are foretold from the other half."""
    T = len(states[0].weights)
    corpus = Corpus.of(sparse.csr_matrix(X.astype(np.int64)), times, T)
    first, second = halves(corpus)
    p = np.zeros(len(second))
    for seed, state in enumerate(states):
        model = freeze(state.counts, state.weights, state.beta, state.a, state.sigma)
        theta = fold_in(model, first, state.beta, SWEEPS, SKIP, seed)
        add_probabilities(model, second, state.beta, theta, p)
    return float(np.exp(-np.log(p / len(states)).mean()))


def judged(words: np.ndarray, sizes: np.ndarray, X: sparse.csr_array) -> dict[str, Any]:
    """Return numbers of topics, and coherence and diversity of the large ones.

    Parameters
    ----------
    words : array (K, V)
        Probabilities of the words of each topic.
    sizes : array (K,)
        Share of each topic among all words.
    X : CSR (D, V)
        Documents in which words are looked for.
    """
    large = words[sizes >= LARGE]
    order = np.argsort(-large, axis=1, kind="stable")
    coherence = em.coherence(order[:, :TOP].tolist(), X)
    return {
        "topics": len(words),
        "large topics": len(large),
        "words in large topics": float(sizes[sizes >= LARGE].sum()),
        "coherence": float(np.mean(coherence)),
        "diversity": len(np.unique(order[:, :DISTINCT])) / order[:, :DISTINCT].size,
    }
