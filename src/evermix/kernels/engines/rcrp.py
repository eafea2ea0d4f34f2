"""The recursive Chinese restaurant process: one pass, one observation at a time, for any family.

Row k of the buffers is the label k + 1, in the order in which tables are opened. ``tables``
holds p(K_t = k + 1), the probability that k + 1 tables are in use.
"""

from math import exp, inf, log
from typing import Any, NamedTuple

from evermix._xp import Floats, Ints
from evermix.kernels.base import add, clear, kernel, refresh, score
from evermix.kernels.engines.adf import CHECK, DEAD, DONE, ROOM, SEEN, RowOutputs

COUPLED, JOINT = 0, 1  # rules that update the number of tables

NEGLIGIBLE = 1e-16  # a smaller responsibility vanishes in rounding, and opens no label
REFUSED = 0.05  # probability of labels above the cap that is worth a warning


class LabelBuffers(NamedTuple):
    """Per-label buffers (capacity,).   # INOUT."""

    mass: Floats
    start: Floats  # the part of the mass that a label started with
    tables: Floats  # p(K_t = row + 1)
    last_seen: Ints
    announced: Ints  # clock at which the label became a cluster, or 0


class LabelScratch(NamedTuple):
    """Per-label scratch (capacity,)."""

    share: Floats  # scores, then responsibilities
    old: Floats  # part of the responsibility in which the table is in use
    new: Floats  # part of the responsibility in which the table is new
    room: Floats  # see _make_room


class RCRPSettings(NamedTuple):
    """Settings of a pass.   # IN."""

    alpha: float
    rule: int
    own: bool  # whether a new label starts at its own row instead of the prior
    announce: float
    cap: int
    every: int
    statistic_major: bool


class RCRPData(NamedTuple):
    """Everything that a pass reads and updates."""

    work: Any  # INOUT the family's work
    labels: LabelBuffers  # INOUT
    none: Floats  # INOUT (1,) p(K_t = 0)
    scratch: LabelScratch  # OUT
    settings: RCRPSettings  # IN


@kernel
def _log_density(K: int, alpha: float, labels: LabelBuffers, score: Floats) -> float:
    """Log predictive density of a row with these scores (K + 1,), the last under the prior."""
    top = score[K]
    for k in range(K):
        top = max(top, score[k])
    n, total = 0.0, alpha * exp(score[K] - top)
    for k in range(K):
        seen = max(labels.mass[k] - labels.start[k], DEAD)
        n += seen
        total += seen * exp(score[k] - top)
    return top + log(total) - log(alpha + n)


@kernel
def _top(slots: int, K: int, fresh: float, scratch: LabelScratch, settings: RCRPSettings) -> float:
    """Return the largest score among the parts with positive weight."""
    top = -inf
    for k in range(slots):
        if k < K:
            top = max(top, scratch.share[k])
        if scratch.new[k] > 0.0:
            top = max(top, scratch.share[k] if settings.own else fresh)
    return top


@kernel
def _assign(
    slots: int,
    K: int,
    fresh: float,
    labels: LabelBuffers,
    none: Floats,
    scratch: LabelScratch,
    settings: RCRPSettings,
) -> tuple[float, float]:
    """Turn scores into responsibilities: R_k L_k (table in use) + alpha p(K = k - 1) L (new table).

    Returns the probability of a table in use, and the log of the sum of all weights.
    """
    share, old, new = scratch.share, scratch.old, scratch.new
    for k in range(slots):
        before = none[0] if k == 0 else labels.tables[k - 1]
        new[k] = settings.alpha * before if before > DEAD else 0.0
    top = _top(slots, K, fresh, scratch, settings)
    unseen = exp(fresh - top)
    in_use, total = 0.0, 0.0
    for k in range(slots):
        likelihood = exp(share[k] - top)
        if new[k] > 0.0:  # else the likelihood may overflow
            new[k] *= likelihood if settings.own else unseen
        old[k] = 0.0
        if k < K:
            old[k] = max(labels.mass[k] - labels.start[k], DEAD) * likelihood
        in_use += old[k]
        total += old[k] + new[k]
    for k in range(slots):
        old[k] /= total
        new[k] /= total
        share[k] = old[k] + new[k]
    return in_use / total, top + log(total)


