"""RCRP behind the estimator: what is shown, what densities count, and what can go on."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import evermix as em

FAMILY = em.FixedGaussian(variance=1.0, mean_variance=100.0)


def blobs(n=400, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(4, size=n)
    return 12.0 * np.c_[z % 2, z // 2] + rng.normal(size=(n, 2)), z


def mixture(**settings):
    return em.Mixture(FAMILY, em.DP(3.0), em.RCRP(), **settings)


def test_the_prior_is_a_dirichlet_process_where_none_is_asked_for():
    X, _ = blobs()
    assert em.Mixture(FAMILY, engine=em.RCRP()).fit(X).model_.prior == em.DP(1.0)
    with pytest.raises(TypeError, match="needs the prior DP; got NGGP"):
        em.Mixture(FAMILY, em.NGGP(), em.RCRP()).fit(X)


def test_only_clusters_that_were_announced_are_shown():
    X, z = blobs()
    mix = mixture().partial_fit(X)
    labels = mix.state_.tally.K
    assert mix.n_clusters_ < labels
    assert len(mix.cluster_ids_) == len(mix.weights_) == mix.tally_.K == mix.n_clusters_
    assert mix.weights_.sum() == pytest.approx(1.0)
    assert set(mix.labels_) <= set(mix.cluster_ids_)
    assert set(mix.predict(X)) <= set(mix.cluster_ids_)
    proba = mix.predict_proba(X)
    assert proba.shape == (400, mix.n_clusters_)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(mix.cluster_ids_[proba.argmax(axis=1)], mix.predict(X))
    assert adjusted_rand_score(z, mix.predict(X)) > 0.95
    assert set(mix.sample(50)[1]) <= {*mix.cluster_ids_, -1}
    assert mix.history_[-1].K == mix.n_clusters_
    assert sorted(mix.history_[-1].births) == mix.cluster_ids_.tolist()


def test_densities_count_every_label():
    """The density of a row before it is learnt is the same, however it is computed."""
    X, _ = blobs(60)
    one_by_one = mixture().partial_fit(X[:1])
    got = []
    for x in X[1:]:
        got.append(one_by_one.score_samples([x])[0])
        one_by_one.partial_fit([x])
    whole = mixture().partial_fit(X)
    want = whole.score_samples(X[:1])
    np.testing.assert_allclose(one_by_one.score_samples(X[:1]), want, rtol=1e-12)
    evidence = sum(info.log_predictive for info in whole.history_)
    first = mixture().partial_fit(X[:1]).history_[0].log_predictive
    assert first + sum(got) == pytest.approx(evidence, rel=1e-9)


def test_a_fit_names_the_clusters_that_own_rows_and_shows_no_others():
    X, _ = blobs()
    mix = mixture().fit(X)
    labels = np.unique(mix.labels_)
    np.testing.assert_array_equal(labels, np.arange(mix.n_clusters_))
    np.testing.assert_array_equal(np.sort(mix.cluster_ids_), labels)
    _, first = np.unique(mix.labels_, return_index=True)
    assert np.all(np.diff(first) > 0)  # named as they appear


def test_a_fit_goes_on_as_a_stream_would():
    """Names are all that a fit changes: labels stay in the order in which they were opened."""
    X, _ = blobs(800)
    fitted = mixture().fit(X[:400]).partial_fit(X[400:])
    streamed = mixture().partial_fit(X[:400]).partial_fit(X[400:])
    np.testing.assert_array_equal(fitted.state_.tally.mass, streamed.state_.tally.mass)
    np.testing.assert_array_equal(fitted.n_clusters_posterior_, streamed.n_clusters_posterior_)
    assert adjusted_rand_score(fitted.labels_, streamed.labels_) == 1.0
    assert set(fitted.labels_) <= set(fitted.cluster_ids_)


def test_rows_of_weight_zero_are_given_clusters_that_are_shown():
    X, _ = blobs()
    weights = np.random.default_rng(1).integers(0, 2, size=400)
    weights[0] = 0
    mix = mixture().fit(X, sample_weight=weights)
    assert set(mix.labels_) <= set(mix.cluster_ids_)


def test_a_saved_stream_goes_on_bit_for_bit(tmp_path):
    X, _ = blobs(800)
    whole = mixture().partial_fit(X)
    part = mixture().partial_fit(X[:300])
    part.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    np.testing.assert_array_equal(again.predict(X), part.predict(X))
    again.partial_fit(X[300:])
    theirs = again.state_.to_arrays()[0]
    for name, values in whole.state_.to_arrays()[0].items():
        np.testing.assert_array_equal(theirs[name], values, err_msg=name)
    np.testing.assert_array_equal(whole.labels_[300:], again.labels_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.columns["tables"].__imul__(0.5), "must sum to one"),
        (lambda state: state.columns["tables"].__isub__(1.0), "must lie in"),
        (lambda state: state.columns["announced"].fill(0), "none is announced"),
    ],
)
def test_a_file_with_a_belief_that_cannot_be_is_refused(tmp_path, change, message):
    X, _ = blobs(50)
    mix = mixture().partial_fit(X)
    change(mix.state_)
    mix.save(tmp_path / "m.evermix")
    with pytest.raises(em.CheckpointError, match=message):
        em.load(tmp_path / "m.evermix")


def test_models_that_count_labels_cannot_be_merged():
    X, _ = blobs()
    with pytest.raises(TypeError, match="models of RCRP cannot be merged"):
        em.merge([mixture().fit(X[:200]), mixture().fit(X[200:])])


def test_a_prior_can_be_chosen():
    X, _ = blobs(200)
    chosen = em.select_prior(X, [em.DP(0.5), em.DP(50.0)], family=FAMILY, engine=em.RCRP())
    assert chosen == em.DP(0.5)


def test_what_the_prior_alone_must_say_can_be_forgotten():
    """A class that is seen no more loses its name; the number of tables remembers it."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [40.0, 0.0]], 300, axis=0) + rng.normal(size=(600, 2))
    mix = mixture(forgetting=em.Exponential(half_life=30.0)).partial_fit(X)
    assert mix.lineage_.into[mix.labels_[0]] == -3
    assert mix.labels_[0] not in mix.cluster_ids_
    assert mix.n_clusters_posterior_[2:].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("likelihood", ["predictive", "paper"])
@pytest.mark.parametrize("rule", ["coupled", "joint"])
@pytest.mark.filterwarnings("ignore::evermix.CapacityWarning")
def test_rows_far_from_all_labels_that_a_cap_allows_leave_probabilities(rule, likelihood):
    """A new table would be more likely than numbers can say, but there is none left."""
    X = np.repeat([[0.0, 0.0], [500.0, 500.0], [-500.0, 500.0]], 5, axis=0)
    engine = em.RCRP(rule=rule, likelihood=likelihood)
    for cap in (1, 2):
        mix = em.Mixture(em.FixedGaussian(1.0, 1e4), engine=engine, max_clusters=cap).fit(X)
        assert mix.n_clusters_posterior_.sum() == pytest.approx(1.0)
        assert np.isfinite(mix.state_.tally.mass).all()
