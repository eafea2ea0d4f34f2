"""Streams whose rows come with times know when their clusters began."""

import warnings

import numpy as np
import pandas as pd
import pytest

import evermix as em
from evermix.estimators.answers import row_answers
from evermix.estimators.mixture.calendar import LATEST, POINTS, Calendar

N = 3000
RNG = np.random.default_rng(0)
PLACE = np.arange(N) * 3 // N  # one place after another
X = RNG.normal(size=(N, 2)) + 15.0 * np.c_[PLACE, -PLACE]
DATES = np.datetime64("2024-01-01", "s") + np.arange(N) * np.timedelta64(1, "h")


def streamed(cuts, times=DATES, **settings):
    mix = em.Mixture(random_state=0, **settings)
    for some in np.split(np.arange(N), cuts):
        mix.partial_fit(X[some], times=None if times is None else times[some])
    return mix


@pytest.mark.parametrize("forgetting", [None, em.Exponential(np.timedelta64(9, "D"))])
def test_births_have_the_dates_of_their_rows(forgetting):
    mix = streamed([1000, 1700], forgetting=forgetting)
    for card in mix.cards():
        assert np.datetime64(card.since) == DATES[card.born - 1]
        assert f"({str(card.since).replace('T', ' ')})" in repr(card)
    since = {mix.lineage_.born[id]: mix.card(id).since for id in mix.cluster_ids_.tolist()}
    assert any(np.datetime64(date) >= DATES[2000] for date in since.values())


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_what_people_merge_was_born_when_its_first_part_was(order, tmp_path):
    """Also where that part is small."""
    place = np.repeat([0, 1, 2], [100, 600, 1500])
    rows = RNG.normal(size=(len(place), 2)) + 30.0 * np.c_[place, -place]
    mix = em.Mixture(random_state=0).partial_fit(rows, times=DATES[: len(place)])
    ids = mix.predict(30.0 * np.c_[[0, 1, 2], [0, -1, -2]]).tolist()
    first = min((mix.card(id) for id in ids), key=lambda card: card.born)
    assert first.id == ids[0] and first.size < mix.card(ids[1]).size / 3
    merged = mix.merge_clusters([ids[i] for i in order])
    mix.save(tmp_path / "m.evermix")
    for model in (mix, em.load(tmp_path / "m.evermix").partial_fit(rows[:300])):
        assert (model.card(merged).born, model.card(merged).since) == (first.born, first.since)


def test_no_answer_says_that_a_cluster_began_after_its_row():
    """Row 1,500 resembles the rows from 2,000 on, in whose cluster it is in the end."""
    rows = X.copy()
    rows[1499] = X[2500]
    mix = em.Mixture(random_state=0).partial_fit(rows, times=DATES)
    stray = int(mix.labels_[1499])
    assert mix.lineage_.born[stray] == 2001 and mix.card(stray).since == str(DATES[2000])
    first = {a["cluster"]: a["since"] for a in row_answers(mix, range(N), 0) if "since" in a}
    assert first[stray] == str(DATES[1499])
    assert first[int(mix.labels_[0])] == "2024-01-01"


def test_times_change_nothing_that_is_learnt():
    timed, plain = streamed([700, 701, 2500]), streamed([700, 701, 2500], times=None)
    np.testing.assert_array_equal(timed.tally_.stats, plain.tally_.stats)
    assert timed.lineage_ == plain.lineage_
    assert [card.since for card in plain.cards()] == [None] * plain.n_clusters_


def test_the_calendar_does_not_depend_on_batches_and_is_saved(tmp_path):
    one, other = streamed([]), streamed([3, 4, 900, 2000])
    assert one.learner_.calendar == other.learner_.calendar
    one.save(tmp_path / "mix.evermix")
    again = em.load(tmp_path / "mix.evermix")
    assert again.learner_.calendar == one.learner_.calendar
    assert [card.since for card in again.cards()] == [card.since for card in one.cards()]
    again.partial_fit(X[:1])  # rows without times may follow
    assert again.learner_.calendar.at(N + 1) is None


def test_rows_that_wait_keep_their_times(tmp_path):
    mix = em.Mixture().partial_fit(X[:3], times=np.array([3.0, 1.0, 2.0]))  # in any order
    assert mix.learner_.waiting
    mix.save(tmp_path / "mix.evermix")
    again = em.load(tmp_path / "mix.evermix")
    assert mix.card(0).since == again.card(0).since == 3.0
    with pytest.raises(TypeError, match="those before were so, so times must be numbers"):
        again.partial_fit(X[3:5], times=DATES[3:5])


