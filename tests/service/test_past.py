"""What is shown of a model from before it was watched is what those saw who watched it."""

import numpy as np
import pytest

import evermix as em
from evermix.service.core import Core
from evermix.service.past import past_events, past_timeline
from evermix.service.plans import Plan
from evermix.service.timeline import LEVEL, Timeline


def rows(n, places, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + 12.0 * rng.choice(places, size=n)[:, None]


def streamed(batches, times=None):
    """A mixture that has learnt batches, and one that was watched meanwhile."""
    core = Core(Plan("vectors"), em.Mixture(random_state=0), None)
    for i, X in enumerate(batches):
        before = core.lives()
        core.mix.partial_fit(X, times=None if times is None else times[i])
        core.learnt(before, len(X), float(i))
    return core


@pytest.mark.parametrize("size", [40, 700, 3000])
def test_every_row_birth_and_end_is_there_once(size):
    X = np.concatenate([rows(3000, [0, 1]), rows(3000, [0, 4], seed=1)])
    core = streamed(np.array_split(X, len(X) // size))
    mix, lineage = core.mix, core.mix.lineage_
    past, seen = past_timeline(mix, 6000).points, core.timeline.points
    assert past[0].first == 0 and past[-1].rows == seen[-1].rows == 6000
    assert all(a.rows == b.first for a, b in zip(past, past[1:], strict=False))
    assert past[-1].clusters == seen[-1].clusters == mix.n_clusters_
    assert sum(sum(p.counts.values()) + p.others for p in past) == 6000
    for name in ("scored", "log_predictive"):
        both = [sum(getattr(point, name) for point in points) for points in (past, seen)]
        assert both[0] == pytest.approx(both[1])
    for points in (past, seen):  # those that reviews have split off apart, as in reports
        count = {
            what: sum(p.marks.get(what, (0, []))[0] for p in points) for what in ("birth", "split")
        }
        assert count == {
            "birth": lineage.next_id - len(lineage.parents),
            "split": len(lineage.parents),
        }
    ends = [p.marks[what][0] for p in past for what in ("merge", "death") if what in p.marks]
    assert sum(ends) == sum(ended >= 0 for ended in lineage.ended)


def test_events_are_those_of_before_in_their_order():
    core = streamed([rows(500, [0]), rows(500, [0, 5], seed=1), rows(500, [9], seed=2)])
    past = past_events(core.mix)
    reported = {(e["type"], e["cluster"]) for e in core.events.kept}
    assert {(e["type"], e["cluster"]) for e in past.kept} == reported
    clocks = [event["clock"] for event in past.kept]
    assert clocks == sorted(clocks) and past.number == len(reported)


def test_the_past_keeps_its_detail_while_new_rows_come():
    """Although each new point has fewer rows than those of the past."""
    mix = streamed([rows(20_000, [0, 1])]).mix
    timeline = past_timeline(mix, 20_000)
    before = len(timeline.points)
    core = Core(Plan("vectors"), mix, None, rows=20_000, timeline=timeline)
    for i in range(300):
        lives = core.lives()
        mix.partial_fit(rows(25, [0, 1], seed=i))
        core.learnt(lives, 25, 1000.0 + i)
    old = [point for point in core.timeline.points if point.rows <= 20_000]
    assert before > LEVEL / 2 and len(old) >= before / 4
    again = Timeline.from_spec(core.timeline.to_spec())
    assert again.points == core.timeline.points


def test_rows_have_the_times_of_the_stream():
    days = np.datetime64("2024-01-01") + np.arange(600).astype("timedelta64[D]")
    core = streamed(np.split(rows(600, [0, 1]), 3), np.split(days, 3))
    past = past_timeline(core.mix, 600).points
    assert past[-1].at == core.timeline.points[-1].at
    assert past[0].at[:4] == "2024"
    assert all("row_time" in event for event in past_events(core.mix).kept)


def test_births_are_dated_as_on_cards():
    """With their first rows, although a review has found some much later."""
    rng = np.random.default_rng(0)
    late = (np.arange(600) >= 200) & (rng.random(600) < 0.5)
    X = rng.normal(size=(600, 2)) + np.where(late[:, None], [3.5, 0.0], 0.0)
    days = np.datetime64("2024-01-01") + np.arange(600).astype("timedelta64[D]")
    core = streamed(np.split(X, 20), np.split(days, 20))
    cards = {card.id: card for card in core.mix.cards()}
    for events in (core.events, past_events(core.mix)):
        births = {e["cluster"]: e for e in events.kept if e["type"] == "birth"}
        assert any("from" in births[id] for id in cards)
        for id, card in cards.items():
            assert (births[id]["born"], births[id]["since"]) == (card.born, card.since)


def test_rows_after_a_fit_follow_those_of_the_fit():
    """The clock of a fit counts the rows of each lap; its rows have no order."""
    mix = em.Mixture(random_state=0, engine=em.MemoizedVB(laps=5)).fit(rows(600, [0, 1]))
    assert past_timeline(mix, 600).points == [] and not past_events(mix).number
    mix.set_params(engine=None)
    mix.partial_fit(rows(100, [0, 1], seed=1))
    past = past_timeline(mix, 700).points
    assert (past[0].first, past[-1].rows) == (600, 700)