@kernel
def _count_jointly(slots: int, old: float, labels: LabelBuffers, none: Floats, new: Floats) -> None:
    """p(K_t = k) = p(z_t = k is new) + p(z_t is old) p(K_{t-1} = k)."""
    none[0] *= old
    for k in range(slots):
        labels.tables[k] = new[k] + old * labels.tables[k]


@kernel
def _make_room(K: int, labels: LabelBuffers, room: Floats) -> float:
    """Write how much mass each label could have where its table is in use; return the total mass.

    The case of k tables has the mass n p(k), which belongs to labels 1..k. They take their mass
    from the last to the first, each in proportion to what is left. This makes n_j and K as
    independent as their margins R and p(K) allow, given that n_j = 0 if K < j.
    """
    n = 0.0
    for k in range(K):
        n += max(labels.mass[k] - labels.start[k], 0.0)
    left = 0.0
    for k in range(K - 1, -1, -1):
        seen = max(labels.mass[k] - labels.start[k], 0.0)
        room[k] = left + n * labels.tables[k]
        left = max(room[k] - seen, 0.0)  # R may exceed the mass available
    return n


@kernel
def _count_coupled(
    slots: int, K: int, old: float, labels: LabelBuffers, none: Floats, scratch: LabelScratch
) -> None:
    """p(K_t = k) = p(z_t = k is new) + sum over j <= k of p(z_t = j is old) p(K_{t-1} = k | j)."""
    new, room = scratch.new, scratch.room
    n = _make_room(K, labels, room)
    total, weight = 0.0, 0.0
    for k in range(K):
        if room[k] > DEAD:
            left = max(room[k] - max(labels.mass[k] - labels.start[k], 0.0), 0.0)
            weight = (weight * left + scratch.old[k]) / room[k]
        room[k] = n * labels.tables[k] * weight
        total += room[k]
    if not total > DEAD:  # no data yet, or all mass has decayed
        _count_jointly(slots, old, labels, none, new)
        return
    none[0] = 0.0
    for k in range(slots):
        labels.tables[k] = new[k] + (old * room[k] / total if k < K else 0.0)


@kernel
def _count(
    slots: int,
    K: int,
    old: float,
    labels: LabelBuffers,
    none: Floats,
    scratch: LabelScratch,
    rule: int,
) -> None:
    """Update the probabilities of the number of tables, and normalise them."""
    if rule == COUPLED:
        _count_coupled(slots, K, old, labels, none, scratch)
    else:
        _count_jointly(slots, old, labels, none, scratch.new)
    total = none[0]
    for k in range(slots):
        total += labels.tables[k]
    none[0] /= total
    for k in range(slots):
        labels.tables[k] /= total


@kernel
def _owner(
    slots: int, w: float, old: float, announce: float, labels: LabelBuffers, scratch: LabelScratch
) -> tuple[int, float]:
    """Return the most probable cluster of a row and its probability; -1 if there is none.

    A row at a new table does not belong to an announced cluster of the same label, so its new part
    counts only for labels that are not announced yet. Such a label is announced with the row if
    its R or the probability of a new table reaches ``announce``, or if it is the first.
    """
    known, most = -1, -1.0
    other, more = -1, -1.0
    for k in range(slots):
        if labels.announced[k] > 0:
            if scratch.old[k] > most:
                known, most = k, scratch.old[k]
        elif scratch.share[k] > more:
            other, more = k, scratch.share[k]
    if w > 0.0 and more > most:
        R = labels.mass[other] - labels.start[other] + w * more
        if known < 0 or R >= announce or 1.0 - old >= announce:
            return other, more
    return known, max(most, 0.0)


