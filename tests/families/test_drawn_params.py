"""Parameters drawn from a cluster have the law that its natural parameters say."""

import numpy as np
import pytest
from scipy import sparse, special, stats

from evermix._random import draw_log_gamma
from evermix._xp import logsumexp
from evermix.families import Bernoulli, DiagonalGaussian, Multinomial, Poisson
from helpers.family_cases import CASES

DRAWS = 4000


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def clusters(case):
    """The prior, and two posteriors that share the rows softly, (3, E)."""
    family, X = case
    r = np.random.default_rng(3).dirichlet(np.ones(2), size=X.shape[0])
    statistics = np.vstack([np.zeros(family.n_stats), family.accumulate(X, r)])
    return family.posterior(statistics, np.append(0.0, r.sum(axis=0)))


@pytest.fixture(scope="module")
def samples(case, clusters):
    """Many draws of the parameters of each cluster, (3, DRAWS, E)."""
    rng = np.random.default_rng
    return [case[0].draw_params(np.tile(eta, (DRAWS, 1)), rng(0)) for eta in clusters]


def standard_error(sample):
    return sample.std(axis=0) / np.sqrt(len(sample))


def assert_mean(sample, want):
    """Within 5 standard errors (false alarms below 1e-6 a number), and rounding."""
    tolerance = 5 * standard_error(sample) + 1e-9 * np.abs(want)
    assert np.all(np.abs(sample.mean(axis=0) - want) <= tolerance)


def test_mean_of_draws_is_mean_params(case, clusters, samples):
    """E[phi; -A(phi)] is the gradient of the log normaliser, coordinate by coordinate."""
    for sample, want in zip(samples, case[0].mean_params(clusters), strict=True):
        assert_mean(sample, want)


def test_mean_log_density_of_draws_is_minus_their_entropy(case, clusters, samples):
    """Along eta itself the spread is least, so that a prior far from the origin hides nothing."""
    wanted = case[0].mean_params(clusters)
    for eta, sample, want in zip(clusters, samples, wanted, strict=True):
        assert_mean(sample @ eta, want @ eta)


def relative_variance(family, X, eta):
    """Var p(x | phi) / (E p(x | phi))^2 of each row, exactly: E p^2 is the row seen twice."""
    t = family.statistic(X)
    step = np.hstack([t, np.ones((len(t), len(eta) - family.n_stats))])
    once, twice = (family.log_partition(eta + times * step) for times in (1, 2))
    return np.expm1(twice - 2 * once + family.log_partition(eta[None]))


def test_mean_likelihood_of_draws_is_the_predictive(case, clusters, samples):
    """E p(x | phi) = p(x), for the rows whose mean is not decided by a few of the draws.

    Which rows these are is known beforehand, from the exact variance, and so is the error.
    """
    family, X = case
    compared = 0
    for eta, sample in zip(clusters, samples, strict=True):
        variance = relative_variance(family, X, eta)
        rows = np.flatnonzero(variance < 4.0)
        compared += len(rows)
        log_p = family.log_likelihood(X[rows], sample)
        ratio = np.exp(log_p - family.log_predictive(X[rows], eta[None])).mean(axis=1)
        tolerance = 5 * np.sqrt(np.maximum(variance[rows], 0.0) / DRAWS) + 1e-8
        assert np.all(np.abs(ratio - 1) <= tolerance)
    assert compared >= X.shape[0]


