"""A pass over the KOS blog posts: evermix, Algorithm 1 in NumPy, River TextClust, gensim HDP."""

from typing import Any

import numba
import numpy as np
from scipy import sparse

import evermix as em
from benchmarks.common import counts, interleaved, target
from benchmarks.streaming.numpy_adf import adf_multinomial

__all__ = ["against_numpy", "against_peers"]

ALPHA, PRIOR = 0.1, em.NGGP(a=10.0, sigma=0.5, tau=100.0)
PAPER = em.ADF(birth=0.5, rule="paper", merge=None)
HELD_OUT = 686


def documents() -> sparse.csr_array:
    """Return the posts that are not held out, in random order."""
    X = counts("kos/kos.npz")
    return X[np.random.default_rng(0).permutation(X.shape[0])[HELD_OUT:]]


def mixture(engine: Any) -> em.Mixture:
    """Return the paper's model for KOS."""
    family = em.Multinomial(alpha=ALPHA)
    return em.Mixture(family=family, prior=PRIOR, engine=engine, random_state=0)


def against_numpy(repeats: int) -> dict[str, Any]:
    """Time one pass like for like, with our defaults beside it, and reading the rows (the floor).

    Ours counts from the checks of the input to the labels.
    """
    X = documents()
    plain = adf_multinomial(X, ALPHA, PRIOR.a, PRIOR.sigma, PRIOR.tau, birth=PAPER.birth)
    like, usual = mixture(PAPER).partial_fit(X), mixture(em.ADF()).fit(X)
    clusters = np.maximum.accumulate(plain.labels) + 1
    stats = np.ones((X.shape[1], 2 * clusters[-1]))
    _read(X.indptr, X.indices, clusters, stats)
    seconds = interleaved(
        {
            "numpy": lambda: adf_multinomial(
                X, ALPHA, PRIOR.a, PRIOR.sigma, PRIOR.tau, birth=PAPER.birth
            ),
            "evermix": lambda: mixture(PAPER).partial_fit(X),
            "evermix, defaults": lambda: mixture(em.ADF()).fit(X),
            "evermix, no merges": lambda: mixture(em.ADF(merge=None)).fit(X),
            "floor": lambda: _read(X.indptr, X.indices, clusters, stats),
        },
        repeats,
    )
    return {
        "documents": X.shape[0],
        "K": {"numpy": len(plain.mass), "evermix": like.n_clusters_, "defaults": usual.n_clusters_},
        "share of equal labels": float((like.labels_ == plain.labels).mean()),
        "seconds": seconds,
        "speed-up": target(seconds["numpy"] / seconds["evermix"], at_least=20),
        "speed-up of the defaults": round(seconds["numpy"] / seconds["evermix, defaults"], 1),
        "defaults over no merges": target(
            seconds["evermix, defaults"] / seconds["evermix, no merges"], below=1.3
        ),
        "speed-up of the floor": round(seconds["numpy"] / seconds["floor"], 1),
    }


@numba.njit
def _read(indptr: Any, indices: Any, clusters: Any, stats: Any) -> float:
    """Read, for each document, the statistics of its words in all clusters of that moment."""
    total = 0.0
    for i in range(clusters.size):
        for p in range(indptr[i], indptr[i + 1]):
            row = stats[indices[p]]
            for k in range(clusters[i]):
                total += row[k]
    return total


def against_peers(repeats: int) -> dict[str, Any]:
    """Compare documents per second with River's TextClust and gensim's HDP, one pass each."""
    X = documents()
    bags = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in _rows(X)]
    seconds = interleaved(
        {
            "evermix": lambda: mixture(PAPER).partial_fit(X),
            "evermix, defaults": lambda: mixture(em.ADF()).fit(X),
            "gensim HdpModel": lambda: _gensim(bags, X.shape[1]),
        },
        repeats,
    )
    seconds |= interleaved({"River TextClust": lambda: _textclust(bags)}, 1)  # a minute
    rates = {name: X.shape[0] / s for name, s in seconds.items()}
    ratios: dict[str, Any] = {}
    for name in ("evermix", "evermix, defaults"):
        textclust = rates[name] / rates["River TextClust"]
        ratios[f"{name}, over TextClust"] = target(textclust, at_least=100)
        gensim = rates[name] / rates["gensim HdpModel"]
        ratios[f"{name}, over gensim"] = target(gensim, at_least=30)
    return {"documents": X.shape[0], "documents per second": rates} | ratios


def _gensim(bags: list[list[tuple[int, float]]], words: int) -> None:
    from gensim.models import HdpModel

    HdpModel(bags, {w: str(w) for w in range(words)}, random_state=0)


def _textclust(bags: list[list[tuple[int, float]]]) -> None:
    """Learn without predicting, with the settings of the example in River's documentation."""
    from river.cluster import TextClust

    model = TextClust(
        real_time_fading=False, fading_factor=0.001, tgap=100, auto_r=True, radius=0.9
    )
    for bag in bags:
        model.learn_one(dict(bag))


def _rows(X: sparse.csr_array) -> list[sparse.csr_array]:
    return [X[[i]] for i in range(X.shape[0])]
