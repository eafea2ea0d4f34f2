"""Gaussian clusters with full covariances: EP and Gibbs beside NumPy and scikit-learn.

20,000 rows of 16 features in 20 clusters, each with a mean and a covariance of its own.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score as nmi
from sklearn.mixture import BayesianGaussianMixture

import evermix as em
from benchmarks.batch.laps import last, timed_laps
from benchmarks.batch.numpy_clusters import Vectors
from benchmarks.batch.numpy_gibbs import Chain
from benchmarks.common import rounds, timed
from benchmarks.streaming.vectors import CLUSTERS, rows

__all__ = ["vectors"]

N, D = 20_000, 16
NUMPY_ROWS = 3_000  # K is reached by then; the time per row does not change any more
KAPPA, NU, PRIOR, BIRTH = 0.2, 2.0 * D, em.NGGP(a=1.0, sigma=0.25, tau=1.0), 0.1
EP = em.EP(laps=4, birth=BIRTH, merge=None)
GIBBS = em.Gibbs(sweeps=4, burn_in=3)
ITERATIONS = 10


def vectors(repeats: int) -> dict[str, Any]:
    """Time a lap, a sweep and an iteration on the same rows; NumPy's sweep on the first ones."""
    X, truth = rows(N, D)
    fits = {"EP": mixture(EP).fit(X), "Gibbs": mixture(GIBBS).fit(X)}
    first = X[:NUMPY_ROWS]
    chain, rng = _chain(first), np.random.default_rng(0)
    seconds = rounds(
        {
            "EP lap": lambda: last(timed_laps(mixture(EP), X), 2),
            "Gibbs sweep": lambda: last(timed_laps(mixture(GIBBS), X), 2),
            "sklearn iteration": lambda: _iteration(X),
            "first rows: Gibbs sweep": lambda: last(timed_laps(mixture(GIBBS), first), 2),
            "first rows: numpy's sweep": timed(lambda: chain.sweep(rng)),
        },
        repeats,
    )
    each = {
        name: 1e6 * s / (NUMPY_ROWS if name.startswith("first") else N)
        for name, s in seconds.items()
    }
    peer = _sklearn(100).fit(X)
    results: dict[str, Any] = {
        "rows": {"all": N, "first": NUMPY_ROWS},
        "K": {name: mix.n_clusters_ for name, mix in fits.items()}
        | {"sklearn": CLUSTERS, "first rows": chain.K},
        "NMI": {name: nmi(truth, mix.labels_) for name, mix in fits.items()}
        | {"sklearn, 100 iterations": nmi(truth, peer.predict(X))},
        "microseconds per row": {name: round(value, 3) for name, value in each.items()},
    }
    for lap in ("EP lap", "Gibbs sweep"):
        ratio = each[lap] / each["sklearn iteration"]
        results[f"{lap}, over an iteration of sklearn"] = round(ratio, 2)
    ratio = each["first rows: numpy's sweep"] / each["first rows: Gibbs sweep"]
    return results | {"Gibbs sweep, speed-up over numpy": round(ratio, 1)}


def mixture(engine: Any) -> em.Mixture:
    """Return the model that all but scikit-learn's learn."""
    family = em.Gaussian(mean=np.zeros(D), kappa=KAPPA, nu=NU, scale=np.eye(D))
    return em.Mixture(family=family, prior=PRIOR, engine=engine, random_state=0)


def _chain(X: np.ndarray) -> Chain:
    clusters = Vectors(X, np.zeros(D), KAPPA, NU, (NU - D - 1) * np.eye(D))
    labels = mixture(GIBBS).fit(X).labels_
    return Chain(clusters, labels, PRIOR.a, PRIOR.sigma, PRIOR.tau)


def _iteration(X: np.ndarray) -> float:
    """Time of one iteration: fits of two lengths start alike, so the start cancels."""
    short, long = (timed(lambda n=n: _sklearn(n).fit(X))() for n in (1, 1 + ITERATIONS))
    return (long - short) / ITERATIONS


def _sklearn(iterations: int) -> BayesianGaussianMixture:
    warnings.simplefilter("ignore", ConvergenceWarning)  # it is not asked to converge
    return BayesianGaussianMixture(
        n_components=CLUSTERS,
        max_iter=iterations,
        tol=0.0,
        init_params="random_from_data",
        covariance_prior=np.eye(D),
        weight_concentration_prior=1.0,
        random_state=0,
    )
