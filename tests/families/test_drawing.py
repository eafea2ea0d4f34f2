"""Rows drawn from a cluster look like the cluster."""

import numpy as np
import pytest

from helpers.family_cases import CASES

DRAWS = 4000


@pytest.mark.parametrize("name", ["gaussian", "diagonal", "fixed", "bernoulli", "poisson"])
def test_draws_have_the_mean_of_the_cluster(name):
    """Within 6 standard errors (false alarms below 1e-8 a column) and the pull of the prior."""
    family, X = CASES[name]
    X = np.repeat(X, 20, axis=0)  # a sharp posterior: the predictive is close to the data
    n = len(X)
    eta = family.posterior(family.accumulate(X, np.ones((n, 1))), np.array([float(n)]))[0]
    rng = np.random.default_rng(0)
    drawn = np.array([family.draw(eta, float(n), rng) for _ in range(DRAWS)])
    assert drawn.shape == (DRAWS, X.shape[1])
    error = 6 * drawn.std(axis=0) / np.sqrt(DRAWS)
    assert np.all(np.abs(drawn.mean(axis=0) - X.mean(axis=0)) <= error + 0.02)


@pytest.mark.parametrize("name", ["gaussian-matrix", "zero-mean-matrix"])
def test_draws_have_the_covariance_of_the_cluster(name):
    """Columns are correlated as in the data."""
    family, X = CASES[name]
    X = np.repeat(X, 50, axis=0)
    n = len(X)
    eta = family.posterior(family.accumulate(X, np.ones((n, 1))), np.array([float(n)]))[0]
    rng = np.random.default_rng(1)
    drawn = np.array([family.draw(eta, float(n), rng) for _ in range(DRAWS)])
    centre = 0.0 if name == "zero-mean-matrix" else X.mean(axis=0)
    want = (X - centre).T @ (X - centre) / n
    got = (drawn - centre).T @ (drawn - centre) / DRAWS
    scale = np.sqrt(np.outer(np.diag(want), np.diag(want)))
    # A correlation from 4,000 rows has standard error 0.016.
    assert np.max(np.abs(got - want) / scale) < 0.1


def test_documents_are_as_long_as_the_clusters_average():
    """A multinomial has no length of its own; the cluster's average stands in."""
    family, X = CASES["multinomial"]
    n = X.shape[0]
    eta = family.posterior(family.accumulate(X, np.ones((n, 1))), np.array([float(n)]))[0]
    rng = np.random.default_rng(0)
    document = family.draw(eta, float(n), rng)
    assert document.sum() == round(X.sum() / n)
    assert family.draw(family.eta0, 0.0, rng).sum() == 100
