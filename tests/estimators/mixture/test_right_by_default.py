"""What a user gets without settings."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

import evermix as em


@pytest.mark.parametrize(("n", "D"), [(100, 1), (1000, 2), (1000, 10), (300, 50)])
def test_one_blob_is_one_cluster(n, D):
    X = np.random.default_rng(0).normal(size=(n, D))
    assert em.Mixture().fit(X).n_clusters_ == 1


@pytest.mark.parametrize(("load", "floor"), [(load_iris, 0.7), (load_wine, 0.5)])
def test_columns_of_any_scale_are_taken_as_they_are(load, floor):
    X, y = load(return_X_y=True)
    found = em.Mixture().fit(X)
    assert adjusted_mutual_info_score(y, found.labels_) > floor
    scale = 10.0 ** np.arange(-3, X.shape[1] - 3)
    again = em.Mixture().fit(X * scale)
    assert adjusted_mutual_info_score(found.labels_, again.labels_) > 0.9


def test_labels_are_those_of_the_final_model():
    X, _ = make_blobs(600, centers=5, random_state=0)
    mix = em.Mixture().fit(X)
    assert np.mean(mix.labels_ == mix.predict(X)) > 0.99


def test_overlapping_clusters_are_kept_apart():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 2)) + np.outer(y, [3.0, 0.0])
    assert adjusted_rand_score(y, em.Mixture().fit(X).labels_) > 0.6


def test_what_is_given_stays():
    X, _ = make_blobs(500, centers=3, random_state=0)
    mix = em.Mixture(em.Gaussian(kappa=0.02, nu=9.0), em.DP(2.0)).fit(X)
    assert isinstance(mix.model_.family, em.Gaussian) and mix.model_.prior == em.DP(2.0)
    assert (mix.model_.family.kappa, mix.model_.family.nu) == (0.02, 9.0)
    assert em.Mixture(em.Multinomial(0.3)).fit(np.eye(9, dtype=int)).model_.family.alpha == 0.3


def test_documents_without_settings():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(100, 0.05), size=12)
    y = rng.integers(0, 12, 800)
    X = sparse.csr_matrix(np.stack([rng.multinomial(15, topics[k]) for k in y]))
    assert adjusted_mutual_info_score(y, em.Mixture().fit(X).labels_) > 0.9


def test_history_then_live():
    """A stream goes on from a fit with its ids, and sees newcomers."""
    X, y = make_blobs(900, centers=3, cluster_std=0.5, random_state=0)
    mix = em.Mixture().fit(X)
    before = mix.predict(X)
    mix.partial_fit(X[:50]).partial_fit(X[:60] + 100.0)
    np.testing.assert_array_equal(mix.predict(X), before)
    assert mix.n_clusters_ > 3 and mix.tally_.mass.sum() == pytest.approx(1010)
