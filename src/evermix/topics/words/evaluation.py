"""Documents that a topic model has not seen: their topics, and the probability of their words."""

from zlib import crc32

import numpy as np
from scipy import sparse

from evermix._xp import Array, Bools, Floats
from evermix.kernels.stirling import seat_ratios
from evermix.kernels.topics.dishes import WordTopics, room_for_weights
from evermix.kernels.topics.evaluation import (
    DocumentScratch,
    FrozenTopics,
    NewTime,
    fold_document,
    fold_mixed,
    fold_thinned,
    word_probabilities,
)
from evermix.priors.hyper import Beta, Gamma
from evermix.topics.measures import Measure
from evermix.topics.priors import MNGG, TNGG
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.snapshots import Snapshot

FIRST_TABLES = 32  # tables of a topic in a document that there is room for at first
SPLIT = 20130616  # seed of the halves, the same for all models


def frozen(snapshot: Snapshot, measure: Measure) -> FrozenTopics:
    """Return the topics of a draw.   Consumes: measure."""
    top = np.exp(snapshot.log_weights(measure))
    return freeze(snapshot.counts, top, snapshot.beta, snapshot.a, snapshot.sigma)


def freeze(counts: Array, top: Floats, beta: float, a: float, sigma: float) -> FrozenTopics:
    """Return topics of these words (V, K), an array or CSR matrix, and weights (T, K + 1)."""
    counts = sparse.csr_matrix(counts)
    V, K = counts.shape
    totals = np.append(np.asarray(counts.sum(axis=0, dtype=np.float64)).ravel(), 0.0)
    start, topic = counts.indptr.astype(np.int64), counts.indices.astype(np.int32)
    lists = WordTopics(start, start[1:].copy(), topic, counts.data.astype(np.int32))
    inverse = 1.0 / (V * beta + totals)
    return FrozenTopics(lists, inverse, np.ascontiguousarray(top), K + 1, a, sigma)


def fold_in(
    model: FrozenTopics, corpus: Corpus, beta: float, sweeps: int, skip: int, seed: int
) -> Floats:
    """Return the probability of each topic, and of a new one, for one more word, (D, K + 1).

    That of a document does not depend on others. It is averaged over ``sweeps`` sweeps, after
    ``skip`` others.
    """
    C, n_max, words = model.n_topics, int(corpus.lengths.max(initial=1)), corpus.words(beta)
    theta = np.empty((corpus.n_documents, model.n_topics))
    n, t = np.zeros((2, C), dtype=np.int64)
    worth = room_for_weights(C)
    scratch = DocumentScratch(np.zeros(n_max, dtype=np.int64), n, t, worth)
    ratios = _ratios(model.sigma, n_max, FIRST_TABLES)
    for d, shares in enumerate(theta):
        rng = _rng(corpus, d, seed)
        while not fold_document(words, model, scratch, ratios, sweeps, skip, d, shares, rng):
            ratios, rng = _ratios(model.sigma, n_max, 2 * ratios.shape[1]), _rng(corpus, d, seed)
    return theta


def _ratios(sigma: float, n_max: int, t_max: int) -> Floats:
    ratios = np.empty((n_max + 1, min(n_max, t_max) + 1, 2))
    seat_ratios(sigma, ratios)
    return ratios


def _rng(corpus: Corpus, d: int, seed: int) -> np.random.Generator:
    """Return a generator for document d, which depends on its words alone."""
    some = corpus.word[corpus.start[d] : corpus.start[d + 1]]
    return np.random.default_rng((seed, crc32(some.astype("<i4").tobytes())))


def fold_flat(
    snapshot: Snapshot, prior: MNGG | TNGG, corpus: Corpus, sweeps: int, skip: int, seed: int
) -> tuple[FrozenTopics, Floats]:
    """Do the same where every document is a time of its own; return the topics, too."""
    (V, K), beta = snapshot.counts.shape, snapshot.beta
    jump, fresh = snapshot.measure["jump"], snapshot.measure["fresh"]
    R, C = len(fresh), K + len(fresh)
    counts = np.zeros((V, C))
    counts[:, :K] = snapshot.counts.toarray()
    inverse = 1.0 / (V * beta + counts.sum(axis=0))
    region = np.concatenate([snapshot.region, np.arange(R)])
    first, second, fixed = _law(prior.q)
    time = NewTime(counts, inverse, np.append(jump, fresh), region, first, second, fixed)
    theta, words = np.empty((corpus.n_documents, C)), corpus.words(beta)
    L = int(corpus.lengths.max(initial=1))
    q, n, (there, weight) = np.empty(R), np.zeros(C, dtype=np.int64), np.empty((2, C))
    dish, p = np.zeros(L, dtype=np.int64), np.empty(L + 1)
    for d, shares in enumerate(theta):
        rng = _rng(corpus, d, seed)
        if isinstance(prior, TNGG):
            fold_thinned(words, time, sweeps, skip, d, there, p, shares, rng)
        else:
            fold_mixed(words, time, sweeps, skip, d, q, there, n, weight, dish, shares, rng)
    new = theta[:, K:].sum(axis=1)
    model = freeze(snapshot.counts, np.empty((0, K + 1)), beta, 0.0, 0.0)
    return model, np.column_stack([theta[:, :K], new])


def _law(q: float | Gamma | Beta) -> tuple[float, float, float]:
    """Return the numbers of a law, and -1; or zeros and a value."""
    if isinstance(q, Gamma):
        return q.shape, q.rate, -1.0
    if isinstance(q, Beta):
        return q.a, q.b, -1.0
    return 0.0, 0.0, float(q)


def add_probabilities(
    model: FrozenTopics, corpus: Corpus, beta: float, theta: Floats, out: Floats
) -> None:
    """Add the probability of every word, given theta (D, K + 1), to ``out`` (N,).

    Consumes: out.
    """
    word_probabilities(corpus.words(beta), model, theta, out)


def halves(corpus: Corpus) -> tuple[Corpus, Corpus]:
    """Split the words of every document at random: those to learn from, and those to predict.

    The split of a document depends on its words alone. The first half is the smaller.
    """
    first = np.zeros(len(corpus), dtype=bool)
    for d, n in enumerate(corpus.lengths):
        chosen = _rng(corpus, d, SPLIT).permutation(n)[: n // 2]
        first[corpus.start[d] + chosen] = True
    return _some(corpus, first), _some(corpus, ~first)


def _some(corpus: Corpus, chosen: Bools) -> Corpus:
    lengths = np.bincount(corpus.document[chosen], minlength=corpus.n_documents)
    start = np.append(0, np.cumsum(lengths))
    return Corpus(corpus.word[chosen], start, corpus.time, corpus.size, corpus.n_times)
