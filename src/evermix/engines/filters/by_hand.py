"""Clusters of a stream that people merge and split."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evermix._words import counted
from evermix._xp import Array, Bools, Floats, Ints
from evermix.engines.batch import cap_of
from evermix.engines.filters.beginnings import first_clock
from evermix.engines.filters.review import with_sticks
from evermix.engines.merging.stream import fuse
from evermix.engines.refine.problem import Problem
from evermix.engines.refine.split import halves
from evermix.engines.seeding import Sample
from evermix.hand import MERGE, SPLIT, Change
from evermix.lookback import Lookback, Recent
from evermix.model import Model
from evermix.state import State

FEWEST = 2  # rows that can be split


def merged(model: Model, state: State, ids: Sequence[int]) -> State:
    """Return a state in which clusters have become part of the first of these ids.

    It was born when the first of them was, however small that one is: people say that it belongs.
    """
    state = _copy(state)
    places = [int(np.flatnonzero(state.tally.ids == id)[0]) for id in ids]
    for gone in places[1:]:
        fuse(state, places[0], gone)
    state.take(np.setdiff1d(np.arange(state.tally.K), places[1:]))
    state.columns |= model.family.columns(state.tally)
    state.lineage.begin(ids[0], min(state.lineage.born[id] for id in ids))
    state.lineage.hand.changes.append(Change(MERGE, state.clock, tuple(ids)))
    return state


def split(model: Model, state: State, id: int, X: Array, weights: Floats) -> tuple[State, int]:
    """Return a state in which a cluster has become two, and the id of the new one.

    Both have the shares and the statistics of its rows X (N, D) at hand, which stand for all of
    them. The larger one keeps the id; after a merge by hand the one that has most of the rows which
    were in the cluster before it, as long as the rows that are kept tell, and the other one gets
    the name back that its rows had. ValueError: there are too few rows, or they are all alike.
    """
    if state.tally.K >= cap_of(model):
        raise ValueError(
            f"there is no room for another cluster: max_clusters={model.max_clusters}."
        )
    second = _second(model, state, X, weights) if len(weights) >= FEWEST else None
    if second is None:
        raise ValueError(
            f"cluster {id} cannot be split on {counted(len(weights), 'row')}: too few, or all "
            "alike. Give other rows of it."
        )
    state, family = _copy(state), model.family
    k = int(np.flatnonzero(state.tally.ids == id)[0])
    shares = weights[:, None] * np.column_stack([1 - second, second])
    shares = shares[:, np.argsort(-shares.sum(axis=0), kind="stable")]
    mass = shares.sum(axis=0)
    scale = state.tally.mass[k] / mass.sum()
    mass, stats = scale * mass, scale * family.accumulate(X, shares)
    kept = _kept_in_parts(model, state, id, mass, stats)
    if kept.swapped:
        mass, stats = mass[::-1], stats[::-1]
    new = state.lineage.birth(state.clock, parent=id)
    state.append([new])
    if state.lineage.last:
        state.lineage.last.append(state.lineage.last[id])
    tally, both = state.tally, [k, state.tally.K - 1]
    tally.mass[both], tally.stats[both] = mass, stats
    for name, values in tally.extras.items():  # as if all rows were certain
        values[both] = tally.mass[both] if name == "hard" else 0.0
    for name in ("last_seen", "judged"):
        state.columns[name][both] = state.columns[name][k]
    state.columns["judged"][both] = 0.0
    state.columns |= family.columns(tally)
    _share_kept_rows(state, kept, (id, new))
    if kept.former is not None:
        state.lineage.hand.give_back(kept.former, new, id)
    state.lineage.hand.changes.append(Change(SPLIT, state.clock, (id, new)))
    if state.recent is not None:
        state.recent = Recent.after(state.tally, state.clock)
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


class _KeptInParts(NamedTuple):
    """The rows that are kept of a cluster that becomes two."""

    mine: Ints  # (m,) which they are
    second: Bools  # (m,) whether each is in the part that gets a new id
    swapped: bool  # whether the larger part gets it
    former: int | None  # the cluster that was merged into this one, whose rows that part has


def _kept_in_parts(
    model: Model, state: State, id: int, mass: Floats, stats: Floats
) -> _KeptInParts:
    """Assign kept rows to two parts (2,), the larger one first, and say which is which.

    A kept row has the id of the cluster that learnt it, also after a merge by hand, until the rows
    are next reviewed or thinned.
    """
    kept = None if state.lookback is None else state.lookback.rows
    none = np.zeros(0, dtype=np.int64)
    mine = none if kept is None else np.flatnonzero(state.lineage.current(kept.ids) == id)
    if kept is None or not len(mine):
        return _KeptInParts(none, np.zeros(0, dtype=np.bool_), False, None)
    eta = model.family.posterior(stats, mass)
    joint = model.family.log_predictive(kept.X[mine], eta) + np.log(mass)
    second: Bools = joint.argmax(axis=1) == 1
    merges = [
        change.clock
        for change in state.lineage.hand.changes
        if change.what == MERGE and change.ids[0] == id
    ]
    early = kept.clocks[mine] <= (merges[-1] if merges else -1)
    owners, weights = kept.ids[mine], kept.weights[mine]
    own = early & (owners == id)
    swapped = bool(weights[own & second].sum() > weights[own & ~second].sum())
    second = second ^ swapped
    there = early & second
    ids, place = np.unique(owners[there], return_inverse=True)
    former = None
    if len(ids):
        held = np.bincount(place, weights[there])
        most = int(ids[held.argmax()])
        if most != id and 2 * held.max() > held.sum():
            former = most
    return _KeptInParts(mine, second, swapped, former)


def _share_kept_rows(state: State, kept: _KeptInParts, ids: tuple[int, int]) -> None:
    """Give the rows that are kept of a cluster to its two parts.   Consumes: state."""
    rows = None if state.lookback is None else state.lookback.rows
    if rows is None or state.lookback is None:
        return
    owners = rows.ids.copy()
    owners[kept.mine] = np.where(kept.second, ids[1], ids[0])
    state.lookback = Lookback(state.lookback.complete, [rows._replace(ids=owners)])
    if kept.second.any():
        second = rows.clocks[kept.mine[kept.second]]
        state.lineage.begin(ids[1], first_clock(second, state.clock))


def _copy(state: State) -> State:
    """Return a state with clusters and a lineage of its own: the old one stays as it is."""
    new = replace(state, columns=dict(state.columns), lineage=deepcopy(state.lineage), derived={})
    new.take(np.arange(state.tally.K))
    return new
