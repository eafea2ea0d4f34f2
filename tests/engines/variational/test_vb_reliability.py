"""Births and merges find what is there, from one cluster and whatever the seed."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

import evermix as em

SIDE = 5


def edges(n):
    """Patches of 5 x 5 pixels from eight zero-mean Gaussians, and which of them each is from.

    Each covariance is that of 2,500 noisy multiples of one edge (Hughes & Sudderth 2013, 4.1).
    """
    D, rng = SIDE * SIDE, np.random.default_rng(0)
    i, j = np.indices((SIDE, SIDE))
    shapes = [i < SIDE // 2, j <= i, j <= i + 2, j <= i - 2]
    labels = rng.integers(8, size=n)
    X = np.empty((n, D))
    for k, shape in enumerate([np.rot90(shape, turn) for turn in (0, 1) for shape in shapes]):
        noise = 0.005 * rng.normal(size=(100 * D, D))
        patches = noise + rng.normal(size=(100 * D, 1)) * shape.ravel()
        factor = np.linalg.cholesky(np.cov(patches.T) + 1e-5 * np.eye(D))
        X[labels == k] = rng.normal(size=(np.sum(labels == k), D)) @ factor.T
    return X, labels


def bars(n):
    """Documents of 100 words on a 10 x 10 grid, each about one of its rows or columns."""
    rng, cells = np.random.default_rng(0), np.eye(10)
    topics = np.vstack([np.repeat(cells, 10, axis=1), np.tile(cells, 10)])
    topics = 0.95 * topics / 10 + 0.05 / 100
    labels = rng.integers(20, size=n)
    X = np.array([rng.multinomial(100, topics[k]) for k in labels])
    return sparse.csr_matrix(X, dtype=np.float64), labels


def check_edges(n, seeds):
    """Every seed ends with eight clusters and the same bound."""
    X, labels = edges(n)
    family, engine = em.ZeroMeanGaussian(SIDE * SIDE + 2.0, 1e-3), em.MemoizedVB(batch_size=n // 8)
    bounds = []
    for seed in seeds:
        mix = em.Mixture(family, em.DP(1.0), engine, random_state=seed).fit(X)
        assert mix.n_clusters_ == 8
        assert adjusted_rand_score(labels, mix.labels_) > 0.97
        bounds.append(mix.lower_bound_)
    np.testing.assert_allclose(bounds, max(bounds), rtol=1e-6)


def check_bars(n, seeds):
    """Every seed ends with the twenty topics, and no document in the wrong place."""
    X, labels = bars(n)
    for seed in seeds:
        engine = em.MemoizedVB(batch_size=n // 4)
        mix = em.Mixture(em.Multinomial(0.1), em.DP(1.0), engine, random_state=seed).fit(X)
        assert mix.n_clusters_ == 20
        assert adjusted_rand_score(labels, mix.labels_) == 1.0


def test_edges_are_separated():
    check_edges(2000, range(2))


def test_bars_are_separated():
    check_bars(2000, range(2))


@pytest.mark.slow
def test_edges_are_separated_from_every_seed():
    check_edges(8000, range(5))


@pytest.mark.slow
def test_bars_are_separated_from_every_seed():
    check_bars(2000, range(10))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_digits_end_high(seed):
    """Small, overlapping data, where merges and births of the published kind end below this."""
    X = PCA(20, svd_solver="full").fit_transform(load_digits().data)
    family = em.Gaussian(np.zeros(20), 0.01, 22.0, np.cov(X.T, ddof=0))
    engine = em.MemoizedVB(laps=100, batch_size=180)
    mix = em.Mixture(family, em.DP(1.0), engine, random_state=seed).fit(X)
    assert mix.lower_bound_ >= -104_000
