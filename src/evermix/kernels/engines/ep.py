"""Expectation propagation: each row is removed, then learnt again given all others.

The loop follows Algorithm 2 of Tank, Foti and Fox (2015). The contribution of a row (its
*site*) is stored sparsely by cluster id, so that it survives a change of slots.
"""

from math import log1p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Floats, Ints
from evermix.kernels.base import add, clear, kernel
from evermix.kernels.engines.adf import (
    CHECK,
    DONE,
    HARD,
    ROOM,
    ClusterBuffers,
    FilterData,
    FilterScratch,
    FilterSettings,
    RowOutputs,
    add_share,
    learn_row,
    reweigh,
)

FULL = 3  # why a pass stopped, besides the reasons in adf.py: the buffers of sites are full

EMPTY = 1e-6  # a cluster with less mass left after the removal of a row of weight 1 is empty
ROUNDING = 1e-13  # rounding error of the mass, relative to the weight of a heavy row
RESIDUE = 1e-9  # rounding error of a sum of weights that were all removed


class Sites(NamedTuple):
    """Responsibilities of rows (N,): those of row i are entries begin[i]..end[i]."""

    begin: Ints  # (N,)
    end: Ints  # (N,)
    ids: NDArray[np.int32]  # (room,)
    q: Floats  # (room,)


class ClusterSlots(NamedTuple):
    """The slots of clusters.   # INOUT."""

    ids: Ints  # (capacity,) id of each slot
    slot_of: Ints  # (ids,) slot of each id, -1 for clusters that no longer exist
    holes: Ints  # (capacity,) a stack of empty slots among 0..K-1
    before: Floats  # (capacity,) scratch of zeros: the responsibilities removed
    touched: Ints  # (capacity,) scratch: the slots they were removed from
    statistic_major: bool  # memory layout of the statistics


class SiteUpdate(NamedTuple):
    """Rows whose sites are updated."""

    rows: Any  # IN    the family's rows
    weights: Floats  # IN    (N,)
    order: Ints  # IN    (N,) order of the rows
    old: Sites  # IN
    new: Sites  # OUT
    moved: Floats  # INOUT (3,) largest change of a responsibility, mass moved, mass restored
    out: RowOutputs  # OUT, with ids in place of slots


class PassPosition(NamedTuple):
    """Where a pass has stopped."""

    K: int
    n_holes: int
    next_id: int
    clock: int
    used: int  # entries of the new sites
    at: int  # next position in the order


@kernel
def negligible_mass(w: float) -> float:
    """Return the mass below which a cluster is empty after the removal of a row of weight w.

    For heavy rows it must stay below the mass of light clusters of other rows.
    """
    return max(EMPTY * min(w, 1.0), ROUNDING * w)


@kernel
def _gather(i: int, sites: Sites, slots: ClusterSlots) -> int:
    """Write row i's responsibilities into ``before``, by slot; return the number of slots.

    Merged clusters share a slot; clusters that were dropped have none.
    """
    n = 0
    for p in range(sites.begin[i], sites.end[i]):
        id = sites.ids[p]
        k = slots.slot_of[id] if id >= 0 else -1
        if k < 0:
            continue
        if slots.before[k] == 0.0:
            slots.touched[n] = k
            n += 1
        slots.before[k] += sites.q[p]
    return n


@kernel
def _take_out(
    work: Any,
    rows: Any,
    i: int,
    w: float,
    n: int,
    prior: Any,
    clusters: ClusterBuffers,
    scratch: FilterScratch,
    settings: FilterSettings,
    slots: ClusterSlots,
    n_holes: int,
) -> tuple[int, int]:
    """Remove row i from the n slots that it touched; return the number of holes and its own slot.

    A cluster that loses its only row is emptied at once. The row's own slot, or -1, is that of the
    cluster with its largest responsibility among those whose remaining mass is below the birth
    threshold. A new cluster of the row goes there: beside it, it would be born again in every lap.
    """
    own = -1
    for t in range(n):
        k = slots.touched[t]
        q = slots.before[k]
        clusters.mass[k] -= w * q
        if clusters.mass[k] < negligible_mass(w):
            clusters.mass[k] = 0.0
            clusters.hard[k] = 0.0
            clusters.log_empty[k] = 0.0
            clear(work, k, slots.statistic_major)
            slots.holes[n_holes] = k
            n_holes += 1
        else:
            if q >= HARD:
                clusters.hard[k] -= w
                if clusters.hard[k] < RESIDUE:
                    clusters.hard[k] = 0.0
            else:
                clusters.log_empty[k] = min(clusters.log_empty[k] - w * log1p(-q), 0.0)
            add(work, rows, i, k, -w * q, clusters.mass[k])
        reweigh(k, prior.sigma, settings.paper, clusters, scratch)
        if clusters.mass[k] <= settings.birth * w and (own < 0 or q > slots.before[own]):
            own = k
    return n_holes, own


