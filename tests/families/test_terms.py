"""Terms of rows sum to their log densities, in every family."""

import numpy as np
import pytest
from scipy.special import gammaln

from evermix.families.terms import log_rising, terms
from helpers.family_cases import CASES

K = 3


def clusters(family, X, times=1.0):
    r = times * np.random.default_rng(3).dirichlet(np.ones(K), size=X.shape[0])
    return family.posterior(family.accumulate(X, r), r.sum(axis=0))


@pytest.mark.parametrize("times", [1.0, 1e4])
@pytest.mark.parametrize("name", CASES)
def test_the_terms_of_a_row_sum_to_its_log_density(name, times):
    family, X = CASES[name]
    eta = np.vstack([clusters(family, X, times), family.eta0])
    for i in range(X.shape[0]):
        row = X[i : i + 1]
        if family.sparse:
            row = row.tocsr()
        found, wanted = terms(family, row, eta), family.log_predictive(row, eta)[0]
        scale = max(1.0, np.abs(wanted).max()) if times == 1.0 else 1e3
        np.testing.assert_allclose(found.total, wanted, rtol=0, atol=1e-9 * scale)
        assert len(set(found.columns.tolist())) == len(found.columns)


def test_columns_of_products_have_terms_of_their_own():
    for name in ("diagonal", "fixed", "bernoulli", "poisson", "log-normal", "multinomial"):
        family, X = CASES[name]
        row = X[2:3].tocsr() if family.sparse else X[2:3]
        assert not terms(family, row, clusters(family, X)).rest, name


def test_words_of_a_cluster_twice_as_large_say_nothing():
    """If its words have the same shares: only the size of a cluster would."""
    family, X = CASES["multinomial"]
    stats = 1e4 * family.statistic(X).sum(axis=0)
    eta = family.posterior(np.stack([stats, 2 * stats]), np.array([1.0, 2.0]))
    values = terms(family, X[3:4].tocsr(), eta).values
    assert np.abs(values[0] - values[1]).max() < 1e-3


def test_what_was_not_seen_adds_nothing():
    family, X = CASES["mixed-holes"]
    eta = clusters(family, X)
    for i in range(X.shape[0]):
        seen = set(np.flatnonzero(~np.isnan(X[i])).tolist())
        assert set(terms(family, X[i : i + 1], eta).columns.tolist()) <= seen


def test_log_rising_keeps_its_digits():
    a, x = np.array([[0.3], [99.0], [101.0], [1e12]]), np.array([1.0, 2.0, 2.5, 60.0])
    found = log_rising(a, x)
    np.testing.assert_allclose(found[:, 0], np.log(a[:, 0]), rtol=1e-13)
    np.testing.assert_allclose(found[:, 1], np.log(a[:, 0]) + np.log(a[:, 0] + 1), rtol=1e-13)
    np.testing.assert_allclose(found[:2], (gammaln(a + x) - gammaln(a))[:2], rtol=1e-13)
