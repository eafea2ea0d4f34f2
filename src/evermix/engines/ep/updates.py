"""Updates of sites: each row is removed from its clusters, and learnt again given all others."""

from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Floats, Ints
from evermix.engines.batch import RowResults, warn_once
from evermix.engines.ep.sites import close_holes, cluster_slots, gathered, grown, no_sites, packed
from evermix.engines.filters.assignment import Soft, StepRows, learn_row
from evermix.engines.filters.filter import IDLE, Filter
from evermix.engines.prune import prune
from evermix.kernels.engines import adf, ep
from evermix.model import Model
from evermix.priors.base import GibbsType
from evermix.state import State

ENTRIES = 4  # entries of sites per row that are allocated at first


class EPBatch(NamedTuple):
    """A batch whose sites are updated: rows, weights, order, sites, and where results go."""

    X: Any
    weights: Floats  # (N,)
    order: Ints  # (N,)
    sites: ep.Sites
    results: RowResults
    moved: Floats  # (3,) largest change of a responsibility, mass moved, mass restored


class UpdatedSites(NamedTuple):
    """The new sites of a batch, and the ids of dropped clusters."""

    sites: ep.Sites
    dropped: list[int]


def update_sites(engine: Filter, model: Model, state: State, batch: EPBatch) -> UpdatedSites:
    """Update the sites of all rows of a batch.   Consumes: state."""
    compiled = isinstance(model.prior, GibbsType)
    return (_compiled if compiled else _by_arrays)(engine, model, state, batch)


def _compiled(engine: Filter, model: Model, state: State, batch: EPBatch) -> UpdatedSites:
    """Update sites with the compiled loop."""
    n = len(batch.order)
    before, first_id = set(state.tally.ids.tolist()), state.lineage.next_id
    new = no_sites(n, max(ENTRIES * n, len(batch.sites.q) + n))
    rows, out = model.family.rows(batch.X), adf.RowOutputs(*batch.results)
    at, used, holes = 0, 0, np.empty(0, dtype=np.int64)
    dropped: list[int] = []
    why = adf.ROOM
    while why != adf.DONE:
        state.reserve(state.tally.K + 2)
        tally, slots = state.tally, cluster_slots(state, births=n, holes=holes)
        weights, order, sites, moved = batch.weights, batch.order, batch.sites, batch.moved
        position, capped, why = ep.ep_pass(
            engine.filter_data(model, state),
            ep.SiteUpdate(rows, weights, order, sites, new, moved, out),
            slots,
            ep.PassPosition(tally.K, len(holes), state.lineage.next_id, state.clock, used, at),
        )
        tally.K, n_holes, _, state.clock, used, end = position
        holes = slots.holes[:n_holes]
        _record_births(state, batch, at, end)
        at = end
        if capped:
            warn_once(model, state)
        if why == adf.ROOM:
            state.reserve(2 * tally.capacity)
        elif why == ep.FULL:
            new = grown(new, 2 * len(new.q) + tally.K + 1)
        elif why == adf.CHECK and state.lap == 0:
            dropped += prune(state, IDLE)
            state.columns |= model.family.columns(state.tally)
        elif why == adf.CHECK:
            state.columns |= model.family.columns(tally)
    dropped += close_holes(state, holes, before | set(range(first_id, state.lineage.next_id)))
    state.columns["judged"][: state.tally.K][state.tally.ids >= first_id] = 0.0
    return UpdatedSites(new, dropped)


def _record_births(state: State, batch: EPBatch, first: int, end: int) -> None:
    """Record the births at positions first..end of the order in the lineage."""
    rows = batch.order[first:end]
    clock = state.clock - np.count_nonzero(batch.weights[rows])
    ticks = clock + np.cumsum(batch.weights[rows] > 0)
    for tick in ticks[batch.results.born[rows]]:
        state.lineage.birth(int(tick))


def _by_arrays(engine: Filter, model: Model, state: State, batch: EPBatch) -> UpdatedSites:
    """Update sites with array maths: for any prior, and the reference for the kernel."""
    dropped: list[int] = []
    found: list[tuple[int, Ints, Floats]] = []
    rule, step = Soft(engine.birth), StepRows(batch.X, batch.weights, np.empty(0), batch.results)
    for i in batch.order:
        old = gathered(state, batch.sites, i)
        emptied, own = _remove_row(model, state, batch, i, old, engine.birth)
        log_weights = engine.log_weights(model, state)
        q = learn_row(model, state, rule, log_weights, step, i, own)
        for k in set(emptied) - set(state.tally.ids.tolist()):
            state.lineage.drop(k, state.clock)
            dropped.append(k)
        if not len(q):
            continue
        ids = state.tally.ids[q > 0].copy()
        found.append((int(i), ids, q[q > 0]))
        _measure_change(batch, i, old, dict(zip(ids.tolist(), q[q > 0], strict=True)))
        if state.lap == 0 and engine.maintenance_due(state):
            dropped += prune(state, IDLE)
    state.columns |= model.family.columns(state.tally)
    return UpdatedSites(packed(len(batch.order), found), dropped)


def _remove_row(
    model: Model, state: State, batch: EPBatch, i: int, old: dict[int, float], birth: float
) -> tuple[list[int], int | None]:
    """Remove row i from its clusters; return the ids of those emptied, and of its own cluster."""
    tally, w = state.tally, batch.weights[i]
    q = np.array([old.get(int(k), 0.0) for k in tally.ids])
    if w == 0 or not q.any():
        return [], None
    hard = q >= adf.HARD
    tally.mass[:] -= w * q
    tally.stats[:] -= model.family.accumulate(batch.X[i : i + 1], w * q[None, :])
    tally.extras["hard"][:] -= w * hard
    tally.extras["hard"][tally.extras["hard"] < ep.RESIDUE] = 0.0
    log_empty = tally.extras["log_empty"]
    log_empty[:] = np.minimum(log_empty - w * np.log1p(-np.where(hard, 0.0, q)), 0.0)
    empty = (q > 0) & (tally.mass < ep.negligible_mass(w))
    candidates = np.flatnonzero((q > 0) & (empty | (tally.mass < birth * w)))
    own = int(tally.ids[candidates[q[candidates].argmax()]]) if len(candidates) else None
    emptied = [int(k) for k in tally.ids[empty]]
    if emptied:
        state.take(np.flatnonzero(~empty))
    return emptied, own


def _measure_change(batch: EPBatch, i: int, old: dict[int, float], new: dict[int, float]) -> None:
    """Add to ``moved`` how far the responsibilities of row i, by id, have moved."""
    w, moved = batch.weights[i], batch.moved
    change = [abs(new.get(k, 0.0) - old.get(k, 0.0)) for k in new | old]
    moved[0] = max(moved[0], *change)
    moved[1] += w * (1.0 - sum(min(q, old.get(k, 0.0)) for k, q in new.items()))
    if batch.sites.end[i] > batch.sites.begin[i]:
        moved[2] += w * (1.0 - sum(old.values()))
