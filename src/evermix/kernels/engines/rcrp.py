"""The recursive Chinese restaurant process: one pass, one observation at a time, for any family.

Row k of the buffers is the label k + 1, in the order in which tables are opened. Next to its mass
lies p(K_t = k + 1), the probability that so many tables are in use.
"""

from math import exp, inf, log
from typing import Any, NamedTuple

from evermix._xp import Array
from evermix.kernels.base import add, clear, kernel, refresh, score
from evermix.kernels.engines.adf import CHECK, DEAD, DONE, ROOM, SEEN, Out

COUPLED, JOINT, PAPER, TEXT, CODE = 0, 1, 2, 3, 4  # how the number of tables is followed

NEGLIGIBLE = 1e-16  # a smaller share of a row is lost in rounding, and opens no label
REFUSED = 0.05  # share of a row that the cap must take away to be worth a warning


class Labels(NamedTuple):
    """Per-label buffers (capacity,).   # INOUT."""

    mass: Array
    start: Array  # part of the mass that is no share of a row
    tables: Array  # p(K_t = row + 1)
    last_seen: Array
    announced: Array  # clock at which the label became a cluster, or 0


class Scratch(NamedTuple):
    """Per-label scratch (capacity,): scores, then shares; the two parts of a share; room."""

    share: Array
    old: Array  # the table is in use
    new: Array  # the table is new
    room: Array


class Settings(NamedTuple):
    """Concentration, rule, likelihood, threshold, cap (or a huge number), interval, layout."""

    alpha: float
    rule: int
    own: bool  # a new label starts at its own row, else at the prior
    announce: float
    cap: int
    every: int
    statistic_major: bool


class Known(NamedTuple):
    """What rows are learnt from, and into; see ``evermix.kernels.engines.adf``."""

    work: Any  # INOUT the family's work
    labels: Labels  # INOUT
    none: Array  # INOUT (1,) p(K_t = 0)
    scratch: Scratch  # OUT
    settings: Settings  # IN


@kernel
def _log_density(K: int, alpha: float, labels: Labels, score: Array) -> float:
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
def _top(slots: int, K: int, fresh: float, scratch: Scratch, settings: Settings) -> float:
    """Return the largest score of a part that has any weight."""
    top = -inf
    for k in range(slots):
        if k < K:
            top = max(top, scratch.share[k])
        if scratch.new[k] > 0.0:
            top = max(top, scratch.share[k] if settings.own else fresh)
    return top


