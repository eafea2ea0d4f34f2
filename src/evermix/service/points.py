"""Points of a timeline for rows that were learnt together, several for many rows."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Floats
from evermix.estimators import Mixture
from evermix.estimators.mixture.held import held, lasting, n_held
from evermix.service.events import marked
from evermix.service.timeline import LEVEL, ROWS, Point, counted
from evermix.state import Lineage


class Before(NamedTuple):
    """How a model was before some rows: the number of ids so far, those of its clusters, its clock.

    A model that had not begun had none, and its first rows may have waited.
    """

    next_id: int
    ids: list[int]
    clock: int


def points(
    mix: Mixture, before: Before, first: int, n: int, time: float, events: Iterable[dict[str, Any]]
) -> list[Point]:
    """Return points for the last call of ``partial_fit``, with n rows after the ``first`` ones.

    They are as wide as all points together should be: many rows at once are several points where
    there were few before. ``events`` are births and ends, which are marked in the points.
    """
    rows, lineage, clock = first + n, mix.lineage_, int(mix.state_.clock)
    width = max(ROWS, -(-rows // LEVEL))
    cuts = [0, *range(width, n - ROWS + 1, width), n] if n > ROWS else [0, n]
    labels, results, times = mix.labels_, mix.learner_.results, _times(mix, n)
    logs = np.asarray(results.log_predictive)
    if len(labels) != n or len(logs) != n:
        cuts = [0, n]
    steps = takewhile(lambda step: step.clock > before.clock, reversed(mix.learner_.history))
    scored = [step for step in steps if step.rows and np.isfinite(step.log_predictive)]
    total = sum(step.log_predictive for step in scored)
    found = list[Point]()
    for start, stop in zip(cuts, cuts[1:], strict=False):
        there = n_held(mix) if stop == n else alive(mix, clock - n + stop)
        point = Point(first + start, first + stop, time, there, counts=counted(labels[start:stop]))
        point.at = None if times is None else mix.learner_.calendar.shown(float(times[stop - 1]))
        if scored and len(cuts) > 2:
            point.scored = stop - start
            point.log_predictive = float(logs[start:stop].sum())
        found.append(point)
    if len(cuts) == 2:
        found[0].scored, found[0].log_predictive = sum(step.rows for step in scored), total
    if first and not before.ids and not before.next_id:
        found.insert(0, _waited(mix, first, time, found, scored, total))
    mark(found, events, lineage, clock, rows)
    return found


def _times(mix: Mixture, n: int) -> Floats | None:
    """Return the times (n,) of the last n rows, if they have some."""
    times = mix.learner_.first_answers.times
    return times if times is not None and len(times) == n else None


def alive(mix: Mixture, clock: int) -> int:
    """Return how many clusters there were at a clock, less those that still hold no row.

    As in reports, clusters that the first review has joined with others do not count.
    """
    lineage, never = mix.lineage_, set(mix.cluster_ids_[~held(mix)].tolist())
    ends = ((id, lineage.ended[id]) for id in lasting(lineage) if id not in never)
    return sum(lineage.found_at(id) <= clock and not 0 <= end <= clock for id, end in ends)


def _waited(
    mix: Mixture, first: int, time: float, later: Sequence[Point], scored: Any, total: float
) -> Point:
    """Return the point of rows that have waited until the model began."""
    sizes = mix.tally_.mass.round().astype(int).tolist()
    counts = dict(zip(mix.cluster_ids_.tolist(), sizes, strict=True))
    for point in later:
        for id, n in point.counts.items():
            counts[id] = counts.get(id, 0) - n
    counts = {id: n for id, n in counts.items() if n > 0}
    clock = int(mix.state_.clock) - (later[-1].rows - first)
    new = Point(0, first, time, alive(mix, clock), counts=counts)
    new.at = mix.learner_.calendar.at(clock)
    if len(later) > 1 and scored:
        new.scored = max(sum(step.rows for step in scored) - sum(p.scored for p in later), 0)
        new.log_predictive = total - sum(point.log_predictive for point in later)
    return new


def mark(
    found: list[Point], events: Iterable[dict[str, Any]], lineage: Lineage, clock: int, rows: int
) -> None:
    """Mark births and ends in the points in which they were.   Consumes: found."""
    ends = [clock - (rows - point.rows) for point in found]
    for event in events:
        id = event["cluster"]
        when = lineage.found_at(id) if event["type"] == "birth" else lineage.ended[id]
        at = min(int(np.searchsorted(ends, when)), len(found) - 1)
        found[at].mark(marked(event), [id])
