"""New clusters in streams of short texts, of which not all rows are kept.

A short text says little of its subject, so that the texts of a new one go to the clusters that have
some of their words, and a filter does not see that they belong together. Where a word becomes far
more common than it was, new clusters are looked for among the latest rows, beside the clusters as
they were before them. If there are any, the latest rows are learnt again from there: those of new
clusters first, then all others in their order.
"""

from copy import deepcopy
from dataclasses import replace

import numpy as np
from scipy import sparse

from evermix._xp import Floats, Ints
from evermix.engines.batch import Batch, Info, cap_of
from evermix.engines.filters.beginnings import begin
from evermix.engines.filters.filter import Filter
from evermix.engines.filters.keeping import as_they_came, bursts, has_faded, pace
from evermix.engines.filters.relearn import relearn
from evermix.engines.filters.review import with_sticks
from evermix.engines.filters.succession import named, owners
from evermix.engines.refine.anchored import beside
from evermix.lookback import COUNT_ROWS, KeptRows, Recent
from evermix.model import Model
from evermix.state import Lineage, State
from evermix.tally import Tally

FEWEST = 8.0  # rows of a new cluster; one that had fewer before the latest rows is new too


def newcomers_due(model: Model, state: State) -> bool:
    """Whether new clusters are to be looked for among the latest rows."""
    due = state.clock % pace(model) == 0
    return state.recent is not None and due and bool(state.recent.since.parts)


def newcomers(engine: Filter, model: Model, state: State) -> tuple[Model, State, Info]:
    """Return a model and a state with the clusters that are new among the latest rows."""
    assert state.recent is not None
    rows = state.recent.since.rows
    assert rows is not None
    full = len(rows.weights) >= COUNT_ROWS
    rows = rows.take(~has_faded(state, rows))
    info = Info(rows=0, clock=state.clock, K=state.tally.K, lap=state.lap)
    before = _followed(state, state.recent.before)
    found = _found(model, state, before, rows) if bursts(before, rows) else None
    if found is not None:
        state, births, merges, dropped = _learnt_again(engine, model, state, before, rows, found)
        model, state, info = relearn(model, state)
        info = replace(info, births=births, merges=merges, dropped=dropped)
    state = _with_first_rows(engine, model, state, rows)
    if found is not None or full:
        state = replace(state, recent=Recent.after(state.tally, state.clock))
    return model, state, info


def _followed(state: State, before: KeptRows) -> KeptRows:
    """Return clusters as they were before, fused where they have been fused since."""
    ids, place = np.unique(state.lineage.current(before.ids), return_inverse=True)
    each = np.ones(len(place)), (place, np.arange(len(place)))
    fuse = sparse.csr_matrix(each, shape=(len(ids), len(place)))
    mass = np.asarray(np.bincount(place, before.weights), dtype=np.float64)
    sums = KeptRows(sparse.csr_matrix(fuse @ before.X), mass, ids, ids)
    return sums.take(owners(state.tally, ids) >= 0)


def _found(model: Model, state: State, before: KeptRows, rows: KeptRows) -> Ints | None:
    """Return which new cluster each row is of, (N,), -1 for none; None if there are none.

    Rows of pinned clusters stay there.
    """
    pinned = state.lineage.hand.pins(state.tally.ids)
    if not np.isin(state.tally.ids[pinned], before.ids).all():
        return None
    real = before.take(before.weights >= FEWEST)
    if not (K := len(real.weights)):  # all that was there has faded
        return None
    start = replace(model, prior=with_sticks(model, state.tally.mass), max_clusters=None)
    weights = as_they_came(model, rows).weights
    clusters = beside(start, (real.X, real.weights), rows.X, weights)
    label = clusters.r[K:].argmax(axis=1)
    label[np.append(pinned, False)[owners(state.tally, state.lineage.current(rows.ids))]] = -1
    size = np.bincount(label[label >= 0], weights[label >= 0], minlength=clusters.K)
    new = ~clusters.r[:K].any(axis=0) & (size >= FEWEST)
    room = max(cap_of(model) - len(before.weights), 0)
    kept = np.flatnonzero(new)[np.argsort(-size[new], kind="stable")[:room]]
    number = np.full(clusters.K + 1, -1)
    number[kept] = np.arange(len(kept))
    return number[label] if len(kept) else None