@kernel
def _divide(
    slots: int,
    K: int,
    fresh: float,
    labels: Labels,
    none: Array,
    scratch: Scratch,
    settings: Settings,
) -> tuple[float, float]:
    """Turn scores into shares: R_k L_k of tables in use, plus alpha p(K = k - 1) L of new ones.

    Returns the share of tables in use, and the log of the sum of all weights.
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
        if new[k] > 0.0:  # else the likelihood may be beyond all bounds
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
def _count_jointly(slots: int, old: float, labels: Labels, none: Array, new: Array) -> None:
    """p(K_t = k) = p(z_t = k is new) + p(z_t is old) p(K_{t-1} = k)."""
    none[0] *= old
    for k in range(slots):
        labels.tables[k] = new[k] + old * labels.tables[k]


@kernel
def _make_room(K: int, labels: Labels, room: Array) -> float:
    """Write how much mass there is for each label where its table is in use; return the mass.

    Where k tables are in use lies the mass n p(k), of the labels 1..k. Labels take theirs out of it
    from the last to the first, each in proportion to what is left: so n_j and K are as independent
    as they can be, given that R and p(K) are their margins, and that k < j leaves no n_j.
    """
    n = 0.0
    for k in range(K):
        n += max(labels.mass[k] - labels.start[k], 0.0)
    left = 0.0
    for k in range(K - 1, -1, -1):
        seen = max(labels.mass[k] - labels.start[k], 0.0)
        room[k] = left + n * labels.tables[k]
        left = max(room[k] - seen, 0.0)  # data may ask for more than there is
    return n


@kernel
def _count_coupled(
    slots: int, K: int, old: float, labels: Labels, none: Array, scratch: Scratch
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
    if not total > DEAD:  # nothing was seen, or all has faded
        _count_jointly(slots, old, labels, none, new)
        return
    none[0] = 0.0
    for k in range(slots):
        labels.tables[k] = new[k] + (old * room[k] / total if k < K else 0.0)


@kernel
def _count_apart(slots: int, rule: int, labels: Labels, none: Array, share: Array) -> None:
    """Follow the number of tables as published: K_{t-1} and z_t as if independent."""
    above, beyond = 0.0, 0.0  # p(z_t > j), p(z_t > j + 1)
    for j in range(slots, 0, -1):
        tables, one_less = labels.tables[j - 1], none[0] if j == 1 else labels.tables[j - 2]
        here = share[j - 1]  # p(z_t = j)
        if rule == PAPER:
            stays, moves = 1.0 - above, above + here
        elif rule == TEXT:
            stays, moves = 1.0 - beyond, above
        else:
            stays, moves = 1.0 - above, here
        labels.tables[j - 1] = tables * stays + one_less * moves
        beyond = above
        above += here
    none[0] *= max(1.0 - (beyond if rule == TEXT else above), 0.0)


@kernel
def _count(
    slots: int, K: int, old: float, labels: Labels, none: Array, scratch: Scratch, rule: int
) -> None:
    """Follow the number of tables, and keep the sum of its probabilities at one."""
    if rule == COUPLED:
        _count_coupled(slots, K, old, labels, none, scratch)
    elif rule == JOINT:
        _count_jointly(slots, old, labels, none, scratch.new)
    else:
        _count_apart(slots, rule, labels, none, scratch.share)
    total = none[0]
    for k in range(slots):
        total += labels.tables[k]
    none[0] /= total
    for k in range(slots):
        labels.tables[k] /= total


@kernel
def _owner(
    slots: int, w: float, old: float, announce: float, labels: Labels, scratch: Scratch
) -> tuple[int, float]:
    """Return the cluster that a row most probably is of, and its probability; -1 if there is none.

    A row at a new table is not of the cluster that others know by the same label, so the new part
    counts for labels that were not announced. Such a label is announced with the row, if its R
    reaches ``announce`` or the probability of a new table does, or if it is the first.
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
    labels: Labels,
    share: Array,
    clock: int,
) -> bool:
    """Add row i to its labels; returns whether its owner was announced with it."""
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
def _learn(
    work: Any,  # INOUT the family's work
    rows: Any,  # IN    the family's rows
    i: int,
    w: float,
    labels: Labels,  # INOUT
    none: Array,  # INOUT (1,) p(K_t = 0)
    scratch: Scratch,  # OUT
    settings: Settings,  # IN
    K: int,
    clock: int,
    out: Out,  # OUT
) -> tuple[int, bool]:
    """Learn row i of weight w, at time ``clock``; returns K, and whether the cap took much away."""
    share, fresh = scratch.share, 0.0
    for again in range(2 if settings.own else 1):  # one copy of the code that scores
        if again == 1:
            add(work, rows, i, K, 1.0, 1.0)
        score(work, rows, i, K + 1, share)
        if again == 0:
            fresh = share[K]
            out.log_predictive[i] = _log_density(K, settings.alpha, labels, share)
    slots, newest = (K + 1 if K < settings.cap else K), share[K]
    old, evidence = _divide(slots, K, fresh, labels, none, scratch, settings)
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
    known: Known,  # INOUT
    rows: Any,  # IN    the family's rows
    weights: Array,  # IN    (N,)
    K: int,
    clock: int,
    start: int,
    out: Out,  # OUT
) -> tuple[int, int, int, bool, int]:
    """Learn the rows from ``start`` on, until there are no more, no room, or it is time to rebuild.

    Returns the next row, K, the clock, whether the cap took much away, and why the pass stopped.
    """
    work, labels, none, scratch, settings = known
    capacity = labels.mass.shape[0]
    refused = False
    for i in range(start, weights.shape[0]):
        if K + 2 > capacity:
            return i, K, clock, refused, ROOM
        counts = weights[i] > 0.0
        K, capped = _learn(
            work, rows, i, weights[i], labels, none, scratch, settings, K, clock + 1, out
        )
        refused = refused or capped
        if counts:
            clock += 1
            if clock % settings.every == 0:
                return i + 1, K, clock, refused, CHECK
    return weights.shape[0], K, clock, refused, DONE
