"""Streams of single rows: the same results as in one call, whatever is predicted in between."""

import gc
import pickle
import threading
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest

import evermix as em
from evermix.estimators.mixture.learner import Learner

RNG = np.random.default_rng(3)
X = RNG.normal(size=(1100, 2)) + 9.0 * RNG.integers(0, 4, size=(1100, 1)) * [1.0, 0.4]


def arrays(mix):
    found, _ = mix.to_file()
    return {name: values for name, values in found.items() if not name.startswith("results.")}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, values in other.items():
        np.testing.assert_array_equal(one[name], values, err_msg=name)


@pytest.mark.parametrize(
    ("make", "n", "every"),
    [
        (lambda: em.Mixture(random_state=0), 100, 3),
        (lambda: em.Mixture(em.Gaussian(), engine=em.ADF(), random_state=0), 1040, 200),
        (lambda: em.Mixture(engine=em.OnlineCRP(), random_state=0), 1040, 200),
        (lambda: em.Mixture(forgetting=em.Exponential(100), random_state=0), 1100, 200),
    ],
    ids=["nothing given", "ADF", "OnlineCRP", "forgetting"],
)
def test_single_rows_with_questions_equal_one_call(make, n, every):
    whole, single = make().partial_fit(X[:n]), make()
    for i in range(n):
        single.partial_fit(X[i : i + 1])
        if i % every == 0 or i > n - 20:
            assert single.predict(X[i : i + 1])[0] in single.cluster_ids_
            assert len(single.labels_) == 1
    assert_same(arrays(single), arrays(whole))
    np.testing.assert_array_equal(single.predict(X), whole.predict(X))


def test_answers_while_rows_wait_do_not_depend_on_those_before():
    queried, silent = em.Mixture(random_state=0), em.Mixture(random_state=0)
    for i in range(41):
        queried.partial_fit(X[i : i + 1])
        queried.predict(X[:1])
    silent.partial_fit(X[:1]).partial_fit(X[1:40]).partial_fit(X[40:41])
    np.testing.assert_array_equal(queried.predict_proba(X[:60]), silent.predict_proba(X[:60]))
    np.testing.assert_array_equal(queried.labels_, silent.labels_)
    assert queried.state_.clock == 41


def test_rows_of_a_first_call_are_reviewed_together():
    mix = em.Mixture(random_state=0).partial_fit(X[:60])
    own = mix.model_.family
    assert mix.n_clusters_ == 4 and not mix.learner_.started
    mix.partial_fit(X[60:61])
    assert mix.model_.family == own  # that of the first 60 rows


def test_rows_that_wait_are_not_those_of_a_buffer_that_is_used_again():
    row, mix = np.empty((1, 2)), em.Mixture(random_state=0)
    for x in X[:80]:
        row[:] = x
        mix.partial_fit(row)
    row[:] = np.inf
    assert_same(arrays(mix), arrays(em.Mixture(random_state=0).partial_fit(X[:80])))


def test_rows_of_weight_zero_between_single_rows():
    def learnt(cut):
        mix = em.Mixture(random_state=0)
        weights = np.where(np.arange(100) % 5 == 3, 0.0, 1.5)
        for start in range(0, 100, cut):
            some = slice(start, start + cut)
            if weights[some].any():  # a call needs a row that counts
                mix.partial_fit(X[some], sample_weight=weights[some])
                mix.predict(X[:1])
        return mix

    assert_same(arrays(learnt(1)), arrays(learnt(20)))


@pytest.mark.parametrize("n", [1, 63, 64, 100])
def test_a_bad_row_is_refused_when_it_comes_and_changes_nothing(n):
    mix = em.Mixture(em.Gaussian(), random_state=0)
    for i in range(n):
        mix.partial_fit(X[i : i + 1])
    before = arrays(mix)
    for bad in (np.array([[np.nan, 0.0]]), np.array([[0.0, np.inf]]), np.zeros((1, 3))):
        with pytest.raises(ValueError, match=r"NaN|infinity|features"):
            mix.partial_fit(bad)
    assert_same(arrays(mix), before)


def test_copies_go_on_like_the_original():
    mix = em.Mixture(em.Gaussian(), engine=em.ADF(lookback=0), random_state=0).partial_fit(X[:1010])
    mix.partial_fit(X[1010:1011])
    copy = pickle.loads(pickle.dumps(mix))
    for one in (mix, copy):
        for i in range(1011, 1060):
            one.partial_fit(X[i : i + 1])
    assert_same(arrays(copy), arrays(mix))
    whole = em.Mixture(em.Gaussian(), engine=em.ADF(lookback=0), random_state=0)
    assert_same(arrays(mix), arrays(whole.partial_fit(X[:1060])))


def test_memory_of_single_rows_stays_flat():
    engine = em.ADF(lookback=0)
    mix = em.Mixture(em.Gaussian(), engine=engine, random_state=0).partial_fit(X)
    mix.learner_.history = type(mix.learner_.history)(maxlen=100)  # else it is full after 10,000

    def used():
        for i in range(300):
            mix.partial_fit(X[i : i + 1])
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        used()
        first = used()
        assert used() - first < 30_000  # bytes; an Info for every row would take more
    finally:
        tracemalloc.stop()


