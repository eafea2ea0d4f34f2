"""The metric of directions: rows of a cluster that vary more in some directions than in others."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import evermix as em
from evermix import lookback
from evermix.families import _neighbours as neighbours
from evermix.testing import check_family


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def some_metric(D, seed=0):
    A = np.random.default_rng(seed).normal(size=(D, D))
    return A @ A.T / D + np.eye(D)


def smeared(n, K=5, D=60, seed=0, loud=10):
    """Rows about K directions that vary mostly in some others, and the cluster of each."""
    rng = np.random.default_rng(seed)
    means, plane = unit(rng.normal(size=(K, D))), np.linalg.qr(rng.normal(size=(D, loud)))[0].T
    z = rng.integers(0, K, n)
    noise = 0.05 * rng.normal(size=(n, D)) + 0.45 * rng.normal(size=(n, loud)) @ plane
    return unit(means[z] + noise), z


@pytest.mark.parametrize("D", [2, 3, 20])
def test_it_obeys_the_laws(D):
    rows = unit(np.random.default_rng(D).normal(size=(25, D)))
    check_family(em.VonMisesFisher(7.0, metric=some_metric(D), n_features=D), rows)


def test_densities_on_the_circle_integrate_to_one():
    """The base measure has the volume that the metric stretches or shrinks."""
    angles = np.linspace(0, 2 * np.pi, 20_001)[:-1]
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    family = em.VonMisesFisher(3.0, metric=some_metric(2), n_features=2)
    eta = family.posterior(np.array([[1.5, 0.4]]), np.array([2.0]))
    density = np.exp(family.log_predictive(X, eta)[:, 0] + family.log_base(X))
    assert density.mean() * 2 * np.pi == pytest.approx(1.0, abs=1e-9)


def test_the_metric_of_a_number_changes_nothing():
    X = unit(np.random.default_rng(0).normal(size=(20, 6)))
    plain = em.VonMisesFisher(9.0, metric=1.0, n_features=6)
    turned = em.VonMisesFisher(9.0, metric=2.5 * np.eye(6), n_features=6)
    eta = plain.posterior(X[:3], np.ones(3))
    np.testing.assert_allclose(turned.statistic(X), X, atol=1e-12)
    np.testing.assert_allclose(turned.log_base(X), plain.log_base(X), atol=1e-9)
    np.testing.assert_allclose(
        turned.log_predictive(X, eta), plain.log_predictive(X, eta), atol=1e-9
    )


def test_compiled_directions_are_those_of_arrays_however_rows_are_cut():
    X, metric = unit(np.random.default_rng(1).normal(size=(45, 33))), some_metric(33)
    family = em.VonMisesFisher(9.0, metric=metric, n_features=33)
    whole = family.rows(X).values
    np.testing.assert_allclose(whole, family.statistic(X), atol=1e-14)
    for cut in (1, 7, 16, 44):
        parts = [family.rows(X[s : s + cut]).values for s in range(0, 45, cut)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_rows_that_are_drawn_and_means_are_in_the_space_of_the_rows():
    D, metric, rng = 5, some_metric(5), np.random.default_rng(0)
    family = em.VonMisesFisher(1e6, metric=metric, n_features=D)
    x = unit(rng.normal(size=(1, D)))
    stats = 1e6 * family.statistic(x)
    np.testing.assert_allclose(family.means(stats, np.array([1e6])), x, atol=1e-9)
    drawn = family.draw(family.posterior(stats, np.array([1e6]))[0], 1.0, rng)
    np.testing.assert_allclose(drawn, x[0], atol=0.02)


def test_second_moments_are_those_of_differences():
    rng = np.random.default_rng(0)
    X, near = rng.normal(size=(12, 4)), rng.integers(0, 12, (12, 3))
    away = (X[:, None, :] - X[near]).reshape(-1, 4)
    np.testing.assert_allclose(neighbours._second_moments(X, near), away.T @ away / 36, atol=1e-12)


def test_it_finds_directions_in_which_near_rows_differ():
    X, _ = smeared(1500)
    variances = np.linalg.eigvalsh(neighbours.metric(X))
    assert np.all(variances[:10] < 0.6 * variances[10])  # ten directions count less
    same = unit(np.random.default_rng(0).normal(size=(1500, 20)))
    even = np.linalg.eigvalsh(neighbours.metric(same))
    assert even[-1] < 1.25 * even[0]


def test_clusters_that_are_smeared_alike_are_found():
    X, z = smeared(1500)
    learnt = em.Mixture(random_state=0).fit(X)
    assert isinstance(learnt.model_.family.metric, np.ndarray)
    assert learnt.n_clusters_ == 5 and adjusted_rand_score(z, learnt.labels_) > 0.95
    stream = em.Mixture(random_state=0)
    for start in range(0, len(X), 100):
        stream.partial_fit(X[start : start + 100])
    assert adjusted_rand_score(z, stream.predict(X)) > 0.95
    plain = em.Mixture(em.VonMisesFisher(metric=1.0), random_state=0).fit(X)
    assert plain.model_.family.metric == 1.0
    assert adjusted_rand_score(z, plain.labels_) < adjusted_rand_score(z, learnt.labels_)


def test_a_metric_stays_once_not_all_rows_are_kept(monkeypatch):
    monkeypatch.setattr(lookback, "EVEN_ROWS", 250)
    X, _ = smeared(900, D=8, loud=2)
    mix = em.Mixture(em.VonMisesFisher(), random_state=0).partial_fit(X[:300])
    before = mix.model_.family.metric
    mix.partial_fit(X[300:])
    np.testing.assert_array_equal(mix.model_.family.metric, before)


def test_pinned_clusters_are_summed_again_under_another_metric():
    X, _ = smeared(900)
    mix = em.Mixture(random_state=0).partial_fit(X[:300])
    mix.pin(int(mix.predict(X[:1])[0]))
    before = mix.model_.family.metric
    mix.partial_fit(X[300:])
    assert not np.array_equal(mix.model_.family.metric, before)
    lengths = np.linalg.norm(mix.state_.tally.stats, axis=1)
    assert np.all(lengths <= mix.state_.tally.mass * (1 + 1e-9))


def test_a_given_concentration_stays_while_the_metric_is_learnt():
    X, _ = smeared(300)
    family = em.Mixture(em.VonMisesFisher(50.0), random_state=0).fit(X).model_.family
    assert family.concentration == 50.0 and isinstance(family.metric, np.ndarray)


def test_few_rows_equal_rows_and_many_columns_have_no_metric():
    assert neighbours.metric(unit(np.random.default_rng(0).normal(size=(10, 5)))) == 1.0
    assert neighbours.metric(unit(np.ones((50, 5)))) == 1.0
    wide = unit(np.random.default_rng(0).normal(size=(5, neighbours.MOST_COLUMNS + 1)))
    assert neighbours.metric(wide) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_are_few_for_their_columns_have_no_clusters_by_their_metric(seed):
    X = unit(np.random.default_rng(seed).normal(size=(100, 40)))
    assert em.Mixture(random_state=0).fit(X).n_clusters_ == 1
    X = unit(np.random.default_rng(seed).normal(size=(100, 200)))
    assert em.Mixture(random_state=0).fit(X).n_clusters_ == 1


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (-1.0, "metric must be"),
        (np.ones((2, 3)), r"symmetric matrix of shape \(3, 3\), got an array of shape \(2, 3\)"),
        (np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 1]]), "symmetric"),
        (np.diag([1.0, 1.0, -1.0]), "positive definite"),
    ],
)
def test_bad_metrics_are_refused(metric, said):
    X = unit(np.random.default_rng(0).normal(size=(20, 3)))
    with pytest.raises(ValueError, match=said):
        em.Mixture(em.VonMisesFisher(metric=metric)).fit(X)


def test_a_file_with_a_metric_of_another_shape_is_refused(tmp_path):
    X, _ = smeared(300)
    mix = em.Mixture(random_state=0).fit(X)
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    np.testing.assert_array_equal(again.score_samples(X), mix.score_samples(X))
    family = em.VonMisesFisher(5.0, metric=np.eye(3), n_features=60)
    assert not family.resolved and mix.model_.family.resolved
