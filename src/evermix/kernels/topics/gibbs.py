"""Gibbs sampling of dependent mixtures: each row is taken out, then put into a cluster at random.

What a row may choose depends on its time: cluster k with weight ``share[t, k]`` times its
predictive, and a new cluster of one of several kinds with weights that depend on the time too.
Where jumps are integrated out, the share is multiplied by the cluster's size less a discount, and a
newborn's shares follow from its kind. Where clusters have jumps, the loop stops at a birth, so that
the caller can give the newborn its own.
"""

from math import exp, inf, log
from typing import Any, NamedTuple

from evermix._xp import Floats, Ints
from evermix.kernels.base import add, clear, kernel, refresh, score
from evermix.kernels.engines.adf import DONE, ROOM
from evermix.kernels.engines.gibbs import pick, to_shares

BORN = 2


class NewClusters(NamedTuple):
    """New clusters.   # IN."""

    log_new: Floats  # (T, Q) log weight of a new cluster of each kind
    log_total: Floats  # (T,) log of their sum
    log_share: Floats  # (T, Q) log share of a newborn, where jumps are integrated out


class GibbsBuffers(NamedTuple):
    """Buffers of a chain.   # INOUT."""

    labels: Ints  # (N,) slot of each row, -1 for none yet
    sizes: Floats  # (capacity,)
    log_size: Floats  # (capacity,) log(size - discount), or 0; -inf for empty slots
    log_share: Floats  # (T, capacity)
    kinds: Ints  # (capacity,) int64
    rho: Floats  # scratch (capacity,)
    holes: Ints  # (capacity,) a stack of empty slots among 0..K-1


@kernel
def _log_size(size: float, discount: float) -> float:
    return 0.0 if discount < 0.0 else log(size - discount)


@kernel
def _take_out(
    work: Any,
    rows: Any,
    i: int,
    chain: GibbsBuffers,
    discount: float,
    statistic_major: bool,
    n_holes: int,
) -> int:
    """Take row i out of its cluster, and return how many holes there are."""
    k = chain.labels[i]
    if k < 0:
        return n_holes
    chain.sizes[k] -= 1.0
    if chain.sizes[k] < 0.5:
        chain.sizes[k] = 0.0
        clear(work, k, statistic_major)
        chain.log_size[k] = -inf
        chain.holes[n_holes] = k
        return n_holes + 1
    add(work, rows, i, k, -1.0, chain.sizes[k])
    chain.log_size[k] = _log_size(chain.sizes[k], discount)
    return n_holes


@kernel
def _kind(kinds: NewClusters, t: int, share: float) -> int:
    """Return the kind at a share in [0, 1) of all new clusters of a time."""
    Q = kinds.log_new.shape[1]
    target, last = share, 0
    for c in range(Q):
        weight = exp(kinds.log_new[t, c] - kinds.log_total[t])
        if weight > 0.0:
            last = c
            if target < weight:
                return c
            target -= weight
    return last


@kernel
def row_pass(
    work: Any,  # INOUT the family's work
    rows: Any,  # IN    the family's rows
    times: Ints,  # IN    (N,) int64
    order: Ints,  # IN    (N,) rows in the order of their visits
    uniforms: Floats,  # IN    (N,) numbers in [0, 1), by place in the order
    kinds: NewClusters,  # IN
    discount: float,  # taken from sizes; negative where clusters have jumps
    statistic_major: bool,
    chain: GibbsBuffers,  # INOUT
    K: int,
    n_holes: int,
    start: int,
) -> tuple[int, int, int, int, int]:
    """Draw a cluster for every row in turn, given all others.

    Returns the number of slots, of holes, the next place in the order, why the loop stopped, and
    the slot of the newborn if that is why.
    """
    capacity, rho = chain.sizes.shape[0], chain.rho
    for p in range(start, order.size):
        i = order[p]
        if K + 2 > capacity:
            return K, n_holes, p, ROOM, -1
        t = times[i]
        n_holes = _take_out(work, rows, i, chain, discount, statistic_major, n_holes)

        score(work, rows, i, K + 1, rho)
        for j in range(K):
            rho[j] += chain.log_share[t, j] + chain.log_size[j]
        rho[K] += kinds.log_total[t]
        _, total = to_shares(K + 1, rho)
        k, target = pick(K, rho, uniforms[p] * total)
        born = k == K
        if born:
            kind = _kind(kinds, t, target / rho[K])
            if n_holes > 0:
                n_holes -= 1
                k = chain.holes[n_holes]
            else:
                K += 1
                refresh(work, K, 0.0)
            chain.kinds[k] = kind
            for s in range(kinds.log_share.shape[0]):
                chain.log_share[s, k] = kinds.log_share[s, kind]
        chain.labels[i] = k
        chain.sizes[k] += 1.0
        add(work, rows, i, k, 1.0, chain.sizes[k])
        chain.log_size[k] = _log_size(chain.sizes[k], discount)
        if born and discount < 0.0:
            return K, n_holes, p + 1, BORN, k
    return K, n_holes, order.size, DONE, -1
