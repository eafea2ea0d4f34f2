"""Gibbs sampling of partitions: each row is taken out, then put into a cluster at random.

With the auxiliary variable U integrated out, a row joins a cluster of n_k others with weight
(n_k - sigma) p(x | cluster) and opens a new one with weight omega p(x); given U, omega is
a (U + tau)^sigma and nothing else changes.
"""

from math import exp, inf, isnan, log, log1p
from typing import Any, NamedTuple

from evermix._xp import Array
from evermix.kernels.adf import DONE, NEGLIGIBLE, ROOM
from evermix.kernels.base import add, clear, kernel, refresh, score
from evermix.kernels.weights import new_weight

__all__ = ["Chain", "Place", "Results", "gibbs_pass"]


class Chain(NamedTuple):
    """Buffers of a chain.   # INOUT."""

    labels: Array  # (N,) slot of each row, -1 for none yet
    sizes: Array  # (capacity,)
    log_weight: Array  # (capacity,) log(size - sigma), -inf for empty slots
    rho: Array  # scratch (capacity,)
    holes: Array  # (capacity,) a stack of empty slots among 0..K-1
    omegas: Array  # (capacity,) weight of a new cluster beside k others and N - 1 rows, or nan


class Place(NamedTuple):
    """Where a sweep stands."""

    K: int
    n_holes: int
    n: int  # rows that are in a cluster
    at: int  # next place in the order


class Results(NamedTuple):
    """Results (N,): probability of the chosen cluster, log predictive, birth.   # OUT."""

    probability: Array
    log_predictive: Array
    born: Array


@kernel
def _omega(chain: Chain, prior: Any, fixed: float, n: int, alive: int) -> float:
    """Weight of a new cluster beside ``alive`` others of n rows; ``fixed`` if that is positive."""
    if alive == 0:
        return 1.0
    if fixed > 0.0:
        return fixed
    if n < chain.labels.size - 1:  # the first sweep
        return new_weight(prior.kind, prior.a, prior.sigma, prior.tau, float(n), float(alive))
    if isnan(chain.omegas[alive]):
        chain.omegas[alive] = new_weight(
            prior.kind, prior.a, prior.sigma, prior.tau, float(n), float(alive)
        )
    return chain.omegas[alive]


@kernel
def gibbs_pass(
    work: Any,  # INOUT the family's work
    rows: Any,  # IN    the family's rows
    order: Array,  # IN    (N,) rows in the order of their visits
    uniforms: Array,  # IN    (N,) numbers in [0, 1), by place in the order
    prior: Any,  # IN    the prior's scalars
    fixed: float,  # weight of a new cluster given U; 0 to integrate U out
    cap: int,
    statistic_major: bool,
    chain: Chain,  # INOUT
    place: Place,
    out: Results,  # OUT
) -> tuple[tuple[int, int, int, int], bool, int]:
    """Draw a cluster for every row in turn, given all others, while there is room.

    Returns where the sweep stands (the fields of Place), whether the cap refused a birth, and why
    it stopped; plain tuples, as in ``evermix.kernels.ep``.
    """
    K, n_holes, n, start = place
    capacity = chain.sizes.shape[0]
    rho, sizes = chain.rho, chain.sizes
    refused = False
    for p in range(start, order.size):
        i = order[p]
        if K + 2 > capacity:
            return (K, n_holes, n, p), refused, ROOM
        k = chain.labels[i]
        if k >= 0:
            sizes[k] -= 1.0
            n -= 1
            if sizes[k] < 0.5:
                sizes[k] = 0.0
                clear(work, k, statistic_major)
                chain.log_weight[k] = -inf
                chain.holes[n_holes] = k
                n_holes += 1
            else:
                add(work, rows, i, k, -1.0, sizes[k])
                chain.log_weight[k] = log(sizes[k] - prior.sigma)

        alive = K - n_holes
        omega = _omega(chain, prior, fixed, n, alive)
        score(work, rows, i, K + 1, rho)
        for j in range(K):
            rho[j] += chain.log_weight[j]
        rho[K] += log(omega)
        slots = K if alive >= cap else K + 1
        top = rho[0]
        for j in range(1, slots):
            top = max(top, rho[j])
        total = 0.0
        for j in range(slots):
            below = rho[j] - top
            rho[j] = exp(below) if below > NEGLIGIBLE else 0.0
            total += rho[j]
        evidence = top + log(total)
        if slots == K:  # only now: beside a far better new cluster the others would vanish
            refused = refused or rho[K] > evidence
            evidence = max(evidence, rho[K]) + log1p(exp(-abs(evidence - rho[K])))
            rho[K] = 0.0
        out.log_predictive[i] = evidence - log(n - prior.sigma * alive + omega)

        target = uniforms[p] * total
        k = 0
        while k < K and target >= rho[k]:
            target -= rho[k]
            k += 1
        while k > 0 and rho[k] == 0.0:  # rounding ran over the last one that has weight
            k -= 1
        born = k == K
        out.probability[i] = rho[k] / total
        out.born[i] = born
        if born and n_holes > 0:
            n_holes -= 1
            k = chain.holes[n_holes]
        elif born:
            K += 1
            refresh(work, K, 0.0)
        chain.labels[i] = k
        sizes[k] += 1.0
        n += 1
        add(work, rows, i, k, 1.0, sizes[k])
        chain.log_weight[k] = log(sizes[k] - prior.sigma)
    return (K, n_holes, n, order.size), refused, DONE
