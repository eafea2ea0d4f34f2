"""Which old clusters new ones of the same rows succeed, and what they have of their statistics."""

import numpy as np
from scipy import sparse

from evermix._xp import Array, Bools, Floats, Ints
from evermix.engines.refine.problem import Clusters
from evermix.state import State
from evermix.tally import Tally

FLOWS = 0.02  # share of a cluster that must move for it to be connected with another


def owners(tally: Tally, ids: Ints) -> Ints:
    """Return the position of the cluster of each id, (M,); -1 for clusters that are gone."""
    position = {int(k): row for row, k in enumerate(tally.ids)}
    return np.array([position.get(int(k), -1) for k in ids], dtype=np.int64)


def named(
    state: State, flow: Floats, unseen: Bools, may: Bools | None = None
) -> tuple[Ints, list[int], list[tuple[int, int]], list[int]]:
    """Return the ids of new clusters, given the mass (old, new) that moved; and what happened.

    A new cluster has the id of the old one that it shares most with. If another has that, it has
    the id of an old one most of which has come to it, or was split from the former. Old ones that
    are ``unseen`` stay as they are. Where rows count by their age, a cluster that took in a new
    subject leaves its id to the old one. ``may`` (old, new) says which ids they may have; None:
    all. In models that forget, clusters fade that are left with such as may not have their id.
    Consumes: the lineage of the state.
    """
    old = state.tally.ids
    ids = np.full(flow.shape[1], -1, dtype=np.int64)
    taken = np.zeros(len(old), dtype=bool)
    most = (flow > 0) & ((flow == flow.max(axis=0)) | (flow == flow.max(axis=1, keepdims=True)))
    allowed = most if may is None else most & may
    for place in np.argsort(-flow, axis=None, kind="stable"):
        k, j = np.unravel_index(place, flow.shape)
        if allowed[k, j] and not taken[k] and ids[j] < 0:
            ids[j], taken[k] = old[k], True
    births = []
    for j in np.flatnonzero(ids < 0):
        shared = flow[:, j]
        parent = int(old[shared.argmax()]) if shared.max(initial=0.0) > 0 else None
        ids[j] = state.lineage.birth(state.clock, parent)
        if last := state.lineage.last:
            last.append(last[parent] if parent is not None else max(last))
        births.append(int(ids[j]))
    merges, dropped = [], []
    forgets = bool(state.lineage.last)
    end = state.lineage.fade if forgets else state.lineage.drop
    for k in np.flatnonzero(~taken & ~unseen):
        heirs = flow[k] * may[k] if forgets and may is not None else flow[k]
        if heirs.max(initial=0.0) > 0:
            merges.append((int(old[k]), int(ids[heirs.argmax()])))
            state.lineage.merge(*merges[-1], state.clock)
        else:
            dropped.append(int(old[k]))
            end(dropped[-1], state.clock)
    return ids, births, merges, dropped


def transferred(
    tally: Tally | None, found: Clusters, flow: Floats, X: Array, weights: Floats
) -> tuple[Floats, Floats]:
    """Return masses and statistics of the new clusters, exact wherever nothing was split.

    ``flow`` (old, new) is the mass that moved, ``weights`` (M,) what the rows X (M, D) stand for.
    The tally is None if its statistics tell nothing: those of a plane that the rows have outgrown.
    """
    shares = weights[:, None] * found.r
    mass, stats = shares.sum(axis=0), found.model.family.accumulate(X, shares)
    if tally is None:
        return mass, stats
    share = flow / np.maximum(flow.sum(axis=1, keepdims=True), 1e-300)
    n_parts, part = sparse.csgraph.connected_components(
        sparse.bmat([[None, share > FLOWS], [(share > FLOWS).T, None]]), directed=False
    )
    before, after = part[: tally.K], part[tally.K :]
    for p in range(n_parts):
        olds, news = np.flatnonzero(before == p), np.flatnonzero(after == p)
        if len(news) == 1 and len(olds):
            mass[news], stats[news] = tally.mass[olds].sum(), tally.stats[olds].sum(axis=0)
        elif len(news) and len(olds):
            factor = tally.mass[olds].sum() / mass[news].sum()
            mass[news], stats[news] = factor * mass[news], factor * stats[news]
    return mass, stats
