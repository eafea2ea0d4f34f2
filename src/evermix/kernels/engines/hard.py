"""One pass in which every observation goes to one cluster: the best, or a random one.

With hard assignments the predictive weights are exact: a cluster weighs its size minus sigma, a
new one omega.
"""

from math import exp, log
from typing import Any

from evermix._xp import Floats
from evermix.kernels.base import kernel, refresh, score
from evermix.kernels.engines.adf import (
    CHECK,
    DONE,
    NEGLIGIBLE,
    ROOM,
    FilterData,
    RowOutputs,
    add_share,
    log_sum,
    new_cluster_weight,
    reweigh,
)

BEST = -1.0  # in place of a uniform number: take the best cluster


@kernel
def _best(slots: int, rho: Floats) -> int:
    """Return the slot of the largest log weight; the first, if there are several."""
    best = 0
    for k in range(1, slots):
        if rho[k] > rho[best]:
            best = k
    return best


@kernel
def _sample(slots: int, rho: Floats, uniform: float) -> int:
    """Return a random slot by log weights, from a uniform number in [0, 1)."""
    top = rho[_best(slots, rho)]
    total = 0.0
    for k in range(slots):
        below = rho[k] - top
        total += exp(below) if below > NEGLIGIBLE else 0.0
    target = uniform * total
    last = 0
    for k in range(slots):
        below = rho[k] - top
        if below > NEGLIGIBLE:
            last = k
            target -= exp(below)
            if target < 0.0:
                break
    return last  # rounding may run over the last one that has weight


@kernel
def hard_pass(
    data: FilterData,  # INOUT
    rows: Any,  # IN    the family's rows
    weights: Floats,  # IN    (N,)
    uniforms: Floats,  # IN    (N,) uniforms in [0, 1), or BEST; (0,): always the best
    K: int,
    clock: int,
    start: int,
    out: RowOutputs,  # OUT
) -> tuple[int, int, int, bool, int]:
    """Learn the rows from ``start`` on, until they end, buffers are full, or maintenance is due.

    Returns the next row, K, the clock, whether the cap refused a birth, and why the pass stopped.
    """
    work, prior, clusters, scratch, last, settings = data
    capacity, rho = clusters.mass.shape[0], scratch.rho
    refused = False
    for i in range(start, weights.shape[0]):
        if K + 2 > capacity:
            return i, K, clock, refused, ROOM
        w = weights[i]
        # As in `learn_row`, written out: a callee would round the sum of weights in its own way.
        omega = 1.0 if K == 0 else new_cluster_weight(K, prior, clusters, scratch, last)
        score(work, rows, i, K + 1, rho)
        total = omega
        for k in range(K):
            total += scratch.weight[k]
            rho[k] += scratch.log_weight[k]
        rho[K] += log(omega)
        evidence = log_sum(K + 1, rho)
        out.log_predictive[i] = evidence - log(total)
        out.novelty[i] = exp(rho[K] - evidence)

        slots = K + 1 if w > 0.0 and K < settings.cap else K
        if slots == 0:  # a row of weight zero before any cluster
            continue
        draws = uniforms.size > 0 and uniforms[i] != BEST
        chosen = _sample(slots, rho, uniforms[i]) if draws else _best(slots, rho)
        born = chosen == K
        refused = refused or (w > 0.0 and slots == K and rho[K] > rho[chosen])
        out.slot[i] = chosen
        out.probability[i] = exp(rho[chosen] - evidence)
        out.born[i] = born
        if w == 0.0:
            continue

        clock += 1
        if born:
            K += 1
            refresh(work, K, 0.0)
        add_share(work, rows, i, chosen, w, 1.0, clusters)
        clusters.last_seen[chosen] = clock
        reweigh(chosen, prior.sigma, settings.paper, clusters, scratch)
        if clock % settings.every == 0:
            return i + 1, K, clock, refused, CHECK
    return weights.shape[0], K, clock, refused, DONE
