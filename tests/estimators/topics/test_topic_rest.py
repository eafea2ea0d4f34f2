"""Whether chains still climb, and burn-ins that end by themselves."""

import numpy as np
import pytest

import evermix as em
from evermix.estimators.topics.progress import climb
from evermix.topics.words.snapshots import Rest
from helpers.topic_cases import SHORT, YEARS, X


def test_a_trace_at_rest_climbs_in_one_case_of_a_hundred():
    """With 400 traces, more than 12 alarms have a probability below 0.1%."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(400, 100))
    assert sum(climb(trace) > 0 for trace in noise) <= 12
    assert all(climb(trace + np.linspace(0, 5, 100)) > 3 for trace in noise)
    assert not any(climb(trace - np.linspace(0, 5, 100)) for trace in noise)
    assert np.isnan(climb(np.arange(19.0)))


def test_a_course_rests_when_it_no_longer_rises():
    rest = Rest(0.01, 5)
    rising = [0.1 * i for i in range(30)]
    assert not any(rest.reached(rising[:n]) for n in range(31))
    flat = [*rising, *[rising[-1]] * 10]
    assert not rest.reached(flat[:-2]) and rest.reached(flat[:-1])
    assert not rest.reached([1.0] * 9)


@pytest.fixture(scope="module")
def settings():
    return {"burn_in": 200, "draws": 24, "chains": 2, "random_state": 0, "tol": 0.05, "patience": 4}


def test_a_burn_in_may_end_before_its_time(settings):
    """And then everything is as if it had been given as many sweeps."""
    seen = []
    topics = em.TopicModel(em.HDP(), **settings)
    topics.fit(X, observers=[lambda _, sweep: seen.append(sweep.kept)])
    n = topics.n_sweeps_ - 24
    assert 8 <= n < 200 and seen == [False] * n + [True] * 24
    same = em.TopicModel(em.HDP(), burn_in=n, draws=24, chains=2, random_state=0).fit(X)
    np.testing.assert_array_equal(topics.traces_["log_joint"], same.traces_["log_joint"])
    assert "stopped" not in topics.summary()


def test_a_fit_that_rests_goes_on_bit_for_bit(settings, tmp_path):
    whole = em.TopicModel(em.HDP(), **settings).fit(X)

    def stop(model, sweep):
        if sweep.number == 6:
            model.save(tmp_path / "topics.evermix")

    em.TopicModel(em.HDP(), **settings).fit(X, observers=[stop])
    model = em.load(tmp_path / "topics.evermix")
    assert model.n_sweeps_ == 6 and model.tol == 0.05
    np.testing.assert_array_equal(model.resume(X).traces_["log_joint"], whole.traces_["log_joint"])
    with pytest.raises(ValueError, match="begun with tol and patience"):
        model.set_params(tol=0.5).resume(X)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [({"tol": -1.0}, ValueError, "tol must be at least 0"), ({"patience": 0}, ValueError, "pati")],
)
def test_settings_of_rest_that_cannot_be(wrong, error, message):
    with pytest.raises(error, match=message):
        em.TopicModel(**SHORT, **wrong).fit(X)


def test_summaries_say_whether_chains_climb(capsys):
    few = em.TopicModel(**SHORT, verbose=True).fit(X, times=YEARS, vocabulary=list("abcdef"))
    assert "sweep 12 of at most 12: " in capsys.readouterr().err
    words = few.summary(top=1)
    assert (
        "there are too few draws" in words
        and "topic 0: " in words
        and np.isnan(few.climbing_).all()
    )
    started = em.TopicModel(em.HDP(), burn_in=0, draws=20, random_state=0).fit(X)
    assert started.climbing_.shape == (1,)
    run = started._fitted.run
    run.rows = [[np.full_like(row, float(i)) for i, row in enumerate(run.rows[0])]]
    assert "still improves" in started.summary() and started.climbing_[0] > 0
    assert "more sweeps will help: set_params(draws=40), then resume, goes on" in started.summary()
    assert "(set_params(draws=" in words