@kernel
def _without(holes: Ints, n: int, slot: int) -> int:
    """Remove a slot from the stack of n holes, if it is there; return how many are left."""
    for h in range(n):
        if holes[h] == slot:
            holes[h] = holes[n - 1]
            return n - 1
    return n


@kernel
def _enter(
    fresh: int, own: int, K: int, n_holes: int, next_id: int, slots: ClusterSlots
) -> tuple[int, int]:
    """Give the new cluster in the slot ``fresh`` its id; return the number of holes and next id.

    A row's own cluster keeps its id, and its slot is no longer a hole.
    """
    if own >= 0:
        return _without(slots.holes, n_holes, fresh), next_id
    slots.ids[fresh] = next_id
    return (n_holes - 1 if fresh < K else n_holes), next_id + 1


@kernel
def _write(
    i: int,
    w: float,
    count: int,
    touched: int,
    old: Sites,
    new: Sites,
    used: int,
    slots: ClusterSlots,
    rho: Floats,
    moved: Floats,
) -> int:
    """Write the new site of row i, measure how far it moved, and clear ``before``.

    Returns the number of entries of the new sites.
    """
    lost, kept = 0.0, 0.0
    for k in range(count):
        q = rho[k]
        if q > 0.0:
            new.ids[used] = slots.ids[k]
            new.q[used] = q
            used += 1
            kept += min(q, slots.before[k])
        moved[0] = max(moved[0], abs(q - slots.before[k]))
    new.end[i] = used
    for t in range(touched):
        k = slots.touched[t]
        lost += slots.before[k]
        slots.before[k] = 0.0
    if count > 0:
        moved[1] += w * (1.0 - kept)
        if old.end[i] > old.begin[i]:
            moved[2] += w * (1.0 - lost)
    return used


@kernel
def ep_pass(
    data: FilterData,  # INOUT
    update: SiteUpdate,  # INOUT
    slots: ClusterSlots,  # INOUT
    position: PassPosition,
) -> tuple[tuple[int, int, int, int, int, int], bool, int]:
    """Update the sites of rows until they end, buffers are full, or maintenance is due.

    Returns the fields of PassPosition, whether the cap refused a birth, and why the pass stopped.
    The tuples are plain: numba calls Python to make a named one, and if a signal handler raises at
    that moment, the interpreter crashes.
    """
    work, prior, clusters, scratch, last, settings = data
    rows, weights, order, old, new, moved, out = update
    K, n_holes, next_id, clock, used, start = position
    capacity = clusters.mass.shape[0]
    refused = False
    for place in range(start, order.size):
        i = order[place]
        w = weights[i]
        if K + 2 > capacity:
            return (K, n_holes, next_id, clock, used, place), refused, ROOM
        if used + K + 1 > new.q.size:
            return (K, n_holes, next_id, clock, used, place), refused, FULL
        new.begin[i] = used
        new.end[i] = used
        touched = _gather(i, old, slots)
        n_before, own = n_holes, -1
        if w > 0.0:
            n_holes, own = _take_out(
                work, rows, i, w, touched, prior, clusters, scratch, settings, slots, n_holes
            )
        fresh = K
        if own >= 0:
            fresh = own
        elif n_holes > 0:
            fresh = slots.holes[n_holes - 1]
        alive, now = K - n_holes, clock + 1
        count, capped = learn_row(
            work, rows, i, w, prior, clusters, scratch, last, settings, K, alive, fresh, now, out
        )
        refused = refused or capped
        if count > 0 and out.born[i]:
            n_holes, next_id = _enter(fresh, own, K, n_holes, next_id, slots)
            out.born[i] = own < 0
            K = max(K, count)
        for h in range(n_before, n_holes):
            slots.slot_of[slots.ids[slots.holes[h]]] = -1
        if out.slot[i] >= 0:
            out.slot[i] = slots.ids[out.slot[i]]

        used = _write(i, w, count, touched, old, new, used, slots, scratch.rho, moved)
        if count == 0:  # the row has weight zero
            continue
        clock = now
        if clock % settings.every == 0:
            return (K, n_holes, next_id, clock, used, place + 1), refused, CHECK
    return (K, n_holes, next_id, clock, used, order.size), refused, DONE


@kernel
def sum_sites(
    work: Any,  # INOUT the family's work
    rows: Any,  # IN    the family's rows
    weights: Floats,  # IN    (N,)
    sites: Sites,  # IN
    clusters: ClusterBuffers,  # INOUT
    slots: ClusterSlots,  # IN
) -> float:
    """Add all sites to the clusters; return the mass of sites whose clusters no longer exist."""
    orphaned = 0.0
    for i in range(weights.shape[0]):
        w = weights[i]
        if w == 0.0 or sites.end[i] == sites.begin[i]:
            continue
        n = _gather(i, sites, slots)
        held = 0.0
        for t in range(n):
            k = slots.touched[t]
            q = slots.before[k]
            slots.before[k] = 0.0
            held += q
            add_share(work, rows, i, k, w, q, clusters)
        orphaned += w * (1.0 - held)
    return orphaned
