"""The timeline of a model: nothing is lost, what is old gets coarser, files say the same."""

import json

import pytest

from evermix.service.timeline import LEVEL, SINGLE, Point, Timeline


def filled(n, rows=30, clusters=40):
    """A timeline of n batches, each a second after the one before."""
    timeline = Timeline()
    for i in range(n):
        counts = {(i + k) % clusters: 1 for k in range(rows)}
        point = Point(rows * i, rows * (i + 1), float(i), i, rows, -2.0 * rows, counts)
        timeline.add([point])
        timeline.mark("birth", i)
    return timeline


@pytest.mark.parametrize("n", [1, 2, LEVEL, LEVEL + 2, 5 * LEVEL, 1000])
def test_every_row_and_every_mark_is_counted_once(n):
    points = filled(n).points
    assert points[0].first == 0 and points[-1].rows == 30 * n
    for point, later in zip(points, points[1:], strict=False):
        assert point.rows == later.first and point.time < later.time
    assert sum(sum(p.counts.values()) + p.others for p in points) == 30 * n
    assert sum(p.scored for p in points) == 30 * n
    assert sum(p.log_predictive for p in points) == pytest.approx(-60.0 * n)
    assert sum(p.marks["birth"][0] for p in points) == n


def test_it_is_bounded_and_the_last_rows_are_finest():
    points = filled(3000).points
    widths = [point.rows - point.first for point in points]
    assert widths == sorted(widths, reverse=True) and widths[-1] == 30
    assert len(points) <= LEVEL * (2 + (3000 // LEVEL).bit_length())
    assert max(len(point.counts) for point in points[:-1]) <= SINGLE


def test_few_rows_and_short_times_share_a_point():
    timeline = Timeline()
    for i in range(100):
        timeline.add([Point(i, i + 1, i / 1000, 1, counts={0: 1})])
    assert [point.counts for point in timeline.points] == [{0: 100}]


def test_files_hold_it_whole():
    timeline = filled(300)
    again = Timeline.from_spec(json.loads(json.dumps(timeline.to_spec())))
    assert again.points == timeline.points
    for each in (timeline, again):
        each.add([Point(9000, 9030, 301.0, 5)])
    assert again.points == timeline.points


def test_a_reader_gets_what_is_new():
    timeline = filled(200)
    known = timeline.after(None)
    last = known[-1]["first"]
    timeline.add([Point(6000, 6030, 201.0, 5)])
    news = timeline.after(last)
    assert [point["first"] for point in news] == [last, 6000]
    assert timeline.after(12345) == timeline.after(None)  # what is not there: everything
