"""Directions: the von Mises-Fisher family, from circles to embeddings."""

import numpy as np
import pytest
from scipy.special import gammaln, ive
from scipy.stats import vonmises_fisher
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

import evermix as em
from evermix.families.von_mises_fisher import ENOUGH, log_sphere
from evermix.kernels.families import von_mises_fisher as kernels
from evermix.testing import check_family
from helpers.variants import slow_but


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def topics(n, K=6, D=100, noise=0.8, seed=0):
    """Rows about random directions, like embeddings, and the cluster of each."""
    rng = np.random.default_rng(seed)
    means = unit(rng.normal(size=(K, D)))
    z = rng.integers(0, K, n)
    return unit(means[z] + noise * unit(rng.normal(size=(n, D))) * rng.random((n, 1)) ** 0.1), z


# ---- the integral over the sphere ----------------------------------------------------------


@pytest.mark.parametrize("D", [2, 3, 5, 30, 82, 384, 4096])
def test_the_integral_over_the_sphere_is_that_of_bessel_functions(D):
    z, v = np.array([1e-8, 1e-3, 0.7, 12.0, 300.0, 1e4, 1e6]), D / 2 - 1
    value, ratio = log_sphere(z, D)
    with np.errstate(divide="ignore"):
        reference = (v + 1) * np.log(2 * np.pi) + np.log(ive(v, z)) + z - v * np.log(z)
    known = ive(v, z) > 1e-290  # SciPy underflows beyond
    np.testing.assert_allclose(value[known], reference[known], rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(ratio[known], (ive(v + 1, z) / z)[known] / ive(v, z)[known], 1e-9)
    area = np.log(2) + D / 2 * np.log(np.pi) - gammaln(D / 2)
    np.testing.assert_allclose(value[0], area, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("D", [2, 3, 37, 384])
def test_the_compiled_integral_is_that_of_arrays(D):
    z = np.array([0.0, 1e-5, 0.3, 40.0, 2e3, 1e6])
    compiled = [kernels.log_sphere(float(each), D) for each in z]
    np.testing.assert_allclose(compiled, log_sphere(z, D)[0], rtol=1e-12, atol=1e-10)


def test_the_derivative_of_the_integral_is_the_mean_length():
    z, h = np.array([0.5, 7.0, 90.0]), 1e-4
    slope = (log_sphere(z + h, 50)[0] - log_sphere(z - h, 50)[0]) / (2 * h)
    np.testing.assert_allclose(log_sphere(z, 50)[1] * z, slope, rtol=1e-6)


# ---- the family ----------------------------------------------------------------------------


@pytest.mark.parametrize("D", [2, 3, 50])
@pytest.mark.parametrize("concentration", [0.1, 10.0, 900.0])
def test_it_obeys_the_laws(concentration, D):
    rows = unit(np.random.default_rng(D).normal(size=(25, D)))
    check_family(em.VonMisesFisher(concentration, metric=1.0, n_features=D), rows)


def test_its_density_is_that_of_scipy():
    """The predictive of many equal rows is the density about their direction."""
    mean, x = np.array([0.6, 0.0, 0.8]), unit(np.random.default_rng(0).normal(size=(9, 3)))
    family = em.VonMisesFisher(5.0, metric=1.0, n_features=3)
    eta = family.posterior(1e9 * mean[None], np.array([1e9]))
    density = family.log_predictive(x, eta)[:, 0]
    np.testing.assert_allclose(density, vonmises_fisher(mean, 5.0).logpdf(x), atol=1e-6)


def test_the_concentration_that_is_learnt_is_that_of_the_rows():
    law = vonmises_fisher(np.eye(20)[0], 60.0)
    X = law.rvs(4000, random_state=np.random.default_rng(1))
    family = em.VonMisesFisher(metric=1.0).candidates(X)[0]
    learnt = family.learnt(family, ["concentration"], X.sum(axis=0)[None], np.array([4000.0]))
    assert learnt.concentration == pytest.approx(60.0, rel=0.03)
    again = learnt.learnt(family, ["concentration"], X.sum(axis=0)[None], np.array([4000.0]))
    assert again.concentration == pytest.approx(learnt.concentration, rel=1e-2)


def test_a_coarse_family_counts_rows_as_fewer():
    """The odds of two clusters, taken to a power, are those of a smaller concentration."""
    family = em.VonMisesFisher(90.0, metric=1.0, n_features=7)
    coarse = family.coarse(int(ENOUGH))
    assert coarse.concentration == 45.0
    X = unit(np.random.default_rng(0).normal(size=(5, 7)))
    directions = unit(np.random.default_rng(1).normal(size=(2, 7)))
    odds = [
        one.log_likelihood(X, np.column_stack([one.concentration * directions, [0, 0]])) @ [1, -1]
        for one in (family, coarse)
    ]
    np.testing.assert_allclose(odds[1], odds[0] / 2, rtol=1e-9, atol=1e-9)


# ---- mixtures ------------------------------------------------------------------------------


def test_rows_of_length_one_with_many_columns_are_directions():
    X, z = topics(600)
    mix = em.Mixture(random_state=0).fit(X)
    assert isinstance(mix.model_.family, em.VonMisesFisher)
    assert adjusted_mutual_info_score(z, mix.labels_) > 0.95
    wide = em.Mixture(random_state=0).fit(2.0 * X)
    assert isinstance(wide.model_.family, em.LowRankGaussian)


@pytest.mark.parametrize("concentration", [0.0, 20.0, 200.0])
@pytest.mark.parametrize("n", slow_but([100], [100, 1000]))
def test_one_cluster_is_one_cluster(n, concentration):
    rng = np.random.default_rng(n)
    X = unit(rng.normal(size=(n, 40)))
    if concentration:
        X = vonmises_fisher(np.eye(40)[0], concentration).rvs(n, random_state=rng)
    assert em.Mixture(random_state=0).fit(X).n_clusters_ == 1
    assert em.Mixture(random_state=0).partial_fit(X).n_clusters_ == 1


def test_streams_of_directions_depend_on_no_cuts(tmp_path):
    X, z = topics(700)
    whole = em.Mixture(random_state=0).partial_fit(X)
    mix = em.Mixture(random_state=0)
    for start in range(0, 700, 70):
        mix.partial_fit(X[start : start + 70])
        mix.predict(X[:5])
        mix.save(tmp_path / "m.evermix")
        mix = em.load(tmp_path / "m.evermix")
    np.testing.assert_array_equal(mix.score_samples(X), whole.score_samples(X))
    assert adjusted_mutual_info_score(z, whole.predict(X)) > 0.95


def test_a_concentration_that_is_given_stays():
    X, _ = topics(300)
    for mix in (
        em.Mixture(em.VonMisesFisher(50.0)),
        em.Mixture(em.VonMisesFisher(50.0), em.DP(1.0)),
    ):
        assert mix.fit(X).model_.family.concentration == 50.0
        assert mix.partial_fit(X).model_.family.concentration == 50.0


def test_a_late_subject_becomes_a_cluster():
    X, z = topics(3000, K=7)
    late = np.concatenate([np.flatnonzero(z != 0), np.flatnonzero(z == 0)])
    mix = em.Mixture(random_state=0)
    for start in range(0, 3000, 100):
        mix.partial_fit(X[late[start : start + 100]])
    labels = mix.predict(X)
    assert adjusted_rand_score(z == 0, labels == np.bincount(labels[z == 0]).argmax()) > 0.9


@pytest.mark.parametrize(
    "engine", [em.EP(laps=2), em.Gibbs(sweeps=5), em.Slice(sweeps=9), em.FullVB(), em.MemoizedVB()]
)
def test_every_kind_of_engine_learns_directions(engine):
    X, z = topics(150, K=3, D=10, noise=0.3)
    mix = em.Mixture(em.VonMisesFisher(60.0), engine=engine, random_state=0).fit(X)
    assert adjusted_rand_score(z, mix.labels_) > 0.8


@pytest.mark.parametrize(
    ("rows", "shown"),
    [([[1.0, 0.0], [1.0, 1.0]], "length 1, got length 1.41 in row 1"), ([[0.0, 0.0]], "zeros")],
)
def test_rows_of_another_length_are_refused(rows, shown):
    with pytest.raises(ValueError, match=shown):
        em.Mixture(em.VonMisesFisher()).fit(np.array(rows))


def test_one_column_has_no_directions():
    with pytest.raises(ValueError, match="at least 2 columns, got 1"):
        em.Mixture(em.VonMisesFisher()).fit(np.ones((5, 1)))


def test_rows_drawn_from_the_model_are_directions():
    X, _ = topics(300, K=3, D=40)
    rows, _ = em.Mixture(random_state=0).fit(X).sample(10)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-9)