def _left(state: State, before: KeptRows) -> Floats:
    """Return what is left of clusters as they were before, (K,): of pinned ones a row."""
    assert state.recent is not None
    left, mass = state.recent.left, before.weights
    held = state.lineage.hand.pins(before.ids) & (left * mass < 1.0)
    return np.where(held, 1.0 / np.maximum(mass, 1.0), left)


def _learnt_again(
    engine: Filter, model: Model, state: State, before: KeptRows, rows: KeptRows, new: Ints
) -> tuple[State, list[int], list[tuple[int, int]], list[int]]:
    """Return the state after the rows, if the new clusters (N,) of some had been known.

    Also births, merges and ends of clusters, as in :class:`Info`.
    """
    family, moved, tally = model.family, new >= 0, state.tally
    own = (new[:, None] == np.arange(new.max() + 1)) * rows.weights[:, None]
    K, left = len(before.weights), _left(state, before)
    stats = np.vstack([family.accumulate(before.X, np.diag(left)), family.accumulate(rows.X, own)])
    mass = np.append(left * before.weights, own.sum(axis=0))
    others = Batch(rows.X[~moved], rows.weights[~moved])
    start = replace(state, lineage=Lineage(), clock=state.clock - len(others.weights))
    again = engine.continued(
        model, Tally.of(np.arange(len(mass)), mass, stats, {}, family.layout), start
    )
    again.latents["capped"] = state.latents["capped"].copy()
    labels = K + new
    if len(others.weights):
        again, info = Filter.step(engine, model, again, others, np.random.default_rng(0))
        assert info.results is not None
        labels[~moved] = info.results.labels
    lineage = deepcopy(state.lineage)
    flow = np.zeros((tally.K, again.tally.K))
    # A row before the latest ones outweighs all of those: no new cluster takes over an old id.
    moves = [
        (before.ids, np.arange(K), before.weights * (1.0 + rows.weights.sum())),
        (lineage.current(rows.ids), labels, rows.weights),
    ]
    for ids, now, weights in moves:
        old, place = owners(tally, ids), owners(again.tally, again.lineage.current(now))
        both = (old >= 0) & (place >= 0)
        np.add.at(flow, (old[both], place[both]), weights[both])
    renamed = replace(state, lineage=lineage)
    may = ~np.isin(tally.ids, before.ids)[:, None] | (again.tally.ids < K)
    none = np.zeros(tally.K, dtype=np.bool_)
    ids, births, merges, dropped = named(renamed, flow, none, may)
    again.tally.ids[:] = ids
    learnt = tally.mass.sum() + state.latents["dropped"]
    again.latents["dropped"] = np.maximum(learnt - again.tally.mass.sum(), 0.0)
    after = replace(
        renamed, tally=again.tally, columns=again.columns, latents=again.latents, derived={}
    )
    return after, births, merges, dropped


def _with_first_rows(engine: Filter, model: Model, state: State, rows: KeptRows) -> State:
    """Return a state that knows the first of the rows of each cluster that was found lately."""
    last = state.clock - pace(model)
    if all(state.lineage.found_at(id) <= last for id in state.tally.ids.tolist()):
        return state
    tally = state.tally
    fit = model.family.log_predictive(rows.X, model.family.posterior(tally.stats, tally.mass))
    owner = (fit + engine.log_weights(model, state)[:-1]).argmax(axis=1)
    state = replace(state, lineage=deepcopy(state.lineage))
    begin(state, tally.ids, owner, rows.clocks, last)
    return state