@kernel
def _add(
    work: Any,
    rows: Any,
    i: int,
    w: float,
    slots: int,
    owner: int,
    labels: LabelBuffers,
    share: Floats,
    clock: int,
) -> bool:
    """Add row i to its labels; return whether its cluster was announced with it."""
    for k in range(slots):
        if share[k] >= NEGLIGIBLE:
            labels.mass[k] += w * share[k]
            add(work, rows, i, k, w * share[k], labels.mass[k])
            if share[k] > SEEN:
                labels.last_seen[k] = clock
    born = labels.announced[owner] == 0
    if born:
        labels.announced[owner] = clock
    return born


@kernel
def _learn_row(
    work: Any,  # INOUT the family's work
    rows: Any,  # IN    the family's rows
    i: int,
    w: float,
    labels: LabelBuffers,  # INOUT
    none: Floats,  # INOUT (1,) p(K_t = 0)
    scratch: LabelScratch,  # OUT
    settings: RCRPSettings,  # IN
    K: int,
    clock: int,
    out: RowOutputs,  # OUT
) -> tuple[int, bool]:
    """Learn row i of weight w, at time ``clock``; returns K, and whether the cap was binding."""
    share, fresh = scratch.share, 0.0
    for again in range(2 if settings.own else 1):  # a loop: the scoring code is compiled once
        if again == 1:
            add(work, rows, i, K, 1.0, 1.0)
        score(work, rows, i, K + 1, share)
        if again == 0:
            fresh = share[K]
            out.log_predictive[i] = _log_density(K, settings.alpha, labels, share)
    slots, newest = (K + 1 if K < settings.cap else K), share[K]
    old, evidence = _assign(slots, K, fresh, labels, none, scratch, settings)
    refused = False
    if slots == K and w > 0.0 and labels.tables[K - 1] > DEAD:
        beyond = log(settings.alpha * labels.tables[K - 1]) + newest
        refused = exp(evidence - beyond) < 1.0 / REFUSED - 1.0
    opened = slots > K and w > 0.0 and share[K] >= NEGLIGIBLE
    if not opened:
        slots = K
        if settings.own:
            clear(work, K, settings.statistic_major)
    owner, out.probability[i] = _owner(slots, w, old, settings.announce, labels, scratch)
    out.slot[i] = owner
    if w == 0.0:
        return K, False
    if opened:
        labels.last_seen[K] = clock
        if settings.own:
            labels.mass[K] = 1.0
            labels.start[K] = 1.0
        refresh(work, K + 1, 0.0)
    _count(slots, K, old, labels, none, scratch, settings.rule)
    out.born[i] = _add(work, rows, i, w, slots, owner, labels, share, clock)
    return slots, refused


@kernel
def rcrp_pass(
    data: RCRPData,  # INOUT
    rows: Any,  # IN    the family's rows
    weights: Floats,  # IN    (N,)
    K: int,
    clock: int,
    start: int,
    out: RowOutputs,  # OUT
) -> tuple[int, int, int, bool, int]:
    """Learn the rows from ``start`` on, until they end, buffers are full, or maintenance is due.

    Returns the next row, K, the clock, whether the cap was binding, and why the pass stopped.
    """
    work, labels, none, scratch, settings = data
    capacity = labels.mass.shape[0]
    refused = False
    for i in range(start, weights.shape[0]):
        if K + 2 > capacity:
            return i, K, clock, refused, ROOM
        counts = weights[i] > 0.0
        K, capped = _learn_row(
            work, rows, i, weights[i], labels, none, scratch, settings, K, clock + 1, out
        )
        refused = refused or capped
        if counts:
            clock += 1
            if clock % settings.every == 0:
                return i + 1, K, clock, refused, CHECK
    return weights.shape[0], K, clock, refused, DONE
