"""Topic models beside LDA, whose number of topics is chosen on other documents.

Every learner makes its sweeps in a process of its own, so that memory is its own, and is judged by
the same code. What is remembered are ten states, evenly spaced over the last hundred sweeps.
"""

import resource
import time
from typing import Any, Protocol

import numpy as np

import evermix as em
from benchmarks.topics.documents import CORPORA, Documents, others
from benchmarks.topics.learners import tokens
from benchmarks.topics.prediction import TopicState, judged, perplexity

__all__ = ["Settings", "learnt"]

STATES = 10
PEER = "tomotopy LDAModel"
Settings = dict[str, Any]


class Learner(Protocol):
    """A topic model that tells its states."""

    def sweep(self, n: int) -> None:
        """Go over all words n times."""

    def state(self) -> TopicState:
        """Return where it stands."""

    def topics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities (K, V) of the words of topics, and their shares (K,)."""


class Lda:
    """The LDA of tomotopy: K topics; the Dirichlet law of documents is learnt, by its default."""

    def __init__(self, documents: Documents, seed: int, K: int, eta: float = 0.01) -> None:
        import tomotopy

        self.V = documents.train.shape[1]
        self.alone = {"workers": 1, "parallel": tomotopy.ParallelScheme.NONE}
        self.model = tomotopy.LDAModel(k=K, eta=eta, seed=seed + 1)
        for words in tokens(documents.train):
            self.model.add_doc(list(map(str, words)))

    def sweep(self, n: int) -> None:
        """Go over all words n times."""
        self.model.train(n, **self.alone)

    def state(self) -> TopicState:
        """Return the words of topics, and the Dirichlet law of those of a document."""
        alpha = np.array(self.model.alpha, dtype=np.float64)
        a, eta = float(alpha.sum()), float(self.model.eta)
        counts = np.round(self._words(False) - eta).astype(np.int64)
        return TopicState(counts.T, eta, np.append(alpha / a, 0.0)[None], a, 0.0)

    def topics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the words of topics, and shares."""
        sizes = np.array(self.model.get_count_by_topics(), dtype=np.float64)
        return self._words(True), sizes / sizes.sum()

    def _words(self, normal: bool) -> np.ndarray:
        """Return probabilities (K, V) of words, or numbers of words and eta."""
        words = np.zeros((self.model.k, self.V))
        names = np.array(self.model.used_vocabs, dtype=int)
        every = range(self.model.k)
        words[:, names] = [self.model.get_topic_word_dist(k, normalize=normal) for k in every]
        return words


class Ours:
    """A topic model of evermix with its defaults."""

    def __init__(self, documents: Documents, seed: int, prior: str, **settings: Any) -> None:
        self.documents = documents
        law = getattr(em, prior)()
        self.times = documents.times if law.timed else None
        self.model = em.TopicModel(law, burn_in=0, draws=1, random_state=seed, **settings)
        self.begun = False

    def sweep(self, n: int) -> None:
        """Sweep, and keep the last draw."""
        model, d = self.model, self.documents
        model.set_params(burn_in=model.burn_in + n - (not self.begun))
        (model.resume if self.begun else model.fit)(d.train, times=self.times)
        self.begun = True

    def state(self) -> TopicState:
        """Return the topics of the last draw."""
        fitted = self.model._fitted
        last = fitted.run.snapshots[0][-1]
        weights = np.exp(last.log_weights(fitted.measure()))
        return TopicState(last.counts, last.beta, weights, last.a, last.sigma)

    def topics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the words of topics, and shares."""
        return self.model.components_, self.model.weights_


def learnt(corpus: str, settings: Settings, sweeps: int, choosing: bool = False) -> Settings:
    """Learn a corpus, and return what came of it.

    ``settings`` names the learner, its seed, and what else it takes. ``choosing`` learns and judges
    on other documents than those that are held out.
    """
    documents = CORPORA[corpus]()
    documents = others(documents) if choosing else documents
    settings = dict(settings)
    name, seed = settings.pop("learner"), settings.pop("seed")
    learner: Learner = (
        Lda(documents, seed, **settings)
        if name == PEER
        else Ours(documents, seed, name, **settings)
    )
    began, states, spacing = time.process_time(), [], max((sweeps // 4) // STATES, 1)
    learner.sweep(sweeps - spacing * STATES)
    before = time.process_time()
    for _ in range(STATES):
        learner.sweep(spacing)
        states.append(learner.state())
    after, words = time.process_time(), int(documents.train.sum())
    times = np.unique(documents.times, return_inverse=True)
    codes = np.searchsorted(times[0], documents.test_times)
    if len(states[0].weights) == 1:
        codes = np.zeros_like(codes)
    return {
        "perplexity": perplexity(states, documents.test, codes),
        "perplexity of one state": perplexity(states[-1:], documents.test, codes),
        **judged(*learner.topics(), documents.train),
        "seconds": after - began,
        "words per second": words * spacing * STATES / (after - before),
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
