"""Assumed density filtering: one pass, one observation at a time, for any family.

The loop follows Algorithm 1 of Tank, Foti and Fox (2015), with its misprints corrected: predictive
weights, responsibilities, birth or renormalisation, update.
"""

from math import exp, expm1, inf, log, log1p
from typing import Any, NamedTuple

from evermix._xp import Bools, Floats, Ints
from evermix.kernels.base import add, exact, kernel, refresh, score
from evermix.kernels.weights import new_weight

DONE, ROOM, CHECK = 0, 1, 2  # why a pass stopped: no rows left, buffers full, maintenance due

HARD = 1.0 - 1e-12  # larger responsibilities count as certain
NEGLIGIBLE = -36.8  # log of 1e-16: smaller responsibilities vanish in rounding
SEEN = 0.01  # a responsibility above this updates the time a cluster was last seen
DEAD = 1e-300  # least mass or weight of a cluster, so that logarithms stay finite
FRESH = 1e-3  # relative change of n or E[K'] after which the weight of a new cluster is recomputed


class ClusterBuffers(NamedTuple):
    """Per-cluster buffers (capacity,).   # INOUT."""

    mass: Floats
    log_empty: Floats
    hard: Floats
    last_seen: Ints


class FilterScratch(NamedTuple):
    """Derived per-cluster buffers (capacity,): weight, its log, occupancy, log responsibility."""

    weight: Floats
    log_weight: Floats
    occupied: Floats
    rho: Floats


class FilterSettings(NamedTuple):
    """Birth threshold, whether the paper's rule is used, cap on K, maintenance interval."""

    birth: float
    paper: bool
    cap: int
    every: int


class FilterData(NamedTuple):
    """Everything that a pass reads and updates.

    Loops unpack it once: taking arrays out of a tuple costs time in every row.
    """

    work: Any  # INOUT the family's work
    prior: Any  # IN    the prior's scalars
    clusters: ClusterBuffers  # INOUT
    scratch: FilterScratch  # INOUT up to date for slots 0..K-1
    last: Floats  # INOUT (3,) n, E[K'] and the weight of a new cluster when it was last computed
    settings: FilterSettings  # IN


class RowOutputs(NamedTuple):
    """Results (N,) of rows.   # OUT."""

    slot: Ints  # of the most probable cluster
    probability: Floats  # of that
    log_predictive: Floats
    born: Bools
    novelty: Floats  # probability of a new cluster


@exact
def reweigh(
    k: int, sigma: float, paper: bool, clusters: ClusterBuffers, scratch: FilterScratch
) -> None:
    """Recompute occupancy and predictive weight of one cluster."""
    mass = clusters.mass[k]
    some = 1.0 if clusters.hard[k] > 0.0 else -expm1(clusters.log_empty[k])
    scratch.occupied[k] = min(mass, some)
    weight = mass - sigma * scratch.occupied[k]
    if paper:
        weight = max(mass - sigma, DEAD if mass > 0.0 else 0.0)
    scratch.weight[k] = weight
    scratch.log_weight[k] = log(weight) if weight > 0.0 else -inf


@kernel
def reweigh_all(
    K: int, sigma: float, paper: bool, clusters: ClusterBuffers, scratch: FilterScratch
) -> None:
    """Recompute occupancy and predictive weight of all clusters."""
    for k in range(K):
        reweigh(k, sigma, paper, clusters, scratch)


@kernel
def new_cluster_weight(
    K: int, prior: Any, clusters: ClusterBuffers, scratch: FilterScratch, last: Floats
) -> float:
    """Weight of a new cluster; ``last`` (3,) holds n, E[K'] and the weight when last computed."""
    n = 0.0
    expected = 0.0
    for k in range(K):
        n += clusters.mass[k]
        expected += scratch.occupied[k]
    stale = abs(n - last[0]) > FRESH * last[0] or abs(expected - last[1]) > FRESH * last[1]
    if stale:
        last[0] = n
        last[1] = expected
        last[2] = new_weight(prior.kind, prior.a, prior.sigma, prior.tau, n, expected)
    return last[2]


@kernel
def _normalise(slots: int, rho: Floats) -> int:
    """Turn log responsibilities into responsibilities and return the best slot."""
    best = 0
    for k in range(1, slots):
        if rho[k] > rho[best]:
            best = k
    top = rho[best]
    total = 0.0
    for k in range(slots):
        below = rho[k] - top
        rho[k] = exp(below) if below > NEGLIGIBLE else 0.0
        total += rho[k]
    for k in range(slots):
        rho[k] /= total
    return best


