"""Fits of many laps: interrupted anywhere, they leave a usable model and go on bit for bit."""

import signal
from dataclasses import replace

import numpy as np
import pytest

import evermix as em
from evermix.engines.shards import Shard
from helpers.same_models import assert_same

ROWS, BATCH = 150, 40
VARIATIONAL = em.FullVB | em.StochasticVB | em.MemoizedVB
ENGINES = {
    "adf": em.ADF(birth=0.02),
    "ep": em.EP(laps=4, tol=0.0),
    "ep-shuffled": em.EP(laps=4, tol=0.0, shuffle=True, birth=0.02),
    "ep-validated": em.EP(laps=4, tol=0.0, validation=0.2),
    "ep-strided": em.EP(laps=3, tol=0.0, batch_size=BATCH, stride=2),
    "gibbs": em.Gibbs(sweeps=4, chains=2, hyperpriors={"a": em.Gamma(), "sigma": em.Beta()}),
    "gibbs-augmented": em.Gibbs(sweeps=6, augmented=True, hyperpriors={"family.alpha": em.Gamma()}),
    "full": em.FullVB(laps=4, tol=0.0, truncation=6),
    "stochastic": em.StochasticVB(laps=3, batch_size=BATCH, truncation=6),
    "stochastic-once": em.StochasticVB(laps=1, batch_size=BATCH, truncation=6, start="random"),
    "memoized": em.MemoizedVB(laps=3, tol=0.0, batch_size=BATCH, start="random", truncation=2),
    "memoized-strided": em.MemoizedVB(laps=3, tol=0.0, batch_size=BATCH, stride=2),
    "memoized-top": em.MemoizedVB(laps=3, batch_size=BATCH, start="kmeans++", truncation=6, top=2),
}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Laps of several steps, although there are few rows."""
    monkeypatch.setattr("evermix.engines.base.ROWS", BATCH)


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(12, 0.3), size=4)
    return np.array([rng.multinomial(15, topics[k]) for k in rng.integers(4, size=ROWS)])


def mixture(name):
    engine = ENGINES[name]
    prior = em.DP(2.0) if isinstance(engine, VARIATIONAL) else em.NGGP(2.0)
    return em.Mixture(em.Multinomial(0.3), prior, engine, random_state=1)


def moments(name, X):
    """Return how many times an observer is called in a whole fit."""
    calls = []
    mixture(name).fit(X, observers=[lambda mix, info: calls.append(info)])
    return len(calls)


def interrupt_at(moment):
    """Return an observer that presses Ctrl-C when it is called for the so-manieth time."""
    calls = []

    def observe(mix, info):
        calls.append(info)
        if len(calls) == moment:
            signal.raise_signal(signal.SIGINT)

    return observe


@pytest.mark.parametrize("name", ENGINES)
def test_an_interrupted_fit_goes_on_as_if_it_had_not_been(name, X, tmp_path):
    """After the first step, in the middle, after the last step and after the last lap."""
    whole, n = mixture(name).fit(X), moments(name, X)
    for moment in sorted({1, n // 2, n // 2 + 1, n - 1, n}):
        mix = mixture(name)
        with pytest.raises(KeyboardInterrupt):
            mix.fit(X, observers=[interrupt_at(moment)])
        mix.save(tmp_path / "model.evermix")
        assert_same(mix.resume(X), whole)
        assert_same(em.load(tmp_path / "model.evermix").resume(X), whole)


@pytest.mark.parametrize("name", ENGINES)
def test_an_interrupted_fit_leaves_a_usable_model(name, X, tmp_path):
    n = moments(name, X)
    for moment in (1, n // 2):
        mix = mixture(name)
        with pytest.raises(KeyboardInterrupt):
            mix.fit(X, observers=[interrupt_at(moment)])
        mix.save(tmp_path / "model.evermix")
        loaded = em.load(tmp_path / "model.evermix")
        for model in (mix, loaded):
            assert set(model.predict(X)) <= set(model.cluster_ids_)
            assert set(model.labels_) <= {-1, *model.cluster_ids_}
            np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
            assert len(model.tally_.mass) == model.n_clusters_ == len(model.weights_)
            assert np.isfinite(model.score(X))
        np.testing.assert_array_equal(mix.labels_, loaded.labels_)
        np.testing.assert_array_equal(mix.score_samples(X), loaded.score_samples(X))


SAVED = [
    "ep-shuffled",
    "ep-strided",
    "gibbs",
    "full",
    "stochastic-once",
    "memoized",
    "memoized-strided",
]


@pytest.mark.parametrize("name", SAVED)
def test_a_model_saved_after_any_step_goes_on_alike(name, X, tmp_path):
    """Observers may save; whatever happens afterwards, each file leads to the same end."""
    paths = []

    def keep(mix, info):
        paths.append(tmp_path / f"{len(paths)}.evermix")
        mix.save(paths[-1])

    whole = mixture(name).fit(X, observers=[keep])
    for path in paths[:: 1 if name in ("ep-strided", "memoized") else 3]:
        assert_same(em.load(path).resume(X), whole)


def test_memoized_fits_are_interrupted_while_births_are_in_flight(X):
    """So that the laws above hold for them too."""
    planned = []

    def observe(mix, info):
        plan = mix.state_.memo.get("plan")
        if plan is not None and 0 < mix.state_.at:
            planned.append(len(plan["n_children"]))

    mixture("memoized").fit(X, observers=[observe])
    assert sum(planned) > 1


@pytest.mark.parametrize("name", ["full", "stochastic", "memoized"])
def test_an_interrupt_between_the_start_and_the_first_batch(name, X, tmp_path, monkeypatch):
    whole, mix = mixture(name).fit(X), mixture(name)
    kind = type(ENGINES[name])
    begin = kind.begin

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return begin(*arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(kind, "begin", interrupted)
        mix.fit(X)
    assert mix.n_clusters_ and not len(mix.labels_)
    mix.save(tmp_path / "model.evermix")
    assert_same(mix.resume(X), whole)
    assert_same(em.load(tmp_path / "model.evermix").resume(X), whole)


@pytest.mark.parametrize("name", ["ep", "gibbs", "full", "stochastic", "memoized"])
def test_an_observer_may_end_a_fit_by_raising(name, X):
    class Enough(Exception):
        pass

    def observe(mix, info):
        if info.lap == 1:
            raise Enough

    mix = mixture(name)
    with pytest.raises(Enough):
        mix.fit(X, observers=[observe])
    assert mix.state_.lap == 1
    assert_same(mix.resume(X), mixture(name).fit(X))


def test_a_termination_that_python_handles_waits_for_the_step(X):
    """Its handler runs between steps, when the model is whole, and may raise."""
    calls = []

    def leave(number, frame):
        calls.append("handled")
        raise SystemExit(143)

    def observe(mix, info):
        signal.raise_signal(signal.SIGTERM)
        calls.append("observed")

    before = signal.signal(signal.SIGTERM, leave)
    try:
        mix = mixture("ep")
        with pytest.raises(SystemExit):
            mix.fit(X, observers=[observe])
        assert signal.getsignal(signal.SIGTERM) is leave
    finally:
        signal.signal(signal.SIGTERM, before)
    assert calls == ["observed", "handled"]
    assert_same(mix.resume(X), mixture("ep").fit(X))


@pytest.mark.parametrize("name", ["adf", "ep", "gibbs", "full", "stochastic", "memoized"])
def test_resuming_a_finished_fit_changes_nothing(name, X):
    mix = mixture(name).fit(X)
    before = mix.state_.to_arrays()[0], mix.labels_.copy()
    mix.resume(X)
    for key, values in mix.state_.to_arrays()[0].items():
        np.testing.assert_array_equal(values, before[0][key], err_msg=key)
    np.testing.assert_array_equal(mix.labels_, before[1])


def test_a_finished_fit_goes_on_when_it_gets_more_laps(X):
    mix = mixture("ep").fit(X)
    mix.set_params(engine=em.EP(laps=6, tol=0.0)).resume(X)
    assert mix.state_.lap == 6
    assert sorted(mix.cluster_ids_) == list(range(mix.n_clusters_))


def test_a_memoized_fit_that_was_cut_short_goes_on_without_what_it_had_planned(X):
    """Ending a fit drops clusters without rows, for which there may be plans."""
    mix = em.Mixture(em.Multinomial(0.3), engine=ENGINES["memoized-top"], random_state=1)
    with pytest.raises(KeyboardInterrupt):
        mix.fit(X, observers=[interrupt_at(5)])
    assert "plan" in mix.state_.memo
    mix.state_.memo["plan"]["ids"][-1] = -2
    laps = mix.set_params(engine=replace(mix.engine, laps=1)).resume(X).state_.lap
    assert mix.set_params(engine=replace(mix.engine, laps=3)).resume(X).state_.lap > laps


def test_batches_of_another_size_are_refused(X):
    mix = mixture("memoized").fit(X)
    with pytest.raises(ValueError, match="begun with batch_size=40"):
        mix.set_params(engine=replace(mix.engine, batch_size=50)).resume(X)


def test_other_rows_and_other_engines_are_refused(X):
    mix = mixture("ep").fit(X)
    with pytest.raises(ValueError, match="not the rows"):
        mix.resume(X[::-1])
    with pytest.raises(ValueError, match="begun with the engine EP"):
        mix.set_params(engine=em.Gibbs()).resume(X)
    with pytest.raises(ValueError, match="learnt by partial_fit"):
        em.Mixture().partial_fit(X).resume(X)


def test_a_fit_does_not_go_on_without_what_it_remembers(X, monkeypatch, tmp_path):
    """A cluster that is gone is named as the reason where it is."""
    bring_home, called = Shard.bring_home, []

    def nobody_answers(*arguments):
        called.append(1)
        if len(called) > 2:
            raise OSError
        bring_home(*arguments)

    whole, lost = mixture("memoized").fit(X), mixture("memoized")
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(Shard, "bring_home", nobody_answers)
        lost.fit(X)
    for mix, why in ((whole, r" \(wanted"), (lost, ", since the cluster that held it is gone")):
        del mix.state_.memo["0"]
        with pytest.raises(ValueError, match=f"is not whole{why}.*Load the last checkpoint"):
            mix.resume(X)
        with pytest.raises(ValueError, match=f"is not whole{why}"):
            mix.save(tmp_path / "model.evermix")
