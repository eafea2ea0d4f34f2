"""The course of a mixture for its report: growth, likelihood, shares over rows, lineage, tree."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from evermix.estimators.mixture.course import Course
from evermix.estimators.mixture.fit_results import in_order, rows_learnt
from evermix.estimators.mixture.held import held, lasting, n_held
from evermix.report.flow import Flow, flow_of_bins, flow_of_rows
from evermix.report.page import NEW_ROWS, WHOLE, curves, traces
from evermix.report.plots import Series, per_observation, read_events, read_laps
from evermix.state import ALIVE, DROPPED, Lineage

LARGEST_TREE = 300  # clusters up to which there is a tree
BY_HAND = "by hand"  # ends what is said of a change that a person has made

Events = list[tuple[int, str, list[int]]]


def is_streamed(mix: Any) -> bool:
    """Whether the rows are those of a stream, and the lineage tells what happened when."""
    learner = mix.learner_.shown
    return in_order(learner) and learner.fitted.engine.draws(mix.state_) is None


def charts_of(mix: Any, steps: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the growth of K, and the likelihood, the bound or the joint density."""
    learner, laps = mix.learner_.shown, read_laps(steps)
    if learner.fitted.engine.draws(mix.state_) is not None:
        posterior = mix.posterior_
        titles = {"K": "Clusters in each draw", "log_joint": WHOLE}
        return traces(posterior.traces(), posterior.chain, titles)
    if len(laps.lap):
        lines, note = {"": (laps.lap, laps.elbo)}, "evidence lower bound (ELBO), in nats"
        bound = curves(WHOLE, "laps", lines, note=note)
        return [curves("Clusters found", "laps", {"": (laps.lap, laps.K)}), bound]
    series, charts = read_events(steps), []
    if is_streamed(mix):  # rows of a fit have no order that means anything
        growth = _growth(mix)
        growth = growth if growth[1][-1] == n_held(mix) else (series.clock, series.K)
        if len(growth[0]) > 1:
            charts.append(curves("Clusters found", "rows", {"": growth}, steps=True))
    if not len(series.clock):  # of a model that was loaded
        series = _series(learner.course)
    at, each, running = per_observation(series)
    if len(at) > 1:
        lines = {"each step": (at, each), "mean so far": (at, running)}
        note = "prequential log-likelihood: of each row before it was learnt, in nats per row"
        charts.append(curves(NEW_ROWS, "rows", lines, dots=["each step"], note=note))
    return charts


def _series(course: Course) -> Series:
    """Return the course of a stream as its steps would tell it, but for the number of clusters."""
    logs, rows = (
        np.array([getattr(b, n) for b in course.bins]) for n in ("log_predictive", "rows")
    )
    return Series(course.edges[1:], np.zeros(len(rows), np.int64), logs, rows)


def saved_series(mix: Any) -> Series:
    """Return the course of a stream with the number of clusters, as far as a file holds it."""
    series, (clock, K) = _series(mix.learner_.shown.course), _growth(mix)
    at = np.searchsorted(clock, series.clock, side="right")
    return series._replace(K=np.append(0, K)[at])


def _growth(mix: Any) -> tuple[Any, Any]:
    """Return the clock of all births and ends, and of now, and the clusters after each."""
    lineage, now = mix.lineage_, mix.state_.clock
    hidden = set(mix.cluster_ids_[~held(mix)].tolist())
    ids = [id for id in lasting(lineage) if id not in hidden]
    born = [lineage.found_at(id) for id in ids]
    ended = [lineage.ended[id] for id in ids if lineage.ended[id] != ALIVE]
    clock, which = np.unique([*born, *ended, now], return_inverse=True)
    change = np.repeat([1, -1, 0], [len(born), len(ended), 1])
    return clock, np.cumsum(np.bincount(which, change)).astype(np.int64)


