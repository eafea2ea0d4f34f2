"""How a model has gone before it was watched, as far as its file says.

A mixture keeps the course of its rows in bins of equal width, and the lives of its clusters. They
are the same whether somebody watched or not, so that nothing more needs to be saved.
"""

from typing import Any

import numpy as np

from evermix.estimators import Mixture
from evermix.service.events import Events, lives
from evermix.service.points import alive, mark
from evermix.service.timeline import Point, Timeline


def past_timeline(mix: Mixture, rows: int) -> Timeline:
    """Return the timeline of a model that has learnt so many rows as a stream.

    Rows are those of the clusters that theirs have become since. It is empty if they were fitted
    all at once: then they have no order.
    """
    course, lineage = mix.learner_.course, mix.lineage_
    if not course.bins:
        return Timeline()
    clock, calendar, found = int(mix.state_.clock), mix.learner_.calendar, list[Point]()
    counts = [dict[int, float]() for _ in course.bins]
    for b, id, mass in zip(*(e.tolist() for e in course.entries(lineage.current)), strict=True):
        counts[b][id] = counts[b].get(id, 0.0) + mass
    edges = course.edges.tolist()
    for start, stop, bin, by_id in zip(edges, edges[1:], course.bins, counts, strict=False):
        first = max(rows - (clock - start), 0)  # laps of a fit before it are counted by the clock
        point = Point(first, rows - (clock - stop), 0.0, alive(mix, stop))
        point.counts = {id: n for id, mass in by_id.items() if id >= 0 and (n := round(mass))}
        point.others = round(sum(mass for id, mass in by_id.items() if id < 0))
        if np.isfinite(bin.log_predictive):
            point.scored, point.log_predictive = bin.rows, bin.log_predictive
        point.at = calendar.at(stop)
        point.trim()
        found.append(point)
    events = [event for event in _lives(mix) if edges[0] < event["clock"] <= edges[-1]]
    mark(found, events, lineage, clock, rows)
    return Timeline.of(found, course.width)


def past_events(mix: Mixture) -> Events:
    """Return the births and ends so far; when they were noticed is not known."""
    events = Events()
    for event in sorted(_lives(mix), key=lambda event: event["clock"]):
        events.add(**event)
    return events


def _lives(mix: Mixture) -> list[dict[str, Any]]:
    """Return all births and ends, with the number of rows at which they were."""
    lineage, calendar, found = mix.lineage_, mix.learner_.calendar, []
    for event in lives(mix, 0, [], {}):
        id = event["cluster"]
        clock = lineage.found_at(id) if event["type"] == "birth" else lineage.ended[id]
        if not clock:  # a cluster of a fit, whose rows have no order
            continue
        when = calendar.at(clock)
        found.append(event | {"clock": clock} | ({} if when is None else {"row_time": when}))
    return found