def test_the_sample_of_rows_is_joined_now_and_then():
    mix = em.Mixture(em.Gaussian(), engine=em.ADF(), random_state=0).partial_fit(X[:1010])
    for i in range(1010, 1100):
        mix.partial_fit(X[i : i + 1])
    assert len(mix.state_.lookback.parts) == 1100 - 1024 + 1


@pytest.mark.parametrize(
    ("family", "rows"),
    [
        (em.Gaussian(), X),
        (em.DiagonalGaussian(), X),
        (em.Poisson(), np.abs(X).round()),
        (em.Bernoulli(), (X > 9.0).astype(np.float64)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_labels_of_single_rows_are_those_of_many(family, rows):
    mix = em.Mixture(family, random_state=0)
    for i in range(300):
        mix.partial_fit(rows[i : i + 1])
    single = np.concatenate([mix.predict(rows[i : i + 1]) for i in range(len(rows))])
    np.testing.assert_array_equal(single, mix.predict(rows))


def learnt(n=300, **settings):
    mix = em.Mixture(em.Gaussian(), engine=em.ADF(), random_state=0, **settings)
    mix.partial_fit(X[: n - 1]).partial_fit(X[n - 1 : n])
    return mix


def test_the_last_pass_labels_only_what_is_clear():
    learner = learnt(1100).learner_
    engine, model, state = learner.engine, learner.model, learner.state
    own = state.tally.ids[state.tally.mass.argmax()]
    mean = state.tally.stats[state.tally.mass.argmax(), :2] / state.tally.mass.max()
    x = (mean + model.family.origin)[None, :]
    assert engine.likeliest(model, state, x) == own
    state.append([state.lineage.birth(state.clock)])
    for values in (state.tally.mass, state.tally.stats, *state.tally.extras.values()):
        values[-1] = values[state.tally.mass[:-1].argmax()]
    state.columns |= model.family.columns(state.tally)
    assert engine.likeliest(model, state, x) is None  # the clusters have changed
    engine.step(model, state, em.engines.Batch(x + 5.0, np.array([1e-9])), learner.rng)
    assert engine.likeliest(model, state, x) is None  # there is another one that is the same


def test_an_engine_with_weights_of_its_own_is_not_passed_over():
    @dataclass(frozen=True)
    class Even(em.ADF):
        def log_weights(self, model, state):
            return np.zeros(state.tally.K + 1)

    mix = em.Mixture(em.Gaussian(), engine=Even(), random_state=0).partial_fit(X)
    mix.partial_fit(X[:1])
    joint = mix.learner_.fitted.log_joint(X)[:, :-1]
    single = np.concatenate([mix.predict(X[i : i + 1]) for i in range(200)])
    np.testing.assert_array_equal(single, mix.cluster_ids_[joint.argmax(axis=1)][:200])
    learner = mix.learner_
    assert learner.engine.likeliest(learner.model, learner.state, X[:1]) is None


def test_parameters_that_have_changed_are_checked_and_hold():
    mix = learnt()
    mix.set_params(max_clusters=-1)
    with pytest.raises(ValueError, match="max_clusters"):
        mix.partial_fit(X[300:301])
    mix.set_params(max_clusters=None, engine=em.SUGS())
    with pytest.raises(ValueError, match="ADF"):
        mix.partial_fit(X[300:301])
    assert mix.state_.clock == 300
    mix.set_params(engine=em.ADF(birth=0.4))
    mix.partial_fit(X[300:301])
    assert mix.learner_.engine.birth == 0.4 and mix.state_.clock == 301


@pytest.mark.parametrize("bad", [-1.0, 1e101, np.nan])
def test_a_row_outside_the_support_is_refused(bad):
    counts = np.abs(X).round()
    mix = em.Mixture(em.Poisson(), random_state=0).partial_fit(counts[:299])
    mix.partial_fit(counts[299:300])
    before = arrays(mix)
    for ask in (mix.partial_fit, mix.predict):
        with pytest.raises(ValueError, match=r"Poisson|NaN"):
            ask(np.array([[1.0, bad]]))
    assert_same(arrays(mix), before)


def test_questions_of_other_threads_change_nothing():
    mix, silent, ends, wrong = learnt(), learnt(), threading.Event(), []

    def ask():
        far = np.array([[0.0, 0.0], [27.0, 10.8]])
        expected = [mix.predict(far[i : i + 1])[0] for i in range(2)]
        while not ends.is_set():
            found = [mix.predict(far[i : i + 1])[0] for i in range(2)]
            wrong.extend(k for k in found if k not in expected)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for i in range(300, 361):  # up to a review
            mix.partial_fit(X[i : i + 1])
            silent.partial_fit(X[i : i + 1])
    finally:
        ends.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert_same(arrays(mix), arrays(silent))


def test_answers_while_rows_wait_are_learnt_apart_by_each_thread(monkeypatch):
    mix, both, learners = em.Mixture(random_state=0), threading.Barrier(2), []
    mix.partial_fit(X[:8])
    mix.predict(X[:1])
    mix.partial_fit(X[8:9])
    learn = Learner._learn

    def learnt_together(self, *args):
        learners.append(self)
        both.wait(timeout=60)
        return learn(self, *args)

    monkeypatch.setattr(Learner, "_learn", learnt_together)
    threads = [threading.Thread(target=mix.predict, args=(X[:2],)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one, other = learners
    assert one is not other
