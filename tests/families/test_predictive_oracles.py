"""Closed forms against scipy.stats: base measures and conventions included."""

import numpy as np
from scipy import sparse, stats

from evermix.families import (
    Bernoulli,
    DiagonalGaussian,
    FixedGaussian,
    Gaussian,
    Multinomial,
    Poisson,
    ZeroMeanGaussian,
)
from evermix.families._covariance import log_normaliser

RNG = np.random.default_rng(11)


def predictive(family, data, rows):
    """Log density (n,) of ``rows`` after ``data`` in one cluster, base measure included."""
    n = data.shape[0]
    eta = family.posterior(family.accumulate(data, np.ones((n, 1))), np.array([float(n)]))
    return family.log_predictive(rows, eta)[:, 0] + family.log_base(rows)


def test_multinomial_is_the_dirichlet_multinomial():
    X = RNG.poisson(2.0, size=(9, 5)).astype(float)
    family = Multinomial(np.linspace(0.2, 1, 5)).candidates(X)[0]
    new = RNG.poisson(3.0, size=(4, 5)).astype(float)
    alpha = family.alpha + X.sum(axis=0)
    want = [stats.dirichlet_multinomial.logpmf(x, alpha, int(x.sum())) for x in new]
    got = predictive(family, sparse.csr_array(X), sparse.csr_array(new))
    np.testing.assert_allclose(got, want, rtol=1e-10)


def test_gaussian_is_the_multivariate_t():
    D, m, kappa, nu = 3, np.array([1.0, -2.0, 0.5]), 0.7, 6.5
    X, new = RNG.normal(size=(8, D)), RNG.normal(size=(5, D))
    scale = np.cov(RNG.normal(size=(D, 20)))
    family = Gaussian(m, kappa, nu, scale).candidates(X)[0]
    # The textbook update (Murphy 2007), about zero instead of the origin.
    n, mean = len(X), X.mean(axis=0)
    k, v, loc = kappa + n, nu + n, (kappa * m + X.sum(axis=0)) / (kappa + n)
    B = (nu - D - 1) * scale + (X - mean).T @ (X - mean)
    B = B + kappa * n / k * np.outer(mean - m, mean - m)
    df = v - D + 1
    want = stats.multivariate_t.logpdf(new, loc, B * (k + 1) / (k * df), df)
    np.testing.assert_allclose(predictive(family, X, new), want, rtol=1e-10)


def test_zero_mean_gaussian_is_the_multivariate_t():
    D, nu = 3, 5.5
    X, new = RNG.normal(size=(8, D)), RNG.normal(size=(5, D))
    family = ZeroMeanGaussian(nu, 2.0).candidates(X)[0]
    df = nu + len(X) - D + 1
    B = (nu - D - 1) * 2.0 * np.eye(D) + X.T @ X
    want = stats.multivariate_t.logpdf(new, np.zeros(D), B / df, df)
    np.testing.assert_allclose(predictive(family, X, new), want, rtol=1e-10)


def test_diagonal_gaussian_is_a_product_of_t():
    D, m, kappa, shape, rate = 3, 0.4, 0.7, 1.3, np.array([0.5, 1.0, 2.0])
    X, new = RNG.normal(size=(8, D)), RNG.normal(size=(5, D))
    family = DiagonalGaussian(m, kappa, shape, rate).candidates(X)[0]
    n, mean = len(X), X.mean(axis=0)
    k, a, loc = kappa + n, shape + n / 2, (kappa * m + X.sum(axis=0)) / (kappa + n)
    b = rate + 0.5 * n * X.var(axis=0) + 0.5 * kappa * n / k * (mean - m) ** 2
    want = stats.t.logpdf(new, 2 * a, loc, np.sqrt(b * (k + 1) / (a * k))).sum(axis=1)
    np.testing.assert_allclose(predictive(family, X, new), want, rtol=1e-10)


def test_fixed_gaussian_is_gaussian():
    v, v0, m = np.array([0.5, 2.0]), 3.0, 1.5
    X, new = RNG.normal(size=(8, 2)), RNG.normal(size=(5, 2))
    family = FixedGaussian(v, v0, m).candidates(X)[0]
    precision = 1 / v0 + len(X) / v
    loc = (m / v0 + X.sum(axis=0) / v) / precision
    want = stats.norm.logpdf(new, loc, np.sqrt(v + 1 / precision)).sum(axis=1)
    np.testing.assert_allclose(predictive(family, X, new), want, rtol=1e-10)


def test_bernoulli_is_the_beta_binomial_of_one_trial():
    X = (RNG.random((8, 4)) < 0.4).astype(float)
    new = (RNG.random((5, 4)) < 0.4).astype(float)
    family = Bernoulli(0.3, 1.7).candidates(X)[0]
    a, b = 0.3 + X.sum(axis=0), 1.7 + (1 - X).sum(axis=0)
    want = stats.betabinom.logpmf(new, 1, a, b).sum(axis=1)
    np.testing.assert_allclose(predictive(family, X, new), want, rtol=1e-10)


def test_poisson_is_the_negative_binomial():
    X = RNG.poisson(3.0, size=(8, 4)).astype(float)
    new = RNG.poisson(3.0, size=(5, 4)).astype(float)
    family = Poisson(0.6, 0.2).candidates(X)[0]
    rate = 0.2 + len(X)
    want = stats.nbinom.logpmf(new, 0.6 + X.sum(axis=0), rate / (rate + 1)).sum(axis=1)
    np.testing.assert_allclose(predictive(family, X, new), want, rtol=1e-10)


def test_wishart_normaliser_has_the_convention_of_scipy():
    """B is the inverse of the scale matrix, and E[Lambda] = nu B^-1."""
    D, nu = 3, 5.2
    B = np.cov(RNG.normal(size=(D, 20)))
    precision = np.linalg.inv(np.cov(RNG.normal(size=(D, 20))))
    log_density = 0.5 * (nu - D - 1) * np.linalg.slogdet(precision)[1]
    log_density -= 0.5 * np.trace(precision @ B) + log_normaliser(np.array([nu]), B[None])[0]
    want = stats.wishart.logpdf(precision, nu, np.linalg.inv(B))
    np.testing.assert_allclose(log_density, want, rtol=1e-12)


def test_scale_is_the_expected_covariance():
    """The inverse Wishart mean is B / (nu - D - 1), which is what ``scale`` says."""
    family = Gaussian(0.0, 1.0, 7.0, 3.0).candidates(np.zeros((1, 2)))[0]
    _, _, (nu,), (B,) = family._standard(family.eta0[None])
    np.testing.assert_allclose(stats.invwishart(nu, B).mean(), 3.0 * np.eye(2))
