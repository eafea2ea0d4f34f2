"""What was learnt stays with the engine that learnt it, whatever is set or fails afterwards."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import evermix as em
from helpers.mixture_cases import blobs

X, _ = blobs(60)
ENGINES = {
    "adf": em.ADF(),
    "ep": em.EP(laps=3),
    "gibbs": em.Gibbs(sweeps=4, hyperpriors={"a": em.Gamma()}),
    "slice": em.Slice(sweeps=4),
    "dpmeans": em.DPMeans(laps=3),
}


def fitted(name):
    return em.Mixture(engine=ENGINES[name], random_state=0).fit(X)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("other", ENGINES)
def test_another_engine_takes_effect_at_the_next_fit(tmp_path, name, other):
    """Until then the model answers, and is saved, as the engine that taught it wants."""
    mix, want = fitted(name), fitted(name)
    mix.set_params(engine=ENGINES[other]).save(tmp_path / "m.evermix")
    for model in (mix, em.load(tmp_path / "m.evermix"), pickle.loads(pickle.dumps(mix))):
        assert model.engine == ENGINES[other]
        np.testing.assert_array_equal(model.score_samples(X), want.score_samples(X))
        np.testing.assert_array_equal(model.labels_, want.labels_)
        np.testing.assert_array_equal(model.probabilities_, want.probabilities_)
        np.testing.assert_array_equal(model.weights_, want.weights_)
        if other != name:
            with pytest.raises(ValueError, match="was begun with the engine"):
                model.resume(X)
    again = mix.fit(X)
    np.testing.assert_array_equal(again.score_samples(X), fitted(other).score_samples(X))


@pytest.mark.parametrize("name", ["ep", "gibbs"])
def test_a_stream_goes_on_with_what_another_engine_learnt(name):
    """The clusters keep their ids and their mass."""
    before = fitted(name)
    labels, ids, mass = before.labels_, before.cluster_ids_, before.tally_.mass.copy()
    mix = fitted(name).set_params(engine=em.ADF(merge=None)).partial_fit(X[:5])
    assert set(ids) <= set(mix.cluster_ids_)
    place = [mix.cluster_ids_.tolist().index(k) for k in ids]
    np.testing.assert_array_less(mass - 1e-9, mix.tally_.mass[place])
    assert mix.tally_.mass.sum() == pytest.approx(mass.sum() + 5)
    assert np.mean(mix.predict(X) == labels) > 0.9


def test_rows_that_wait_are_learnt_by_the_engine_that_they_were_given_to():
    waiting = em.Mixture().partial_fit(X).set_params(engine=em.Gibbs(sweeps=2, burn_in=0))
    assert np.isfinite(waiting.score(X))
    with pytest.raises(AttributeError, match="ADF makes no draws"):
        _ = waiting.posterior_


def test_a_chain_cannot_go_on_with_other_hyperparameters():
    mix = fitted("gibbs")
    """Nor with other laws of the same: its draws would be of two posteriors."""
    both = {"a": em.Gamma(), "tau": em.Gamma()}
    for laws in (None, {"tau": em.Gamma()}, both, {"a": em.Gamma(2.0, 2.0)}):
        mix.set_params(engine=em.Gibbs(sweeps=4, hyperpriors=laws))
        with pytest.raises(ValueError, match="begun with hyperpriors="):
            mix.resume(X)


@pytest.mark.parametrize(
    ("engine", "weight"),
    [
        (em.Gibbs(sweeps=3), 2.0),
        (em.EP(laps=2, birth=0.6, rule="paper"), 0.1),
        (em.ADF(birth=0.6, rule="paper"), 0.1),
    ],
)
def test_weights_that_an_engine_cannot_learn_change_nothing(engine, weight):
    mix = em.Mixture(engine=engine, random_state=0)
    with pytest.raises(ValueError, match="weight"):
        mix.fit(X, sample_weight=np.full(60, weight))
    with pytest.raises(NotFittedError):
        mix.predict(X)
    want = mix.fit(X).score_samples(X)
    with pytest.raises(ValueError, match="weight"):
        mix.fit(X[:, :1], sample_weight=np.full(60, weight))
    np.testing.assert_array_equal(mix.score_samples(X), want)
    if engine.streams:
        with pytest.raises(ValueError, match="weight"):
            mix.partial_fit(X, sample_weight=np.full(60, weight))
        np.testing.assert_array_equal(mix.score_samples(X), want)


def test_an_engine_that_cannot_work_with_the_prior_changes_nothing():
    mix = em.Mixture().fit(X)
    mix.set_params(prior=em.PitmanYor(), engine=em.Slice())
    with pytest.raises(TypeError, match="auxiliary variable U"):
        mix.fit(X[:, :1])
    assert mix.n_features_in_ == 2
    assert np.isfinite(mix.score(X))


def test_a_fit_that_ends_before_its_first_step_says_so(monkeypatch, tmp_path):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    mix = em.Mixture(engine=em.EP(laps=2))
    with monkeypatch.context() as patch:
        patch.setattr("evermix.estimators.mixture.learner.run_laps", interrupt)
        with pytest.raises(KeyboardInterrupt):
            mix.fit(X)
    with pytest.raises(NotFittedError, match="no row was learnt yet"):
        mix.predict(X)
    with pytest.raises(ValueError, match="nothing to save yet"):
        mix.save(tmp_path / "m.evermix")
    assert np.isfinite(mix.resume(X).score(X))


@pytest.mark.parametrize("observers", [3, None, [3], [lambda mix, info: None, "x"]])
def test_observers_that_cannot_be_called_change_nothing(observers):
    mix = fitted("ep")
    want = mix.score_samples(X)
    for learn in (mix.fit, mix.resume):
        with pytest.raises(TypeError, match="observers must be"):
            learn(X, observers=observers)
    np.testing.assert_array_equal(mix.score_samples(X), want)


@pytest.mark.parametrize("name", ENGINES)
def test_a_memory_mapped_pickle_goes_on(tmp_path, name):
    mix = fitted(name)
    joblib.dump(mix, tmp_path / "m.joblib")
    mapped = joblib.load(tmp_path / "m.joblib", mmap_mode="r")
    np.testing.assert_array_equal(mapped.resume(X).labels_, mix.labels_)
    np.testing.assert_array_equal(mapped.score_samples(X), mix.score_samples(X))


def test_ep_goes_on_where_one_cluster_is_left():
    """Sites of clusters that have gone have no name among those of the one that stays."""
    rows = np.random.default_rng(0).poisson(3, size=(30, 2)).astype(float)
    mix = em.Mixture(em.Poisson(), engine=em.EP(laps=5)).fit(rows)
    assert mix.n_clusters_ == 1
    assert (mix.state_.memo["0"]["ids"] < 0).any()
    want = mix.score_samples(rows)
    np.testing.assert_array_equal(mix.resume(rows).score_samples(rows), want)
