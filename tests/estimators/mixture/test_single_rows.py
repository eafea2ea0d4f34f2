"""Streams of single rows: the same results as in one call, whatever is asked in between."""

import gc
import pickle
import tracemalloc

import numpy as np
import pytest

import evermix as em

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
    asked, silent = em.Mixture(random_state=0), em.Mixture(random_state=0)
    for i in range(41):
        asked.partial_fit(X[i : i + 1])
        asked.predict(X[:1])
    silent.partial_fit(X[:1]).partial_fit(X[1:40]).partial_fit(X[40:41])
    np.testing.assert_array_equal(asked.predict_proba(X[:60]), silent.predict_proba(X[:60]))
    np.testing.assert_array_equal(asked.labels_, silent.labels_)
    assert asked.state_.clock == 41


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
    mix = em.Mixture(random_state=0)
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
