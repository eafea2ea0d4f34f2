"""The abstracts stream: does the time per document follow K, and memory stay put?

K itself grows with n, so the two are separated by streams with K capped, of a family that reaches
the cap early: along each stream only n changes, between the streams only K.
"""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import evermix as em
from benchmarks.common import counts, interleaved, target

__all__ = ["growth"]

WORDS, HELD_OUT, STEP = 7_841, 5_000, 5_000
CAPS = (8, 32, 128)
NARROW = 0.03  # a Dirichlet prior that asks for many clusters
PRIORS = {"IG": em.NGGP(a=100.0, sigma=0.5, tau=100.0), "DP": em.DP(alpha=1000.0)}


def stream() -> sparse.csr_array:
    """Return the documents in time order without the held-out ones, commonest words only."""
    X = counts("abstracts_stream/stream.npz")
    kept = np.sort(np.argsort(-X.sum(axis=0), kind="stable")[:WORDS])
    held = np.random.default_rng(0).choice(X.shape[0], HELD_OUT, replace=False)
    return X[:, kept][np.setdiff1d(np.arange(X.shape[0]), held)]


def growth(repeats: int) -> dict[str, Any]:
    """Stream with both priors, then with K held still."""
    del repeats  # the stream's parts are its repeats
    X = stream()
    learn(em.Mixture(em.Multinomial(alpha=0.5), PRIORS["IG"]), X[:STEP])  # loads what is compiled
    results: dict[str, Any] = {}
    for name, prior in PRIORS.items():
        results[name] = _summary(*learn(em.Mixture(em.Multinomial(alpha=0.5), prior), X))
    held = {K: _held(X, K) for K in CAPS}
    results["K held"] = {
        "nanoseconds per word": {K: round(float(np.median(path)), 1) for K, path in held.items()},
        "last third over first": {
            K: target(
                np.median(path[-len(path) // 3 :]) / np.median(path[: len(path) // 3]), below=1.2
            )
            for K, path in held.items()
        },
    }
    return results


def _held(X: sparse.csr_array, K: int) -> np.ndarray:
    """Return nanoseconds per word of the parts after K has reached its cap."""
    engine = em.ADF(merge=None)
    mix = em.Mixture(em.Multinomial(alpha=NARROW), PRIORS["IG"], engine, max_clusters=K)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", em.CapacityWarning)
        _, clusters, nanoseconds, _ = learn(mix, X)
    return nanoseconds[np.argmax(clusters == K) + 1 :]


def learn(mix: em.Mixture, X: sparse.csr_array) -> tuple[np.ndarray, ...]:
    """Learn X part by part; return n, K, nanoseconds per word of a document, and resident MB."""
    seen = []
    for start in range(0, X.shape[0] - STEP + 1, STEP):
        part = X[start : start + STEP]
        seconds = interleaved({"part": lambda part=part: mix.partial_fit(part)}, 1)["part"]
        seen.append((start + STEP, mix.n_clusters_, 1e9 * seconds / part.nnz, _resident()))
    return tuple(np.array(seen).T)


def _summary(n: np.ndarray, K: np.ndarray, nanoseconds: np.ndarray, memory: np.ndarray) -> Any:
    after = memory[n >= 10_000]
    return {
        "K": K.astype(int).tolist(),
        "nanoseconds per word": nanoseconds.round(1).tolist(),
        "resident MB after 10,000": round(after[0], 1),
        "resident MB grown since": target(after[-1] - after[0], below=100),
    }


def _resident() -> float:
    """Return the resident memory of this process in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6
