"""Parameters drawn from a cluster have the law that its natural parameters say."""

import numpy as np
import pytest
from family_cases import CASES

DRAWS = 4000


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture
def clusters(case):
    """The prior, and two posteriors that share the rows softly, (3, E)."""
    family, X = case
    r = np.random.default_rng(3).dirichlet(np.ones(2), size=X.shape[0])
    stats = np.vstack([np.zeros(family.n_stats), family.accumulate(X, r)])
    return family.posterior(stats, np.append(0.0, r.sum(axis=0)))


def draws(family, eta, seed=0):
    """Many draws of the parameters of one cluster eta (E,), (DRAWS, E)."""
    return family.draw_params(np.tile(eta, (DRAWS, 1)), np.random.default_rng(seed))


def assert_mean(sample, want):
    """Within 5 standard errors (false alarms below 1e-6 a number), and rounding."""
    error = 5 * sample.std(axis=0) / np.sqrt(DRAWS)
    assert np.all(np.abs(sample.mean(axis=0) - want) <= error + 1e-9 * np.abs(want))


def test_mean_of_draws_is_mean_params(case, clusters):
    """E[phi; -A(phi)] is the gradient of the log normaliser, coordinate by coordinate."""
    family, _ = case
    for eta, want in zip(clusters, family.mean_params(clusters), strict=True):
        assert_mean(draws(family, eta), want)
