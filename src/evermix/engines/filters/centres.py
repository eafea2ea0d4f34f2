"""What becomes of centres between the passes of DP-means."""

import numpy as np

from evermix._xp import Array
from evermix.engines.batch import RowResults
from evermix.engines.prune import drop
from evermix.kernels.engines.dp_means import Rule
from evermix.state import State


def slots_of(state: State, ids: Array) -> Array:
    """Return where clusters with these ids (N,) are, -1 for those that have gone."""
    slot_of = np.full(state.lineage.next_id + 1, -1)
    slot_of[state.tally.ids] = np.arange(state.tally.K)
    return slot_of[np.maximum(ids, -1)]


def name_births(state: State, results: RowResults, clock: int, weights: Array) -> None:
    """Give the clusters born since a clock their ids, and turn slots into ids."""
    born = (clock + np.cumsum(weights > 0))[results.born]
    if len(born):
        state.tally.ids[-len(born) :] = [state.lineage.birth(int(tick)) for tick in born]
    known = results.labels >= 0
    results.labels[known] = state.tally.ids[results.labels[known]]


def move_centres(state: State, scale: Array) -> tuple[float, list[int]]:
    """Move centres to the means of the rows that a lap has assigned to them, drop empty ones.

    Returns by how much that lowers the squared distances, and the ids of those dropped.
    """
    tally, columns = state.tally, state.columns
    K = tally.K
    tally.mass[:], tally.stats[:] = columns["next_mass"][:K], columns["next_sums"][:K]
    columns["next_mass"][:], columns["next_sums"][:] = 0.0, 0.0
    dropped = drop(state, tally.mass == 0)
    tally, centres = state.tally, state.columns["centre"][: state.tally.K]
    before = centres.copy()
    centres[:] = tally.stats / tally.mass[:, None]
    return float((tally.mass @ (scale * (centres - before) ** 2)).sum()), dropped


def leave_laps(state: State) -> None:
    """Make a state of a fit, perhaps in the middle of a lap, one of a stream."""
    drop(state, state.tally.mass == 0)  # born in this lap, and not learnt yet
    for name in ("next_mass", "next_sums"):
        state.columns[name][:] = 0.0
    for name in ("progress", "settled"):
        state.latents[name][:] = 0.0
    state.memo.clear()
    state.lap = state.at = 0


def join_near(state: State, rule: Rule) -> list[tuple[int, int]]:
    """Fuse clusters in each other's reach where that lowers the objective; return (gone, into).

    Each takes part in at most one fusion.   Consumes: state.
    """
    tally, centres = state.tally, state.columns["centre"]
    near: list[tuple[float, int, int]] = []
    for a in range(tally.K - 1):  # not all at once: there may be thousands
        later = slice(a + 1, tally.K)
        distance = ((centres[a] - centres[later]) ** 2 * rule.scale).sum(axis=1)
        mass = tally.mass[a] * tally.mass[later] / (tally.mass[a] + tally.mass[later])
        cost = np.maximum(mass, 1.0) * distance
        near += [(float(cost[j]), a, a + 1 + int(j)) for j in np.flatnonzero(cost < rule.penalty)]
    taken: set[int] = set()
    merges = []
    for _, *both in sorted(near):
        pair = sorted(both, key=lambda k: -tally.mass[k])
        if not taken.isdisjoint(pair):
            continue
        taken.update(pair)
        merges.append(_fuse(state, *pair))
    if merges:
        state.take(~np.isin(tally.ids, [gone for gone, _ in merges]))
    return merges


def _fuse(state: State, into: int, gone: int) -> tuple[int, int]:
    """Add row ``gone`` to row ``into``; return their ids, (gone, into)."""
    tally, seen = state.tally, state.columns["last_seen"]
    tally.fuse(into, gone)
    state.columns["centre"][into] = tally.stats[into] / tally.mass[into]
    seen[into] = max(seen[into], seen[gone])
    ids = int(tally.ids[gone]), int(tally.ids[into])
    state.lineage.merge(*ids, state.clock)
    return ids
