"""What learns topics: ours, tomotopy's and gensim's, in one thread or two.

Everybody has the same Dirichlet law of words, and predicts half of the words of a new document
from the other half, with probabilities averaged over several states.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy import sparse

import evermix as em
from benchmarks.topics.documents import Documents
from evermix.estimators.topics import questions
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.evaluation import halves

__all__ = ["ALPHA", "Gensim", "Learner", "Ours", "learners", "threaded", "tokens"]

ALPHA = 0.3
INFER = 40  # sweeps over a new document, as ours
THREADS = 2
questions.LEAST_STARTS = 1  # of these sweeps for each state, as others have


class Learner(Protocol):
    """Something that learns documents sweep by sweep."""

    def sweep(self, n: int) -> None:
        """Go over all words n times."""

    def look(self) -> None:
        """Remember the present state."""

    def perplexity(self) -> float:
        """Return how well held-out words are predicted by what was remembered."""

    def topics(self) -> int:
        """Return the number of topics."""


class Ours:
    """A topic model of evermix."""

    def __init__(
        self, prior: Any, documents: Documents, chains: int = 1, sampler: Any = None
    ) -> None:
        self.documents = documents
        self.model = em.TopicModel(
            prior, ALPHA, sampler, burn_in=0, draws=1, chains=chains, random_state=0
        )
        self.started = False

    def sweep(self, n: int) -> None:
        """Sweep, and keep the last draw."""
        model, d = self.model, self.documents
        model.set_params(burn_in=model.burn_in + n - (not self.started))
        (model.resume if self.started else model.fit)(
            d.train, times=d.times if model.prior.timed else None
        )
        self.started = True

    def look(self) -> None:
        """Remember nothing: the draw was kept."""

    def perplexity(self) -> float:
        """Return the model's own perplexity."""
        return self.model.perplexity(self.documents.test, self.documents.test_times)

    def topics(self) -> int:
        """Return the number of topics."""
        return int(self.model.traces_["n_topics"][-1])


class _Peer:
    """A model that gives shares of topics of documents, and words of topics."""

    def __init__(self, documents: Documents) -> None:
        X = documents.test.astype(np.int64)
        corpus = Corpus.of(sparse.csr_matrix(X), np.zeros(X.shape[0], dtype=np.int64), 1)
        self.first, self.second = halves(corpus)
        self.p, self.looks = np.zeros(len(self.second)), 0

    def look(self) -> None:
        """Add the probabilities of words under the present state."""
        bags = np.split(self.first.word, self.first.start[1:-1])
        theta, phi = self.shares_and_words(bags)
        document, word = self.second.document, self.second.word
        for some in np.array_split(np.arange(len(word)), len(word) // 10_000 + 1):
            self.p[some] += np.einsum("nk,kn->n", theta[document[some]], phi[:, word[some]])
        self.looks += 1

    def shares_and_words(self, bags: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return shares (D, K) of topics of documents, and probabilities (K, V) of words."""
        raise NotImplementedError

    def perplexity(self) -> float:
        """Return how well held-out words are predicted."""
        return float(np.exp(-np.log(self.p / self.looks).mean()))


class Tomotopy(_Peer):
    """The HDP of tomotopy."""

    def __init__(self, documents: Documents, topics: int, threads: int = 1) -> None:
        import tomotopy

        super().__init__(documents)
        self.alone = {"workers": 1, "parallel": tomotopy.ParallelScheme.NONE}
        several = {"workers": threads, "parallel": tomotopy.ParallelScheme.DEFAULT}
        self.how = several if threads > 1 else self.alone
        self.model = tomotopy.HDPModel(initial_k=topics, eta=ALPHA, seed=1)
        for words in tokens(documents.train):
            self.model.add_doc(list(map(str, words)))

    def sweep(self, n: int) -> None:
        """Go over all words n times."""
        self.model.train(n, **self.how)

    def shares_and_words(self, bags: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return shares of topics, which are inferred with all else fixed, and words."""
        documents = [self.model.make_doc(list(map(str, words))) for words in bags]
        theta = np.array(self.model.infer(documents, iterations=INFER, **self.alone)[0])
        live = [k for k in range(self.model.k) if self.model.is_live_topic(k)]
        theta, words = theta[:, live], np.array(self.model.used_vocabs, dtype=int)
        phi = np.empty((len(live), len(words)))
        phi[:, words] = [self.model.get_topic_word_dist(k) for k in live]
        return theta / theta.sum(axis=1, keepdims=True), phi

    def topics(self) -> int:
        """Return the number of topics."""
        return int(self.model.live_k)


class Gensim(_Peer):
    """The online variational HDP of gensim, which has at most 150 topics. A sweep is a pass."""

    def __init__(self, documents: Documents) -> None:
        from gensim.models import HdpModel

        super().__init__(documents)
        self.bags = [_bag(words) for words in tokens(documents.train)]
        names = {w: str(w) for w in range(documents.train.shape[1])}
        self.start = lambda: HdpModel(self.bags, names, eta=ALPHA, random_state=0)
        self.model: Any = None

    def sweep(self, n: int) -> None:
        """Go over all documents once, however many sweeps are asked for: it is slow."""
        if self.model is None:
            self.model = self.start()
        else:
            self.model.update(self.bags)

    def shares_and_words(self, bags: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return expected shares and words."""
        gamma = self.model.inference([_bag(words) for words in bags])
        return gamma / gamma.sum(axis=1, keepdims=True), self.model.get_topics()

    def topics(self) -> int:
        """Return the number of topics that there may be."""
        return int(self.model.m_T)


def learners(documents: Documents) -> dict[str, Learner]:
    """Return all that can learn the documents here, by name."""
    makers: dict[str, Callable[[], Learner]] = {
        "HDP": lambda: Ours(em.HDP(), documents),
        "HDP, H2": lambda: Ours(em.HDP(), documents, sampler=em.H2()),
        "HMNGG": lambda: Ours(em.HMNGG(), documents),
        "tomotopy HDPModel": lambda: Tomotopy(documents, 2),
        "tomotopy HDPModel, 10 topics at first": lambda: Tomotopy(documents, 10),
        "tomotopy HDPModel, 50 topics at first": lambda: Tomotopy(documents, 50),
        "gensim HdpModel": lambda: Gensim(documents),
    }
    return _present(makers)


def threaded(documents: Documents) -> dict[str, Learner]:
    """Return what can learn in two threads: ours has a chain in each, both exact."""
    return _present(
        {
            "HDP": lambda: Ours(em.HDP(), documents, THREADS),
            "tomotopy HDPModel, 50 topics at first": lambda: Tomotopy(documents, 50, THREADS),
        }
    )


def _present(makers: dict[str, Callable[[], Learner]]) -> dict[str, Learner]:
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except ImportError:
            continue
    return found


def tokens(X: sparse.csr_array) -> list[np.ndarray]:
    """Return the words of each document, one number for each time that it is there."""
    return [np.repeat(X[[i]].indices, X[[i]].data.astype(int)) for i in range(X.shape[0])]


def _bag(words: np.ndarray) -> list[tuple[int, int]]:
    kinds, n = np.unique(words, return_counts=True)
    return list(zip(kinds.tolist(), n.tolist(), strict=True))
