"""Gaussian clusters with full covariances: evermix, the same in NumPy, and peers.

60,000 rows of 50 features in 20 clusters, each with a mean and a covariance of its own.
"""

import time
from typing import Any

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import normalized_mutual_info_score as nmi

import evermix as em
from benchmarks.common import interleaved, target
from benchmarks.streaming.numpy_gaussian import adf_gaussian

__all__ = ["against_numpy", "against_peers"]

N, D, CLUSTERS = 60_000, 50, 20
NUMPY_ROWS = 3_000  # K is reached by then; the time per row does not change any more
DBSTREAM_ROWS = 5_000
KAPPA, NU, BIRTH = 0.2, 2.0 * D, 0.1


def rows(n: int = N, D: int = D) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, D) and their true labels (n,)."""
    rng = np.random.default_rng(0)
    means = 2.0 * rng.normal(size=(CLUSTERS, D))
    factors = np.eye(D) + 0.5 * rng.normal(size=(CLUSTERS, D, D)) / np.sqrt(D)
    labels = rng.integers(CLUSTERS, size=n)
    noise = rng.normal(size=(n, D))
    X = means[labels] + np.einsum("nij,nj->ni", factors[labels], noise, optimize=True)
    return X, labels


def fit(X: np.ndarray) -> em.Mixture:
    """Learn the rows in one pass."""
    family = em.Gaussian(mean=np.zeros(D), kappa=KAPPA, nu=NU, scale=np.eye(D))
    engine = em.ADF(birth=BIRTH, merge=None)
    return em.Mixture(family=family, prior=em.DP(alpha=1.0), engine=engine).fit(X)


def _numpy(X: np.ndarray) -> Any:
    scale = (NU - D - 1) * np.eye(D)
    return adf_gaussian(X, np.zeros(D), KAPPA, NU, scale, a=1.0, birth=BIRTH)


def against_numpy(repeats: int) -> dict[str, Any]:
    """Time the first rows like for like, and the whole pass of evermix."""
    X, truth = rows()
    first = X[:NUMPY_ROWS]
    ours, plain, whole = fit(first), _numpy(first), fit(X)
    seconds = interleaved(
        {"numpy": lambda: _numpy(first), "evermix": lambda: fit(first), "whole": lambda: fit(X)},
        repeats,
    )
    each = {
        "numpy": 1e6 * seconds["numpy"] / NUMPY_ROWS,
        "evermix": 1e6 * seconds["evermix"] / NUMPY_ROWS,
        f"evermix, all {N} rows": 1e6 * seconds["whole"] / N,
    }
    return {
        "rows like for like": NUMPY_ROWS,
        "K": {"numpy": len(plain.mass), "evermix": ours.n_clusters_, "whole": whole.n_clusters_},
        "agreement with numpy (NMI)": nmi(plain.labels, ours.labels_),
        "NMI": {"evermix": nmi(truth, whole.labels_)},
        "microseconds per row": each,
        "speed-up": target(each["numpy"] / each["evermix"], at_least=10),
        "speed-up, all rows": round(each["numpy"] / each[f"evermix, all {N} rows"], 1),
    }


def against_peers(repeats: int) -> dict[str, Any]:
    """Compare rows per second and NMI with MiniBatchKMeans given K, and River's DBSTREAM."""
    from river.cluster import DBSTREAM

    X, truth = rows()
    kmeans = MiniBatchKMeans(CLUSTERS, n_init=1, random_state=0)
    seconds = interleaved({"evermix": lambda: fit(X), "kmeans": lambda: kmeans.fit(X)}, repeats)
    few = [dict(enumerate(x)) for x in X[:DBSTREAM_ROWS].tolist()]
    # The radius is set from the true spread: two rows of a cluster lie about 11 apart.
    river = DBSTREAM(clustering_threshold=12.0, fading_factor=1e-4, cleanup_interval=1_000)
    began = time.process_time()
    for x in few:
        river.learn_one(x)
    dbstream = time.process_time() - began
    labels = [river.predict_one(x) for x in few]
    return {
        "rows of DBSTREAM": DBSTREAM_ROWS,
        "rows per second": {
            "evermix": N / seconds["evermix"],
            "MiniBatchKMeans, given K": N / seconds["kmeans"],
            "DBSTREAM": DBSTREAM_ROWS / dbstream,
        },
        "NMI": {
            "evermix": nmi(truth, fit(X).labels_),
            "MiniBatchKMeans, given K": nmi(truth, kmeans.labels_),
            "DBSTREAM": nmi(truth[:DBSTREAM_ROWS], labels),
        },
    }