def events_of(lineage: Lineage) -> Events:
    """Return what happened to clusters, in order of the clock; a split comes after the birth."""
    events, ids = Events(), lasting(lineage)
    for id in (some for some in ids if lineage.born[some]):  # a fit has found the others
        events.append((lineage.born[id], "born", [id]))
        if id in lineage.parents:
            events.append((lineage.found_at(id), "split", [id, lineage.parents[id]]))
    for id in ids:
        clock, into = lineage.ended[id], lineage.into[id]
        if into >= 0:
            events.append((clock, "merged", [id, into]))
        elif into != ALIVE:
            events.append((clock, "dropped" if into == DROPPED else "faded", [id]))
    events += [(clock, f"{what} {BY_HAND}", list(ids)) for what, clock, ids in lineage.hand.changes]
    return sorted(events, key=lambda event: event[0])


def flow_over_rows(mix: Any, X: Any, clusters: list[int], lineage: Events) -> Flow | None:
    """Return shares over the rows that are given or kept; None for the rows of a fit.

    These have no order that means anything.
    """
    learner, (_, state, _) = mix.learner_.shown, mix.learner_.shown.fitted.point
    moves = [event for event in lineage if not event[1].endswith(BY_HAND)]
    if X is None and not is_streamed(mix):
        return None
    if X is not None:
        labels = np.asarray(learner.fitted.predict(mix._prepared(X)))
        if not learner.course.bins and len(labels) == rows_learnt(learner):
            return None
        n = len(labels)
        moves = moves if n == state.clock else []
        flow = flow_of_rows(labels, np.arange(1, n + 1), np.ones(n), clusters, moves)
        return None if flow is None else replace(flow, clocked=n == state.clock)
    rows = None if state.lookback is None else state.lookback.rows
    if rows is None:
        return _flow_of_course(learner.course, state.lineage, clusters, moves)
    ids = state.lineage.current(rows.ids)
    # More rows are kept of small clusters: each row stands for those that it was drawn from.
    names, place = np.unique(ids, return_inverse=True)
    mass = dict(zip(state.tally.ids.tolist(), state.tally.mass.tolist(), strict=True))
    each = np.array([mass.get(id, 0.0) for id in names.tolist()]) / np.bincount(place, rows.weights)
    return flow_of_rows(ids, rows.clocks, rows.weights * each[place], clusters, moves)


def _flow_of_course(
    course: Course, lineage: Lineage, clusters: list[int], moves: Events
) -> Flow | None:
    """Return shares over all rows of a stream, by the clusters that they were given then."""
    edges = course.edges
    if len(edges) > 2 and 2 * (edges[-1] - edges[-2]) < edges[1] - edges[0]:  # a few rows
        edges = np.delete(edges, -2)
    if len(edges) <= 2:
        return None
    bins, ids, mass = course.entries(lineage.current)
    known = ids >= 0
    bins = np.minimum(bins[known], len(edges) - 2)
    return flow_of_bins(edges, bins, ids[known], mass[known], clusters, moves)


def tree_of(mix: Any, order: list[int]) -> dict[str, Any] | None:
    """Return the tree with places in ``order`` instead of those of ``cluster_ids_``.

    Clusters that are not in ``order`` are left out: where one is joined, nothing is.
    """
    K = len(order)
    if not 2 < K <= LARGEST_TREE:
        return None
    tree, place = mix.hierarchy_, {id: k for k, id in enumerate(order)}
    nodes: list[int | None] = [place.get(id) for id in tree.ids.tolist()]
    merges, heights, groups = list[list[int]](), list[float](), tree.n_groups
    cut = len(tree.merges) - tree.n_groups  # the last merge within a group
    for step, (a, b) in enumerate(tree.merges.tolist()):
        one, other = nodes[a], nodes[b]
        if one is None or other is None:
            nodes.append(other if one is None else one)
            groups -= step > cut
            continue
        nodes.append(K + len(merges))
        merges.append([one, other])
        heights.append(round(float(tree.heights[step]), 3))
    return {"merges": merges, "heights": heights, "groups": groups}
