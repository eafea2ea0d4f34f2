"""Clusters of few short texts: a sampler finds them, and merges do not lose them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix.engines.refine import search
from evermix.engines.refine.problem import Problem
from evermix.engines.refine.sampled import log_predictive, resampled, sampled
from evermix.engines.seeding import Sample
from evermix.model import Model
from evermix.priors import PitmanYor


def titles(n=300, subjects=12, seed=1):
    """Titles of five words: two of twenty of their subject, three of three hundred of all."""
    rng = np.random.default_rng(seed)
    own, common = 1.0 / np.arange(1, 21), np.arange(1, 301) ** -0.7
    y = rng.integers(0, subjects, n)
    X = np.zeros((n, 300 + 20 * subjects))
    for i, k in enumerate(y):
        np.add.at(X[i], rng.choice(300, 3, p=common / common.sum()), 1.0)
        np.add.at(X[i], 300 + 20 * k + rng.choice(20, 2, p=own / own.sum()), 1.0)
    return sparse.csr_matrix(X), y


def shuffled(X, seed=0):
    """Texts as long as those of X, with its words in any of them."""
    rng = np.random.default_rng(seed)
    words = np.repeat(X.indices, X.data.astype(int))
    row = np.repeat(np.arange(X.shape[0]), np.asarray(X.sum(axis=1)).ravel().astype(int))
    rng.shuffle(words)
    return sparse.csr_matrix((np.ones(len(words)), (row, words)), shape=X.shape)


def problem(X, **settings):
    family = em.Multinomial(**settings).guess(X)
    model = Model(family, PitmanYor(1.0, 0.0), None, learns=("alpha", "prior"))
    return Problem(Sample(family, X, np.ones(X.shape[0])), model, np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(3))
def test_few_titles_are_not_all_in_one_cluster(seed):
    X, y = titles(seed=seed)
    assert adjusted_mutual_info_score(y, em.Mixture().fit(X).labels_) > 0.15
    assert adjusted_mutual_info_score(y, em.Mixture().partial_fit(X).predict(X)) > 0.1


def test_merges_while_learning_alone_would_leave_one_cluster(monkeypatch):
    X, _ = titles()
    monkeypatch.setattr(search, "LOSS", np.inf)
    assert em.Mixture().fit(X).n_clusters_ == 1


@pytest.mark.parametrize("n", [200, 1000])
def test_titles_without_subjects_are_one_cluster(n):
    X = shuffled(titles(n)[0])
    assert em.Mixture().fit(X).n_clusters_ == 1
    mix = em.Mixture().partial_fit(X)
    assert mix.tally_.mass.max() > 0.95 * n


def test_how_two_rows_predict_each_other():
    """Each is in the cluster of the other or in a new one, wherever the other went."""
    X = sparse.csr_matrix(np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 3.0]]))
    family, alpha = em.Multinomial(alpha=0.5, n_features=3), 0.7
    model = Model(family, PitmanYor(alpha, 0.0), None)
    two = Problem(Sample(family, X, np.ones(2)), model, np.random.default_rng(0))
    expected = 0.0
    for i in (0, 1):
        eta = family.posterior(family.statistic(X[[1 - i]]), np.ones(1))
        other, new = family.log_predictive(X[[i]], np.vstack([eta, family.eta0]))[0]
        expected += np.logaddexp(other, np.log(alpha) + new) - np.log(1.0 + alpha)
    together = two.start(np.zeros(2, dtype=np.int64))
    assert log_predictive(two, together) == pytest.approx(expected, abs=1e-9)


def test_a_run_goes_on_from_labels():
    """From the true ones or from none: both end where the posterior is."""
    X, y = titles(600)
    labels = y.copy()
    labels[::7] = -1  # without a cluster yet
    for found in (resampled(problem(X), labels), sampled(problem(X))):
        assert found.mass.sum() == 600
        assert adjusted_mutual_info_score(y, found.r.argmax(axis=1)) > 0.3
