"""What a user of scikit-learn would take for vectors. All see columns of mean 0 and variance 1."""

import warnings

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from benchmarks.quality.methods.base import Answer, Method, standardised
from benchmarks.quality.sets.base import LabelledSet

__all__ = ["METHODS", "clustered_by_density"]

DENSE = ("vectors", "blobs", "newcomers", "drifting", "measurements")
TOLD_K = tuple(kind for kind in DENSE if kind != "blobs")
FEW, MANY, LARGE = 20, 30, 15  # components tried: FEW, or MANY where the truth is more than LARGE
WIDE = 16  # columns above which diagonal covariances are tried too
TRUNCATION = 30
STARTS = 10  # of k-means


def gmm_bic(one: LabelledSet, seed: int) -> Answer:
    """The Gaussian mixture of 1 to 20 (or 30) components with the best BIC.

    Covariances are full; where there are more than 16 columns, diagonal ones compete.
    """
    X, best = standardised(one.X), (np.inf, None)
    most = min(MANY if one.K > LARGE else FEW, one.n)
    for covariances in ("full", "diag") if one.d > WIDE else ("full",):
        for k in range(1, most + 1):
            model = GaussianMixture(k, covariance_type=covariances, n_init=1, random_state=seed)
            _quietly(model, X)
            bic = model.bic(X)
            if bic < best[0]:
                best = bic, model
    return Answer(best[1].predict(X))


def bgm(one: LabelledSet, seed: int) -> Answer:
    """scikit-learn's variational mixture with 30 components, at its defaults otherwise."""
    X = standardised(one.X)
    model = BayesianGaussianMixture(n_components=min(TRUNCATION, one.n), random_state=seed)
    return Answer(_quietly(model, X).predict(X))


def _quietly(model: GaussianMixture, X: np.ndarray) -> GaussianMixture:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


def hdbscan_5(one: LabelledSet, seed: int) -> Answer:
    """HDBSCAN at its defaults: clusters of at least 5 rows."""
    del seed
    return clustered_by_density(standardised(one.X), 5)


def hdbscan_1pct(one: LabelledSet, seed: int) -> Answer:
    """HDBSCAN with clusters of at least 1% of the rows."""
    del seed
    return clustered_by_density(standardised(one.X), max(5, one.n // 100))


def clustered_by_density(X: np.ndarray, smallest: int) -> Answer:
    """Return what HDBSCAN finds in these rows; rows that it calls noise have the label -1."""
    return Answer(HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(X))


def kmeans_given_k(one: LabelledSet, seed: int) -> Answer:
    """k-means with the true K; embeddings of unit length are taken as they are."""
    X = one.X if one.kind == "embeddings" else standardised(one.X)
    return Answer(KMeans(one.K, n_init=STARTS, random_state=seed).fit_predict(X))


METHODS = (
    Method("gmm_bic", "peers", DENSE, gmm_bic),
    Method("bgm_30", "peers", DENSE, bgm),
    Method("hdbscan_5", "peers", DENSE, hdbscan_5),
    Method("hdbscan_1pct", "peers", DENSE, hdbscan_1pct),
    Method("kmeans_given_k", "peers", (*TOLD_K, "embeddings"), kmeans_given_k),
)
