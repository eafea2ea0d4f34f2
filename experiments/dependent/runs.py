"""Learning a corpus once: what the tables and figures are made of."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import evermix as em
from experiments.common import remember
from experiments.dependent.data import Corpus

__all__ = ["MODELS", "chosen", "fitted", "perplexities", "timed"]

PAPER = em.Gamma(0.1, 0.1)  # law of the weights of regions
MODELS = {
    "HDP": em.HDP(),
    "HNGG": em.HNGG(),
    "HSNGG": em.HSNGG(),
    "HMNGG": em.HMNGG(q=PAPER),
    "HMNGP": em.HMNGP(q=PAPER),
    "HTNGG": em.HTNGG(),
    "HTNGP": em.HTNGP(),
    "MNGG": em.MNGG(regions=20),
    "TNGG": em.TNGG(regions=20),
}
TRACED = ("n_topics", "n_tables", "sigma", "sigma0")
ALPHA = 0.3  # of the words of a topic
POINTS = 50  # of the path of the log joint that are kept


def chosen(asked: str, known: Sequence[str]) -> list[str]:
    """Return the names in a list that is separated by commas, or all if there are none."""
    names = asked.split(",") if asked else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: not among {', '.join(known)}.")
    return names


def timed(call: Any) -> tuple[Any, float]:
    """Return the result of a call on one thread, and the processor seconds that it took."""
    with threadpool_limits(1):
        began = time.process_time()
        return call(), time.process_time() - began


def fitted(
    corpus: Corpus,
    prior: Any,
    burn_in: int,
    draws: int,
    seed: int,
    alpha: float = ALPHA,
    sampler: Any = None,
) -> tuple[em.TopicModel, float]:
    """Return a model of the corpus, and the processor seconds that it took."""
    model = em.TopicModel(prior, alpha, sampler, burn_in, draws, random_state=seed)
    return timed(lambda: model.fit(corpus.X, times=corpus.years))


def perplexities(
    name: str,
    train: Corpus,
    test: Corpus,
    model: str,
    run: int,
    burn_in: int,
    draws: int,
    alpha: float = ALPHA,
) -> dict[str, Any]:
    """Return how a model predicts held-out documents, and what it has learnt.

    ``test`` and ``train`` are perplexities. That of the documents which were learnt is of a single
    draw, and of all their words, which gave their topics too.
    """
    prior = MODELS[model]
    settings = {
        "corpus": name,
        "model": model,
        "prior": prior.to_spec(),
        "alpha": alpha,
        "burn_in": burn_in,
        "draws": draws,
        "run": run,
    }

    def learn() -> dict[str, Any]:
        topics, seconds = fitted(train, prior, burn_in, draws, run, alpha)
        traces = topics.traces_
        means = {k: float(traces[k].mean()) if k in traces else None for k in TRACED}
        every = max(draws // POINTS, 1)
        return {
            "test": topics.perplexity(test.X, test.years),
            "train": _own_perplexity(topics, train),
            "seconds": seconds,
            "words": int(train.X.sum()),
            "held_out_words": _foretold(test.X),
            "log_joint": traces["log_joint"][::every].tolist(),
            **means,
        }

    return remember(f"dependent/runs/{name}-{model}-{run}", settings, learn)


def _own_perplexity(topics: em.TopicModel, corpus: Corpus) -> float:
    theta, phi = topics.transform(corpus.X, corpus.years), topics.components_
    X = sparse.coo_array(corpus.X)
    documents, words = X.coords
    total = 0.0
    for some in np.array_split(np.arange(X.nnz), X.nnz // 10_000 + 1):
        p = np.einsum("nk,kn->n", theta[documents[some]], phi[:, words[some]])
        total += float(X.data[some] @ np.log(p))
    return float(np.exp(-total / X.data.sum()))


def _foretold(X: sparse.csr_array) -> int:
    """Return the number of words that are foretold: the larger half of each document."""
    lengths = np.asarray(X.sum(axis=1)).ravel().astype(int)
    return int((lengths - lengths // 2).sum())
