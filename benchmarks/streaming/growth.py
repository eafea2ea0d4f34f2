"""The abstracts stream: does the time per document follow K, and memory stay put?

The time of each part of 5,000 documents is set beside K and the n seen so far; least squares on
both says how much of the time each explains. A second stream with K capped holds K still, so that
what is left is the growth with n.
"""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.streaming.common import counts, interleaved, target
from scipy import sparse

import evermix as em

__all__ = ["growth"]

WORDS, HELD_OUT, STEP = 7_841, 5_000, 5_000
CAP = 8
PRIORS = {"IG": em.NGGP(a=100.0, sigma=0.5, tau=100.0), "DP": em.DP(alpha=1000.0)}


def stream() -> sparse.csr_array:
    """Return the documents in time order without the held-out ones, commonest words only."""
    X = counts("abstracts_stream/stream.npz")
    kept = np.sort(np.argsort(-X.sum(axis=0), kind="stable")[:WORDS])
    held = np.random.default_rng(0).choice(X.shape[0], HELD_OUT, replace=False)
    return X[:, kept][np.setdiff1d(np.arange(X.shape[0]), held)]


def growth(repeats: int) -> dict[str, Any]:
    """Stream with both priors, and once with K held still."""
    del repeats  # the stream's parts are its repeats
    X = stream()
    engine = em.ADF(birth=0.1, merge=None)
    learn(em.Mixture(family=em.Multinomial(0.5), prior=PRIORS["IG"], engine=engine), X[:STEP])
    results = {}
    for name, prior in PRIORS.items():
        mix = em.Mixture(family=em.Multinomial(alpha=0.5), prior=prior)
        results[name] = _summary(*learn(mix, X))
    mix = em.Mixture(em.Multinomial(alpha=0.5), PRIORS["IG"], engine, max_clusters=CAP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", em.CapacityWarning)
        n, K, nanoseconds, _ = learn(mix, X)
    still = n > n[np.argmax(K == CAP)]
    early, late = np.array_split(nanoseconds[still], 2)
    results[f"K held at {CAP}"] = {
        "from": int(n[still][0]),
        "nanoseconds per word, second half over first": target(
            np.median(late) / np.median(early), below=1.1
        ),
    }
    return results


def learn(mix: em.Mixture, X: sparse.csr_array) -> tuple[np.ndarray, ...]:
    """Learn X part by part; return n, K, nanoseconds per word of a document, and resident MB."""
    seen = []
    for start in range(0, X.shape[0] - STEP + 1, STEP):
        part = X[start : start + STEP]
        seconds = interleaved({"part": lambda part=part: mix.partial_fit(part)}, 1)["part"]
        seen.append((start + STEP, mix.n_clusters_, 1e9 * seconds / part.nnz, _resident()))
    return tuple(np.array(seen).T)


def _summary(n: np.ndarray, K: np.ndarray, nanoseconds: np.ndarray, memory: np.ndarray) -> Any:
    design = np.column_stack([np.ones_like(n), K, n])
    fixed, per_cluster, per_document = np.linalg.lstsq(design, nanoseconds, rcond=None)[0]
    after = memory[n >= 10_000]
    return {
        "K": K.astype(int).tolist(),
        "nanoseconds per word": nanoseconds.round(1).tolist(),
        "fit": {
            "fixed": round(fixed, 1),
            "from K, at the end": round(per_cluster * K[-1], 1),
            "from n, at the end": round(per_document * n[-1], 1),
        },
        "resident MB after 10,000": round(after[0], 1),
        "resident MB grown since": target(after[-1] - after[0], below=100),
    }


def _resident() -> float:
    """Return the resident memory of this process in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6