def test_a_calendar_is_small_and_close():
    calendar, clock = Calendar(dated=False), 0
    for n in (1, 2, 30, 5, 100_000, 7, 4000):
        calendar.add(np.arange(clock + 1.0, clock + n + 1), clock + n, [clock + 1] * (n == 7))
        clock += n
        assert len(calendar.even) <= POINTS + 1
    for at in (1, 100_039, clock):
        assert calendar.at(at) == at
    for at in range(1, clock, 997):
        assert at - 2 * clock / POINTS < calendar.at(at) <= at
    assert calendar.at(0) is calendar.at(clock + 1) is None


def test_the_latest_times_are_kept_where_something_may_be_found_later():
    calendar, clock = Calendar(dated=False), 0
    for n in (10, 7000, 3):
        times = np.arange(clock + 1.0, clock + n + 1)
        calendar.add(times, clock + n, [7000] if n == 3 else [], back=True)
        clock += n
    assert calendar.events[7000] == 7000.0
    assert len(calendar.latest) == LATEST
    again = Calendar.from_arrays(calendar.to_arrays(), False, clock)
    assert again == calendar
    np.testing.assert_array_equal(again.latest, calendar.latest)
    arrays = calendar.to_arrays() | {"latest": np.zeros(LATEST + 1)}
    with pytest.raises(ValueError, match="more times than there were rows"):
        Calendar.from_arrays(arrays, False, clock)
    again.add(np.array([9e9]), clock + 5, [clock - 1], back=True)  # four had no times
    assert clock - 1 not in again.events
    again.add(np.array([9e9]), clock + 6, [])
    assert "latest" not in again.to_arrays()


@pytest.mark.parametrize(
    "step, text", [(86_400, "2024-01-01"), (60, "2024-01-01T00:00"), (1, "2024-01-01T00:00:00")]
)
def test_axes_show_dates_as_briefly_as_they_may(step, text):
    calendar = Calendar(dated=True)
    calendar.add(1704067200.0 + step * np.arange(10.0), 10, [])
    assert calendar.course[1][0] == text


def test_times_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="times must be finite, got nan in row 1"):
        em.Mixture().partial_fit(X[:2], times=np.array([1.0, np.nan]))


@pytest.mark.parametrize("plan", [None, em.Exponential(np.timedelta64(9, "D"))])
def test_dates_may_be_strings_as_iso_writes_them(plan):
    as_dates = streamed([1000], forgetting=plan)
    zoned = np.array([f"{date}+00:00" for date in DATES.astype(str).tolist()], dtype=object)
    for times in (DATES.astype(str), zoned, pd.Series(DATES.astype(str))):
        mix = streamed([1000], times, forgetting=plan)
        assert mix.learner_.calendar == as_dates.learner_.calendar
        np.testing.assert_array_equal(mix.tally_.mass, as_dates.tally_.mass)


@pytest.mark.parametrize("wrong", ["1.6.2025", "yesterday", "7", None])
def test_other_strings_are_no_dates_and_the_error_names_the_conversion(wrong):
    mix = em.Mixture()
    with pytest.raises(TypeError, match=r"in row 1\. .* Convert others with pandas\.to_datetime"):
        mix.partial_fit(np.eye(2), times=["2025-01-01", wrong])
    with pytest.raises(TypeError, match="half_life is a number, so times must be numbers"):
        mix.set_params(forgetting=em.Exponential(half_life=3))
        mix.partial_fit(np.eye(2), times=["2025-01-01", "2025-01-02"])


def test_pictures_of_streams_have_dates():
    axes = em.plot.stream(streamed([1000]))[0]
    axes.figure.canvas.draw()
    assert any(label.get_text().startswith("2024-0") for label in axes.get_xticklabels())


def test_rows_far_from_the_order_of_time_are_met_with_a_warning():
    shuffled = np.random.default_rng(1).permutation(N)
    with pytest.warns(UserWarning, match="not in order of time"):
        mix = em.Mixture(random_state=0).partial_fit(X, times=DATES[shuffled])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        mix.partial_fit(X, times=DATES[shuffled])
    first, last = mix.learner_.calendar.ends  # of those that are kept
    assert np.datetime64(first) < DATES[100] and np.datetime64(last) > DATES[-100]


def test_rows_that_go_back_behind_those_before_are_met_with_a_warning(tmp_path):
    half = N // 2
    mix = em.Mixture(random_state=0).partial_fit(X[:half], times=DATES[half:])
    mix.save(tmp_path / "mix.evermix")
    mix = em.load(tmp_path / "mix.evermix")
    with pytest.warns(UserWarning, match=f"come from before {DATES[-1]}"):
        mix.partial_fit(X[half : half + 100], times=DATES[:100])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        mix.partial_fit(X[half + 100 :], times=DATES[100:half])


def test_rows_may_overtake_others_a_little():
    late = DATES - np.random.default_rng(1).integers(0, 20, N) * np.timedelta64(1, "h")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        em.Mixture(random_state=0).partial_fit(X, times=late)
        em.Mixture(random_state=0).partial_fit(X[:100], times=np.full(100, 7.0))