@kernel
def log_sum(slots: int, rho: Floats) -> float:
    """Log of the sum of the exponentials."""
    top = rho[0]
    for k in range(1, slots):
        top = max(top, rho[k])
    total = 0.0
    for k in range(slots):
        below = rho[k] - top
        if below > NEGLIGIBLE:
            total += exp(below)
    return top + log(total)


@kernel
def add_share(
    work: Any, rows: Any, i: int, k: int, w: float, q: float, clusters: ClusterBuffers
) -> None:
    """Add the share q of row i, of weight w, to a cluster."""
    clusters.mass[k] += w * q
    if q >= HARD:
        clusters.hard[k] += w
    else:
        clusters.log_empty[k] += w * log1p(-q)
    add(work, rows, i, k, w * q, clusters.mass[k])


@kernel
def learn_row(
    work: Any,  # INOUT the family's work
    rows: Any,  # IN    the family's rows
    i: int,
    w: float,
    prior: Any,  # IN    the prior's scalars
    clusters: ClusterBuffers,  # INOUT
    scratch: FilterScratch,  # INOUT valid for slots 0..K-1; on return rho holds responsibilities
    last: Floats,  # INOUT (3,) the last new-cluster weight
    settings: FilterSettings,  # IN
    K: int,
    alive: int,
    fresh: int,
    clock: int,
    out: RowOutputs,  # OUT
) -> tuple[int, bool]:
    """Learn row i of weight w, at time ``clock``.

    ``alive`` of the K slots are clusters, the others are empty and have no weight. A new cluster
    takes the slot ``fresh``: K, or one of the others, whose responsibilities are then added.

    Returns the number of responsibilities, and whether the cap refused a birth.
    """
    rho = scratch.rho
    omega = 1.0 if alive == 0 else new_cluster_weight(K, prior, clusters, scratch, last)
    score(work, rows, i, K + 1, rho)
    total = omega
    for k in range(K):
        total += scratch.weight[k]
        rho[k] += scratch.log_weight[k]
    rho[K] += log(omega)
    evidence = log_sum(K + 1, rho)
    out.log_predictive[i] = evidence - log(total)

    out.novelty[i] = exp(rho[K] - evidence)
    wanted = alive == 0 or out.novelty[i] > settings.birth
    refused = wanted and w > 0.0 and alive >= settings.cap
    born = wanted and w > 0.0 and alive < settings.cap
    if alive == 0 and not born:  # a row of weight zero before any cluster
        return 0, refused
    slots = K + 1 if born else K
    best = _normalise(slots, rho)
    if born and fresh < K:
        slots = K
        rho[fresh] += rho[K]
        rho[K] = 0.0
        if best == K or rho[fresh] > rho[best]:
            best = fresh
    out.slot[i] = best
    out.probability[i] = rho[best]
    out.born[i] = born
    if w == 0.0:
        return 0, refused

    if born:
        clusters.last_seen[fresh] = clock
        if fresh == K:
            refresh(work, K + 1, 0.0)
    for k in range(slots):
        q = rho[k]
        if q == 0.0:
            continue
        add_share(work, rows, i, k, w, q, clusters)
        if q > SEEN:
            clusters.last_seen[k] = clock
        reweigh(k, prior.sigma, settings.paper, clusters, scratch)
    return slots, refused


@kernel
def adf_pass(
    data: FilterData,  # INOUT
    rows: Any,  # IN    the family's rows
    weights: Floats,  # IN    (N,)
    K: int,
    clock: int,
    start: int,
    out: RowOutputs,  # OUT
) -> tuple[int, int, int, bool, int]:
    """Learn the rows from ``start`` on, until they end, buffers are full, or maintenance is due.

    Returns the next row, K, the clock, whether the cap refused a birth, and why the pass stopped.
    """
    work, prior, clusters, scratch, last, settings = data
    capacity = clusters.mass.shape[0]
    refused = False
    for i in range(start, weights.shape[0]):
        if K + 2 > capacity:
            return i, K, clock, refused, ROOM
        now = clock + 1
        slots, capped = learn_row(
            work, rows, i, weights[i], prior, clusters, scratch, last, settings, K, K, K, now, out
        )
        refused = refused or capped
        if slots == 0:  # the row has weight zero
            continue
        K = max(K, slots)
        clock = now
        if clock % settings.every == 0:
            return i + 1, K, clock, refused, CHECK
    return weights.shape[0], K, clock, refused, DONE
