"""Expectation propagation: each row is taken out, then learnt again from what the others say.

The loop follows Algorithm 2 of Tank, Foti and Fox (2015). What a row has added (its *site*) is
stored sparsely, by the ids of clusters, so that it survives a change of slots.
"""

from math import log1p
from typing import Any, NamedTuple

from evermix._xp import Array
from evermix.kernels.base import add, clear, kernel
from evermix.kernels.engines.adf import (
    CHECK,
    DONE,
    HARD,
    ROOM,
    Clusters,
    Known,
    Out,
    Scratch,
    Settings,
    deposit,
    learn,
    reweigh,
)

FULL = 3  # why a pass stopped, beside those of the filter: no room for sites

EMPTY = 1e-6  # mass left when a row of weight 1 is taken out, below which a cluster was its own
ROUNDING = 1e-13  # and what rounding may leave behind of a heavy one, per weight
RESIDUE = 1e-9  # what rounding may leave of a sum of weights that were all taken out


class Sites(NamedTuple):
    """Responsibilities of rows (N,): those of row i are entries begin[i]..end[i]."""

    begin: Array  # (N,)
    end: Array  # (N,)
    ids: Array  # (room,)
    q: Array  # (room,)


class Slots(NamedTuple):
    """Where clusters lie.   # INOUT."""

    ids: Array  # (capacity,) id of each slot
    slot_of: Array  # (ids given before,) slot of each id, -1 for clusters that have gone
    holes: Array  # (capacity,) a stack of empty slots among 0..K-1
    before: Array  # (capacity,) scratch of zeros: the responsibilities taken out
    touched: Array  # (capacity,) scratch: the slots they were taken out of
    statistic_major: bool  # whether statistics lie by statistic and not by slot


class Visit(NamedTuple):
    """Rows that are visited again."""

    rows: Any  # IN    the family's rows
    weights: Array  # IN    (N,)
    order: Array  # IN    (N,) rows in the order of their visits
    old: Sites  # IN
    new: Sites  # OUT
    moved: Array  # INOUT (3,) largest change of a responsibility, mass that moved, mass restored
    out: Out  # OUT, with ids in place of slots


class Progress(NamedTuple):
    """Where a pass stands."""

    K: int
    n_holes: int
    next_id: int
    clock: int
    used: int  # entries of the new sites
    at: int  # next place in the order


@kernel
def crumbs(w: float) -> float:
    """Mass below which a cluster was a row's own, if it is left when the row, of weight w, goes.

    A heavy row must not sweep away with its crumbs the rows of a light cluster.
    """
    return max(EMPTY * min(w, 1.0), ROUNDING * w)


@kernel
def _gather(i: int, sites: Sites, slots: Slots) -> int:
    """Write row i's responsibilities into ``before``, by slot; return how many slots that are.

    Clusters that were fused have one slot, clusters that have gone have none.
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
    clusters: Clusters,
    scratch: Scratch,
    settings: Settings,
    slots: Slots,
    n_holes: int,
) -> tuple[int, int]:
    """Take row i out of the n slots that it touched; return the number of holes and the shell.

    A cluster that was the row's own is emptied at once. The shell is what is left, below the birth
    threshold, of the cluster that was the row's own more than any other, or -1: were the row to
    open a cluster beside it, lap after lap, nothing would ever settle.
    """
    shell = -1
    for t in range(n):
        k = slots.touched[t]
        q = slots.before[k]
        clusters.mass[k] -= w * q
        if clusters.mass[k] < crumbs(w):
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
        if clusters.mass[k] <= settings.birth * w and (shell < 0 or q > slots.before[shell]):
            shell = k
    return n_holes, shell


@kernel
def _without(holes: Array, n: int, slot: int) -> int:
    """Take a slot out of the stack of n holes, if it is there; return how many are left."""
    for h in range(n):
        if holes[h] == slot:
            holes[h] = holes[n - 1]
            return n - 1
    return n


@kernel
def _enter(
    fresh: int, shell: int, K: int, n_holes: int, next_id: int, slots: Slots
) -> tuple[int, int]:
    """Name the cluster that was born in the slot ``fresh``; return the number of holes and next id.

    A row's own cluster keeps its id, and is a hole no more if it was emptied.
    """
    if shell >= 0:
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
    slots: Slots,
    rho: Array,
    moved: Array,
) -> int:
    """Write the new site of row i, note how far it has moved, and clear ``before``.

    Returns how many entries the new sites have now.
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
    known: Known,  # INOUT
    visit: Visit,  # INOUT
    slots: Slots,  # INOUT
    progress: Progress,
) -> tuple[tuple[int, int, int, int, int, int], bool, int]:
    """Visit rows again until there are no more, no room, or it is time to tidy up.

    Returns where the pass stands (the fields of Progress), whether the cap refused a birth, and why
    it stopped. Plain tuples: to return a named one numba calls Python, and if a signal's handler
    raises just then, the interpreter crashes.
    """
    work, prior, clusters, scratch, last, settings = known
    rows, weights, order, old, new, moved, out = visit
    K, n_holes, next_id, clock, used, start = progress
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
        holes_before, shell = n_holes, -1
        if w > 0.0:
            n_holes, shell = _take_out(
                work, rows, i, w, touched, prior, clusters, scratch, settings, slots, n_holes
            )
        fresh = K
        if shell >= 0:
            fresh = shell
        elif n_holes > 0:
            fresh = slots.holes[n_holes - 1]
        alive, now = K - n_holes, clock + 1
        count, capped = learn(
            work, rows, i, w, prior, clusters, scratch, last, settings, K, alive, fresh, now, out
        )
        refused = refused or capped
        if count > 0 and out.born[i]:
            n_holes, next_id = _enter(fresh, shell, K, n_holes, next_id, slots)
            out.born[i] = shell < 0
            K = max(K, count)
        for h in range(holes_before, n_holes):
            slots.slot_of[slots.ids[slots.holes[h]]] = -1
        if out.slot[i] >= 0:
            out.slot[i] = slots.ids[out.slot[i]]

        used = _write(i, w, count, touched, old, new, used, slots, scratch.rho, moved)
        if count == 0:  # the row teaches nothing
            continue
        clock = now
        if clock % settings.every == 0:
            return (K, n_holes, next_id, clock, used, place + 1), refused, CHECK
    return (K, n_holes, next_id, clock, used, order.size), refused, DONE


@kernel
def sum_sites(
    work: Any,  # INOUT the family's work
    rows: Any,  # IN    the family's rows
    weights: Array,  # IN    (N,)
    sites: Sites,  # IN
    clusters: Clusters,  # INOUT
    slots: Slots,  # IN
) -> float:
    """Add what the sites say to the clusters; return the mass that no living cluster holds."""
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
            deposit(work, rows, i, k, w, q, clusters)
        orphaned += w * (1.0 - held)
    return orphaned
