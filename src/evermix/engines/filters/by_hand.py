"""Clusters of a stream that people merge and split."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np

from evermix._xp import Array, Floats, Ints
from evermix.engines.batch import cap_of
from evermix.engines.filters.review import with_sticks
from evermix.engines.merging.stream import fuse
from evermix.engines.refine.problem import Problem
from evermix.engines.refine.split import halves
from evermix.engines.seeding import Sample
from evermix.hand import MERGE, SPLIT, Change
from evermix.lookback import Lookback
from evermix.model import Model
from evermix.state import State

FEWEST = 2  # rows that can be split


def merged(model: Model, state: State, ids: Sequence[int]) -> State:
    """Return a state in which clusters have become part of the first of these ids."""
    state = _copy(state)
    places = [int(np.flatnonzero(state.tally.ids == id)[0]) for id in ids]
    for gone in places[1:]:
        fuse(state, places[0], gone)
    state.take(np.setdiff1d(np.arange(state.tally.K), places[1:]))
    state.columns |= model.family.columns(state.tally)
    state.lineage.hand.changes.append(Change(MERGE, state.clock, tuple(ids)))
    return state


def split(model: Model, state: State, id: int, X: Array, weights: Floats) -> tuple[State, int]:
    """Return a state in which a cluster has become two, and the id of the new one.

    Both have the shares and the statistics of its rows X (N, D) at hand, which stand for all of
    them. The larger one keeps the id. ValueError: there are too few rows, or they are all alike.
    """
    if state.tally.K >= cap_of(model):
        raise ValueError(
            f"there is no room for another cluster: max_clusters={model.max_clusters}."
        )
    second = _second(model, state, X, weights) if len(weights) >= FEWEST else None
    if second is None:
        raise ValueError(
            f"cluster {id} cannot be split on {len(weights)} rows, which are too few or all alike. "
            "Give other rows of it."
        )
    state, family = _copy(state), model.family
    k = int(np.flatnonzero(state.tally.ids == id)[0])
    shares = weights[:, None] * np.column_stack([1 - second, second])
    mass = shares.sum(axis=0)
    order, scale = np.argsort(-mass, kind="stable"), state.tally.mass[k] / mass.sum()
    new = state.lineage.birth(state.clock, parent=id)
    state.append([new])
    if state.lineage.last:
        state.lineage.last.append(state.lineage.last[id])
    tally, both = state.tally, [k, state.tally.K - 1]
    tally.mass[both] = scale * mass[order]
    tally.stats[both] = scale * family.accumulate(X, shares)[order]
    for name, values in tally.extras.items():  # as if all rows were certain
        values[both] = tally.mass[both] if name == "hard" else 0.0
    for name in ("last_seen", "judged"):
        state.columns[name][both] = state.columns[name][k]
    state.columns["judged"][both] = 0.0
    state.columns |= family.columns(tally)
    _share_kept_rows(model, state, both)
    state.lineage.hand.changes.append(Change(SPLIT, state.clock, (id, new)))
    return state, new


def rows_of(state: State, id: int) -> tuple[Array, Floats] | None:
    """Return the rows that a state keeps of a cluster, and their weights; None if it keeps none."""
    kept = None if state.lookback is None else state.lookback.rows
    if kept is None:
        return None
    rows = kept.take(np.flatnonzero(state.lineage.current(kept.ids) == id))
    return rows.X, rows.weights


def _second(model: Model, state: State, X: Array, weights: Floats) -> Floats | None:
    """What the second of two clusters has of each row, (N,); None if they are all alike."""
    prior = with_sticks(model, state.tally.mass)
    problem = Problem(
        Sample(model.family, X, weights), replace(model, prior=prior), np.random.default_rng(0)
    )
    return halves(problem, problem.start(np.zeros(len(weights), dtype=np.int64)))


def _share_kept_rows(model: Model, state: State, both: list[int]) -> None:
    """Assign the rows that are kept of a cluster to its two parts.   Consumes: state."""
    kept = None if state.lookback is None else state.lookback.rows
    if kept is None or state.lookback is None:
        return
    tally, ids = state.tally, state.lineage.current(kept.ids)
    mine: Ints = np.flatnonzero(ids == tally.ids[both[0]])
    if len(mine):
        eta = model.family.posterior(tally.stats[both], tally.mass[both])
        joint = model.family.log_predictive(kept.X[mine], eta) + np.log(tally.mass[both])
        ids[mine] = tally.ids[both][joint.argmax(axis=1)]
    state.lookback = Lookback(state.lookback.complete, [kept._replace(ids=ids)])


def _copy(state: State) -> State:
    """Return a state with clusters and a lineage of its own: the old one stays as it is."""
    new = replace(state, columns=dict(state.columns), lineage=deepcopy(state.lineage), derived={})
    new.take(np.arange(state.tally.K))
    return new
