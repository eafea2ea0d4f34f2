"""Many rows in one request are several points of the timeline, which add up to the same."""

import numpy as np
import pytest

from evermix.estimators.mixture.held import lasting
from evermix.service.bodies import Observations
from evermix.service.core import LEARN, Core
from evermix.service.log import Record
from evermix.service.plans import Plan
from evermix.service.timeline import LEVEL, ROWS

PLACES = np.array([0.0, 12.0, 24.0, 36.0, 48.0])


def learnt(*sizes, seconds=1.0):
    """A model that was sent so many rows at a time; there are more places the later it is."""
    core, rng = Core.new(Plan("vectors")), np.random.default_rng(0)
    for i, n in enumerate(sizes):
        at = rng.integers(0, 2 + i % 3, n) + (np.arange(n) > 0.9 * n) * 2
        X = rng.normal(size=(n, 2)) + PLACES[np.minimum(at, 4)][:, None]
        given = Observations("vectors", X, [None] * n)
        core.learn(Record(i + 1, seconds * (i + 1), LEARN, "json", b""), given)
    return core


@pytest.mark.parametrize(
    "sizes",
    [(5000,), (30, 5000), (300,), (10, 10, 10, 400), (3000, 40, 2, 700), (40,) * 30, (10_000, 50)],
)
def test_points_add_up_to_what_was_learnt(sizes):
    core = learnt(*sizes)
    found = core.timeline.points
    assert found[0].first == 0 and found[-1].rows == core.rows == sum(sizes)
    assert all(a.rows == b.first for a, b in zip(found, found[1:], strict=False))
    for point in found:
        assert sum(point.counts.values()) + point.others == pytest.approx(
            point.rows - point.first,
            abs=2,  # masses of rows that have waited are rounded
        )
    assert sum(point.scored for point in found) == core.rows
    total = sum(step.log_predictive for step in core.mix.history_)
    assert sum(point.log_predictive for point in found) == pytest.approx(total, rel=1e-9)
    assert found[-1].clusters == core.mix.n_clusters_
    births = [point.marks.get(what, (0, []))[0] for point in found for what in ("birth", "split")]
    assert sum(births) == core.mix.lineage_.next_id
    ended = [point.marks.get(what, (0, []))[0] for point in found for what in ("merge", "death")]
    assert sum(ended) == sum(clock >= 0 for clock in core.mix.lineage_.ended)


def test_one_large_request_has_a_course():
    """Births are where they were, and points are not much finer than all rows need."""
    core = learnt(5000)
    found, lineage = core.timeline.points, core.mix.lineage_
    assert LEVEL / 2 < len(found) <= LEVEL + 1
    for point in found:
        clocks = [lineage.found_at(id) for id in point.marks.get("birth", (0, []))[1]]
        assert all(point.first < clock <= point.rows for clock in clocks)
        alive = [lineage.found_at(id) <= point.rows and not 0 <= end <= point.rows
                 for id, end in enumerate(lineage.ended) if id in lasting(lineage)]  # fmt: skip
        assert point.clusters == sum(alive)


def test_small_requests_have_a_point_at_most():
    """However many there are in a second."""
    core = learnt(2000, *[50] * 40, seconds=0.001)
    assert len(core.timeline.points) <= 2000 / ROWS + 40
    many = learnt(*[20] * 100, seconds=0.001)
    assert len(many.timeline.points) <= 3


def test_clusters_that_the_first_review_has_joined_are_left_out_as_in_reports():
    """They would be far more than all that come later."""
    core = learnt(300)
    lineage, first = core.mix.lineage_, core.timeline.points[0]
    early = [id for id in range(lineage.next_id) if lineage.found_at(id) <= first.rows]
    assert first.rows < 64 and first.clusters == len(set(early) & set(lasting(lineage)))
    assert first.clusters < len(early)
