"""Planes, distances from them, and what is chosen without settings."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix.families._planes import column_units, n_directions

RNG = np.random.default_rng(3)
BASIS = np.linalg.qr(RNG.normal(size=(6, 2)))[0].T


def spectrum(X):
    return np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / len(X)


def test_even_distances_are_those_of_a_gaussian():
    """With shape m / 2, a law of fixed parameters is the normal law of the docstring."""
    family = em.LowRankGaussian(2, 0.0, 1.0, 6.0, 1.0, 1.0, shape=2.0, basis=BASIS)
    family = family.candidates(RNG.normal(size=(20, 6)))[0]
    covariance, mean, variance = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -2.0]), 0.3
    precision, rate = np.linalg.inv(covariance), 1 / (2 * variance)
    plane = [precision @ mean, -precision.ravel() / 2]
    rest = [-0.5 * mean @ precision @ mean, 0.5 * np.linalg.slogdet(precision)[1]]
    params = np.concatenate([*plane, [-rate], rest, [2.0 * np.log(rate)]])
    X = RNG.normal(size=(5, 6))
    got = family.log_likelihood(X, params[None])[:, 0] + family.log_base(X)
    whole = BASIS.T @ covariance @ BASIS + variance * (np.eye(6) - BASIS.T @ BASIS)
    want = multivariate_normal(family.centre + mean @ BASIS, whole).logpdf(X)
    np.testing.assert_allclose(got, want, rtol=1e-10)


def test_units_change_densities_by_a_constant():
    X = RNG.normal(size=(50, 6)) @ np.diag([1.0, 2, 3, 1, 1, 1])
    units = np.geomspace(1, 1e3, 6)
    one = em.LowRankGaussian(2, units=np.ones(6)).candidates(X)[0]
    other = em.LowRankGaussian(2, units=units).candidates(X * units)[0]
    eta = one.eta0[None]
    np.testing.assert_allclose(
        one.log_predictive(X, eta), other.log_predictive(X * units, other.eta0[None])
    )
    shift = one.log_base(X) - other.log_base(X * units)
    np.testing.assert_allclose(shift, np.log(units).sum())


def test_noise_alone_has_one_direction():
    for n, d in [(64, 200), (200, 64), (2000, 50)]:
        assert n_directions(spectrum(RNG.normal(size=(n, d))), n, d) <= 2


def test_directions_that_stand_out_are_counted():
    X = RNG.normal(size=(500, 4)) @ RNG.normal(size=(4, 60)) * 3 + RNG.normal(size=(500, 60))
    share = np.cumsum(spectrum(X)) / spectrum(X).sum()
    assert n_directions(spectrum(X), 500, 60) == min(4, np.searchsorted(share, 0.8) + 1)


def test_units_are_the_ranges_only_where_those_differ_much():
    X = RNG.random((100, 40))
    X[:, 0] = 0.0
    X[1:, 1] = 0.0  # rarely set, but with the values of the others
    np.testing.assert_array_equal(column_units(X), np.ones(40))
    wild = X * np.geomspace(1, 1e5, 40)
    want = np.ptp(wild, axis=0)
    np.testing.assert_array_equal(column_units(wild), np.where(want > 0, want, 1.0))


@pytest.mark.parametrize("rank", [0, 6, 2.5, -1])
def test_a_rank_that_cannot_be_is_refused(rank):
    with pytest.raises(ValueError, match="rank must be a whole number from 1 to 5"):
        em.LowRankGaussian(rank).candidates(np.ones((3, 6)))


def test_a_basis_must_be_orthonormal():
    with pytest.raises(ValueError, match="basis must be orthonormal rows of shape"):
        em.LowRankGaussian(basis=np.ones((2, 6))).candidates(RNG.normal(size=(3, 6)))
    with pytest.raises(ValueError, match=r"shape \(3, 6\), got shape \(2, 6\)"):
        em.LowRankGaussian(3, basis=BASIS).candidates(RNG.normal(size=(3, 6)))


def test_one_column_is_refused():
    with pytest.raises(ValueError, match="at least 2 columns, got 1"):
        em.LowRankGaussian().candidates(np.ones((3, 1)))


@pytest.mark.parametrize("rows", [np.ones((1, 8)), np.ones((30, 8)), np.eye(8)[:2]])
def test_rows_that_hardly_differ_give_finite_densities(rows):
    family = em.LowRankGaussian().candidates(rows)[0]
    assert np.all(np.isfinite(family.log_predictive(rows, family.eta0[None])))
    assert np.all(np.isfinite(family.log_base(rows)))


def test_means_are_points_of_the_plane():
    X = RNG.normal(size=(40, 6)) + 50.0
    family = em.LowRankGaussian(2).candidates(X)[0]
    stats = family.accumulate(X, np.ones((40, 1)))
    np.testing.assert_allclose(family.means(stats, np.array([40.0]))[0], X.mean(axis=0))


def test_what_is_given_stays():
    X = RNG.normal(size=(150, 40))
    mix = em.Mixture(em.LowRankGaussian(3, noise=20.0)).fit(X)
    assert mix.model_.family.rank == 3
    assert mix.model_.family.noise == 20.0
    assert mix.model_.family.scale is not None


def test_one_blob_of_many_columns_is_one_cluster():
    mix = em.Mixture().fit(RNG.normal(size=(300, 60)))
    assert isinstance(mix.model_.family, em.LowRankGaussian)
    assert mix.n_clusters_ == 1


def test_newcomers_far_from_the_plane_open_a_cluster():
    """They lie where the plane's centre is, and differ only by their distance from it."""
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(2, 40))
    X = rng.normal(size=(600, 2)) @ plane * 3 + rng.normal(size=(600, 40))
    new = rng.normal(size=(200, 40)) * 8
    mix = em.Mixture().partial_fit(X)
    known = set(mix.predict(X))
    mix.partial_fit(new)
    labels = mix.predict(new)
    assert not known & {np.bincount(labels).argmax()}


def test_a_plane_that_rows_have_outgrown_is_chosen_again():
    """Eight clusters of 300 rows, one after another: each brings a direction; all mass stays."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 300)
    X = rng.normal(size=(8, 40))[y] + rng.normal(size=(2400, 40))
    mix = em.Mixture()
    for start in range(0, 2400, 300):
        mix.partial_fit(X[start : start + 300])
    family, state = mix.model_.family, mix.state_
    assert family.rank > 4  # four clusters were there when rows were last all kept
    assert not state.lookback.complete
    mass = state.tally.mass.sum() + state.latents["dropped"].sum()
    np.testing.assert_allclose(mass, 2400)


def test_digits_are_found_without_settings():
    X, y = load_digits(return_X_y=True)
    mix = em.Mixture(random_state=0).fit(X)
    assert isinstance(mix.model_.family, em.LowRankGaussian)
    assert adjusted_mutual_info_score(y, mix.labels_) > 0.7
