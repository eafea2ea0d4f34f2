"""Default settings must survive real life: unscaled columns, offsets, embeddings, sorted rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

import evermix as em
from helpers.variants import slow_but


def mixed(n, D, groups, spread, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=n)
    return rng.normal(scale=spread, size=(groups, D))[y] + rng.normal(size=(n, D)), y


def embeddings(n=3000, D=384, groups=20, noise=1.0, seed=0):
    """Unit vectors, like those of sentence encoders: groups of directions, and noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=n)
    X = rng.normal(size=(groups, D))[y] + noise * rng.normal(size=(n, D)) + 0.5 * rng.normal(size=D)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("D", slow_but([8], [2, 8, 30]))
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_the_unit_of_measurement_does_not_matter(D, scale):
    X, y = mixed(1500, D, groups=6, spread=12.0 / np.sqrt(D))
    mix = em.Mixture().fit(scale * X + 100 * scale)
    assert adjusted_rand_score(y, mix.labels_) > 0.8


def test_columns_may_have_any_scale():
    X, y = mixed(1500, 6, groups=5, spread=6.0)
    X = X * np.array([1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6]) + np.array([0, 5, -3, 1e3, 1e5, 0])
    mix = em.Mixture().fit(X)
    assert adjusted_rand_score(y, mix.labels_) > 0.9


@pytest.mark.parametrize("noise", slow_but([2.0], [0.5, 1.0, 2.0]))
def test_embeddings_of_384_dimensions(noise):
    X, y = embeddings(noise=noise)
    mix = em.Mixture().fit(X.astype(np.float32))
    assert adjusted_rand_score(y, mix.labels_) > 0.8
    assert 10 <= np.unique(mix.labels_).size <= 60


def test_rows_sorted_by_group():
    X, y = mixed(2000, 4, groups=5, spread=8.0)
    order = np.argsort(y)
    assert adjusted_rand_score(y[order], em.Mixture().fit(X[order]).labels_) > 0.9


def test_one_group_stays_one():
    X = np.random.default_rng(0).normal(size=(2000, 5))
    labels = em.Mixture().fit(X).labels_
    assert np.bincount(labels).max() > 0.9 * 2000


def test_dust_stays_bounded_where_everything_overlaps():
    """In two dimensions a new cluster explains any row nearly as well as the old ones."""
    X = np.random.default_rng(0).normal(size=(4000, 2))
    mix = em.Mixture().partial_fit(X)
    assert np.bincount(mix.labels_).max() > 0.9 * 4000
    assert mix.n_clusters_ < 4000 / 4


@pytest.mark.parametrize(("load", "least"), [(load_iris, 0.5), (load_wine, 0.3)])
def test_small_classics_are_not_one_cluster(load, least):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    assert adjusted_rand_score(y[order], em.Mixture().fit(X[order]).labels_) > least


@pytest.mark.slow
def test_raw_digits_as_real_vectors():
    X, y = load_digits(return_X_y=True)
    labels = em.Mixture().fit(X.astype(float)).labels_
    assert adjusted_rand_score(y, labels) > 0.15
    assert 5 <= np.unique(labels).size <= 200


@pytest.mark.parametrize("X", [np.zeros((50, 3)), np.ones((1, 2)), np.full((20, 40), 1e8)])
def test_constant_data_are_one_cluster(X):
    assert em.Mixture().fit(X).n_clusters_ == 1