def test_draws_follow_the_seed_and_need_no_clusters(case, clusters):
    """No clusters, no draws: samplers often have none to add."""
    family, X = case
    first, again = (family.draw_params(clusters, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    none = family.draw_params(clusters[:0], np.random.default_rng(1))
    assert none.shape == (0, clusters.shape[1])
    assert family.log_likelihood(X, none).shape == (X.shape[0], 0)


# ---- the likelihood of drawn parameters, against scipy ---------------------------------------


def drawn(name):
    """A family, its rows, one draw (E,) from its posterior, and the log density of the rows."""
    family, X = CASES[name]
    n = X.shape[0]
    eta = family.posterior(family.accumulate(X, np.ones((n, 1))), np.array([float(n)]))
    params = family.draw_params(eta, np.random.default_rng(4))
    return family, X, params[0], family.log_likelihood(X, params)[:, 0] + family.log_base(X)


def test_multinomial_draws_are_word_probabilities():
    _, X, params, got = drawn("multinomial")
    p = np.exp(params[:-1] + params[-1])
    X = X.toarray()
    np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(got, stats.multinomial.logpmf(X, X.sum(axis=1), p), 1e-9, 1e-9)


@pytest.mark.parametrize("name", ["gaussian-matrix", "gaussian-offset"])
def test_gaussian_draws_are_a_mean_and_a_precision(name):
    family, X, params, got = drawn(name)
    D = family.n_features
    precision = -2 * params[D:-2].reshape(D, D)
    mean = family.origin + np.linalg.solve(precision, params[:D])
    want = stats.multivariate_normal.logpdf(X, mean, np.linalg.inv(precision))
    np.testing.assert_allclose(got, want, rtol=1e-8)


def test_zero_mean_gaussian_draws_are_a_precision():
    family, X, params, got = drawn("zero-mean-matrix")
    D = family.n_features
    covariance = np.linalg.inv(-2 * params[:-1].reshape(D, D))
    want = stats.multivariate_normal.logpdf(X, np.zeros(D), covariance)
    np.testing.assert_allclose(got, want, rtol=1e-8)


def test_diagonal_gaussian_draws_are_means_and_precisions():
    family, X, params, got = drawn("diagonal")
    D = family.n_features
    precision = -2 * params[D:-2]
    mean = family.origin + params[:D] / precision
    want = stats.norm.logpdf(X, mean, 1 / np.sqrt(precision)).sum(axis=1)
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_fixed_gaussian_draws_are_means():
    family, X, params, got = drawn("fixed-columns")
    mean = family.origin + params[: family.n_features] * family.variance
    want = stats.norm.logpdf(X, mean, np.sqrt(family.variance)).sum(axis=1)
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_bernoulli_draws_are_log_odds():
    family, X, params, got = drawn("bernoulli-columns")
    want = stats.bernoulli.logpmf(X, special.expit(params[: family.n_features])).sum(axis=1)
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_poisson_draws_are_log_rates():
    family, X, params, got = drawn("poisson")
    want = stats.poisson.logpmf(X, np.exp(params[: family.n_features])).sum(axis=1)
    np.testing.assert_allclose(got, want, rtol=1e-9)


# ---- numbers at the edge of what floats hold -------------------------------------------------


@pytest.mark.parametrize("shape", [1e-30, 1e-3, 0.1, 1.0, 30.0])
def test_log_gammas_have_the_moments_of_log_gammas(shape):
    """Also where the gamma itself underflows: within 5 standard errors."""
    sample = draw_log_gamma(np.full(20_000, shape), np.random.default_rng(0))
    mean, variance = special.digamma(shape), special.polygamma(1, shape)
    assert abs(sample.mean() - mean) <= 5 * standard_error(sample)
    assert abs(sample.var() - variance) <= 5 * standard_error((sample - mean) ** 2)


@pytest.mark.parametrize("shape", [0.1, 1.0, 30.0])
def test_log_gammas_have_the_law_of_log_gammas(shape):
    """A Kolmogorov-Smirnov test with a false alarm in 10,000."""
    sample = draw_log_gamma(np.full(20_000, shape), np.random.default_rng(1))
    assert stats.kstest(sample, stats.loggamma(shape).cdf).pvalue > 1e-4


@pytest.mark.parametrize("small", [0.1, 1e-3, 1e-12, 5e-324])
def test_small_shapes_do_not_underflow(small):
    """Draws and likelihoods stay finite, and a word of probability zero is none at all."""
    rng = np.random.default_rng(0)
    X = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    families = [
        (Multinomial(small), sparse.csr_array(X)),
        (Bernoulli(small, 1.0), X),
        (Bernoulli(1.0, small), X),
        (Poisson(small, 2.0), X),
    ]
    for family, rows in families:
        family = family.candidates(rows)[0]
        params = family.draw_params(np.tile(family.eta0, (50, 1)), rng)
        assert np.all(np.isfinite(params))
        assert not np.any(np.isnan(family.log_likelihood(rows, params)))


def test_word_probabilities_of_sparse_clusters_sum_to_one():
    """At alpha = 0.001 most gammas of five words are zero in floating point."""
    family = Multinomial(1e-3, n_features=5)
    params = family.draw_params(np.tile(family.eta0, (1000, 1)), np.random.default_rng(0))
    log_p = params[:, :-1] + params[:, -1:]
    np.testing.assert_allclose(logsumexp(log_p, axis=1), 0.0, atol=1e-9)
    assert np.mean(log_p.min(axis=1) < -745) > 0.5


def test_precisions_that_underflow_make_no_infinite_means():
    family = DiagonalGaussian(0.0, 0.1, 1e-3, 1.0).candidates(np.ones((2, 3)))[0]
    params = family.draw_params(np.tile(family.eta0, (1000, 1)), np.random.default_rng(0))
    assert np.all(np.isfinite(params))
    assert np.any(params[:, 3:6] == 0)


def test_impossible_words_matter_only_where_they_occur():
    """A log probability of minus infinity times a count of zero is zero, not nan."""
    inf = np.inf
    words = Multinomial(n_features=3)
    stored = sparse.csr_array(([2.0, 0.0, 1.0], [1, 0, 0], [0, 2, 3]), shape=(2, 3))
    got = words.log_likelihood(stored, np.array([[-inf, -1.0, -2.0, 0.0]]))
    assert got[0] == -2.0
    assert got[1] < -1e200
    coins = Bernoulli(n_features=2).log_likelihood(
        np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[-inf, inf, 0.0, -inf]])
    )
    assert coins[0] == 0.0
    assert coins[1] < -1e200
    events = Poisson(1.0, 1.0, n_features=2).log_likelihood(
        np.array([[0.0, 3.0], [1.0, 3.0]]), np.array([[-inf, 0.5, 0.0, -2.0]])
    )
    assert events[0] == -0.5
    assert events[1] < -1e200
