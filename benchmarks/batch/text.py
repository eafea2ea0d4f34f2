"""Laps over the KOS blog posts: EP and Gibbs beside a pass of ADF, NumPy, and tomotopy's HDP."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score as nmi

import evermix as em
from benchmarks.batch.laps import last, timed_laps
from benchmarks.batch.numpy_clusters import Documents, TunedDocuments
from benchmarks.batch.numpy_ep import Sites
from benchmarks.batch.numpy_gibbs import Chain
from benchmarks.common import rounds, target, timed
from benchmarks.streaming.text import ALPHA, PRIOR, documents, mixture

__all__ = ["against_numpy", "against_peers"]

BIRTH, LAPS, SWEEPS = 0.1, 5, 6
ADF = em.ADF(birth=BIRTH, merge=None)
EP = em.EP(laps=LAPS, birth=BIRTH, merge=None)
GIBBS = em.Gibbs(sweeps=SWEEPS, burn_in=SWEEPS - 1)
NUMPY = {"numpy": Documents, "numpy, tuned": TunedDocuments}
HDP = {
    "tomotopy HDPModel, defaults": {},
    "tomotopy HDPModel, many topics": {"eta": ALPHA, "gamma": 10.0, "initial_k": 100},
}
WARM = 20  # sweeps of HDP before it is timed


def against_numpy(repeats: int) -> dict[str, Any]:
    """Time laps and sweeps at full K, each beside NumPy's.

    "tuned" is NumPy that knows that counts are whole, and takes products before logs.
    """
    X = documents()
    ep, gibbs = mixture(EP).fit(X), mixture(GIBBS).fit(X)
    sites = {name: _sites(kind, X) for name, kind in NUMPY.items()}
    chains = {name: _chain(kind, X, gibbs.labels_) for name, kind in NUMPY.items()}
    rng = np.random.default_rng(0)
    work = ours(X)
    work |= {f"{name}: EP lap": timed(one.lap) for name, one in sites.items()}
    work |= {
        f"{name}: Gibbs sweep": timed(lambda one=one: one.sweep(rng))
        for name, one in chains.items()
    }
    seconds = rounds(work, repeats)
    results: dict[str, Any] = {
        "documents": X.shape[0],
        "K": {"EP": ep.n_clusters_, "Gibbs": gibbs.n_clusters_}
        | {f"{name}: EP": one.K for name, one in sites.items()}
        | {f"{name}: Gibbs": one.K for name, one in chains.items()},
        "agreement of EP with numpy after two laps (NMI)": _agreement(X),
        "seconds": seconds,
        "EP lap, over an ADF pass": target(seconds["EP lap"] / seconds["ADF pass"], below=2.5),
        "Gibbs sweep, over an ADF pass": target(
            seconds["Gibbs sweep"] / seconds["ADF pass"], below=2
        ),
    }
    speedups = {
        f"{lap}, speed-up over {name}": round(seconds[f"{name}: {lap}"] / seconds[lap], 1)
        for lap in ("EP lap", "Gibbs sweep")
        for name in NUMPY
    }
    promised = "Gibbs sweep, speed-up over numpy"
    return results | speedups | {promised: target(speedups[promised], at_least=20)}


def against_peers(repeats: int) -> dict[str, Any]:
    """Compare words per second and sweep with tomotopy's HDP.

    HDP is a topic model: a sweep draws a topic for every word. A mixture draws, or weighs, one
    cluster for every document, and reads all its words in all clusters for it.
    """
    X = documents()
    words = X.sum()
    hdp = {name: _hdp(X, **settings) for name, settings in HDP.items()}
    work = {name: call for name, call in ours(X).items() if name in ("EP lap", "Gibbs sweep")}
    work |= {
        name: timed(lambda model=model: model.train(1, workers=1)) for name, model in hdp.items()
    }
    seconds = rounds(work, repeats)
    clusters = {"EP lap": mixture(EP).fit(X).n_clusters_}
    clusters |= {"Gibbs sweep": mixture(GIBBS).fit(X).n_clusters_}
    return {
        "words": int(words),
        "clusters or topics": clusters | {name: model.live_k for name, model in hdp.items()},
        "million words per second and sweep": {
            name: round(1e-6 * words / each, 2) for name, each in seconds.items()
        },
    }


def ours(X: sparse.csr_array) -> dict[str, Callable[[], float]]:
    """Return what times evermix: a first pass, a pass with K full, a lap, a sweep."""
    taught = mixture(ADF).partial_fit(X)
    return {
        "ADF pass": timed(lambda: mixture(ADF).partial_fit(X)),
        "ADF, a second pass": timed(lambda: taught.partial_fit(X)),
        "EP lap": lambda: last(timed_laps(mixture(EP), X)),
        "Gibbs sweep": lambda: last(timed_laps(mixture(GIBBS), X)),
    }


def _sites(kind: type[Documents], X: sparse.csr_array, laps: int = 2) -> Sites:
    sites = Sites(kind(X, ALPHA), X.shape[0], PRIOR.a, PRIOR.sigma, PRIOR.tau, BIRTH)
    for _ in range(laps):
        sites.lap()
    return sites


def _chain(kind: type[Documents], X: sparse.csr_array, labels: np.ndarray) -> Chain:
    return Chain(kind(X, ALPHA), labels, PRIOR.a, PRIOR.sigma, PRIOR.tau)


def _agreement(X: sparse.csr_array) -> float:
    """Compare the partitions after two laps: names differ, since clusters come and go."""
    two = mixture(em.EP(laps=2, birth=BIRTH, merge=None)).fit(X)
    return float(nmi(two.labels_, _sites(Documents, X).labels))


def _hdp(X: sparse.csr_array, **settings: Any) -> Any:
    """Return a model after its first sweeps."""
    import tomotopy

    model = tomotopy.HDPModel(seed=0, **settings)
    for i in range(X.shape[0]):
        some = slice(X.indptr[i], X.indptr[i + 1])
        words = np.repeat(X.indices[some], X.data[some].astype(np.int64))
        model.add_doc([str(w) for w in words])
    model.train(WARM, workers=1)
    return model
