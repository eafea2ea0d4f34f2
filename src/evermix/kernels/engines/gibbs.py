"""Gibbs sampling of partitions: each row is taken out, then put into a cluster at random.

With the auxiliary variable U integrated out, a row joins a cluster of n_k others with weight
(n_k - sigma) p(x | cluster) and opens a new one with weight omega p(x); given U, omega is
a (U + tau)^sigma and nothing else changes.
"""

from math import exp, inf, isnan, log, log1p
from typing import Any, NamedTuple

from evermix._xp import Bools, Floats, Ints
from evermix.kernels.base import add, clear, kernel, refresh, score
from evermix.kernels.engines.adf import DONE, NEGLIGIBLE, ROOM
from evermix.kernels.weights import new_weight


class ChainBuffers(NamedTuple):
    """Buffers of a chain.   # INOUT."""

    labels: Ints  # (N,) slot of each row, -1 for none yet
    sizes: Floats  # (capacity,)
    log_weight: Floats  # (capacity,) log(size - sigma), -inf for empty slots
    rho: Floats  # scratch (capacity,)
    holes: Ints  # (capacity,) a stack of empty slots among 0..K-1
    omegas: Floats  # (capacity,) weight of a new cluster beside k others and N - 1 rows, or nan


class SweepSettings(NamedTuple):
    """Settings of a sweep.   # IN."""

    prior: Any  # the prior's scalars
    fixed: float  # weight of a new cluster given U; 0 to integrate U out
    cap: int
    statistic_major: bool  # whether statistics lie by statistic and not by slot


class SweepPosition(NamedTuple):
    """Where a sweep has stopped."""

    K: int
    n_holes: int
    n: int  # rows that are in a cluster
    at: int  # next position in the order


class SweepOutputs(NamedTuple):
    """SweepOutputs (N,): probability of the chosen cluster, log predictive, birth.   # OUT."""

    probability: Floats
    log_predictive: Floats
    born: Bools


class SweepRows(NamedTuple):
    """The rows of a sweep and their order."""

    rows: Any  # IN    the family's rows
    order: Ints  # IN    (N,) order of the rows
    uniforms: Floats  # IN    (N,) uniforms in [0, 1), in that order
    out: SweepOutputs  # OUT


@kernel
def _omega(chain: ChainBuffers, settings: SweepSettings, n: int, alive: int) -> float:
    """Weight of a new cluster beside ``alive`` others of n rows."""
    prior = settings.prior
    if alive == 0:
        return 1.0
    if settings.fixed > 0.0:
        return settings.fixed
    if n < chain.labels.size - 1:  # the first sweep
        return new_weight(prior.kind, prior.a, prior.sigma, prior.tau, float(n), float(alive))
    if isnan(chain.omegas[alive]):
        chain.omegas[alive] = new_weight(
            prior.kind, prior.a, prior.sigma, prior.tau, float(n), float(alive)
        )
    return chain.omegas[alive]


@kernel
def to_shares(slots: int, rho: Floats) -> tuple[float, float]:
    """Turn log weights into weights, the largest 1; return the largest log weight, and the sum."""
    top = rho[0]
    for j in range(1, slots):
        top = max(top, rho[j])
    total = 0.0
    for j in range(slots):
        below = rho[j] - top
        rho[j] = exp(below) if below > NEGLIGIBLE else 0.0
        total += rho[j]
    return top, total


@kernel
def pick(K: int, rho: Floats, target: float) -> tuple[int, float]:
    """Return the slot in 0..K at a number below the sum of all weights, and how far into it."""
    k = 0
    while k < K and target >= rho[k]:
        target -= rho[k]
        k += 1
    while k > 0 and rho[k] == 0.0:  # rounding ran over the last one that has weight
        k -= 1
    return k, target


@kernel
def _weigh(
    work: Any, rows: Any, i: int, K: int, omega: float, full: bool, log_weight: Floats, rho: Floats
) -> tuple[float, float, bool]:
    """Write the weights of row i in slots 0..K into rho; K is a new cluster, 0 if all are full.

    Returns their sum, the log of the sum as if they were not, and whether a birth was refused that
    was the most probable.
    """
    score(work, rows, i, K + 1, rho)
    for j in range(K):
        rho[j] += log_weight[j]
    rho[K] += log(omega)
    top, total = to_shares(K if full else K + 1, rho)
    evidence = top + log(total)
    refused = False
    if full:  # only now: beside a far better new cluster the others would vanish
        refused = rho[K] > evidence
        evidence = max(evidence, rho[K]) + log1p(exp(-abs(evidence - rho[K])))
        rho[K] = 0.0
    return total, evidence, refused


@kernel
def gibbs_pass(
    work: Any,  # INOUT the family's work
    sweep: SweepRows,  # INOUT
    settings: SweepSettings,  # IN
    chain: ChainBuffers,  # INOUT
    position: SweepPosition,
) -> tuple[tuple[int, int, int, int], bool, int]:
    """Draw a cluster for every row in turn, given all others, until the buffers are full.

    Returns the fields of SweepPosition, whether the cap refused a birth, and why the pass
    stopped; plain tuples, as in ``evermix.kernels.engines.ep``.
    """
    rows, order, uniforms, out = sweep
    K, n_holes, n, start = position
    prior, _, cap, statistic_major = settings
    labels, sizes, log_weight, rho, holes, _ = chain
    capacity = sizes.shape[0]
    refused = False
    for p in range(start, order.size):
        i = order[p]
        if K + 2 > capacity:
            return (K, n_holes, n, p), refused, ROOM
        k = labels[i]
        if k >= 0:
            sizes[k] -= 1.0
            n -= 1
            if sizes[k] < 0.5:
                sizes[k] = 0.0
                clear(work, k, statistic_major)
                log_weight[k] = -inf
                holes[n_holes] = k
                n_holes += 1
            else:
                add(work, rows, i, k, -1.0, sizes[k])
                log_weight[k] = log(sizes[k] - prior.sigma)

        alive = K - n_holes
        omega, full = _omega(chain, settings, n, alive), alive >= cap
        total, evidence, capped = _weigh(work, rows, i, K, omega, full, log_weight, rho)
        refused = refused or capped
        out.log_predictive[i] = evidence - log(n - prior.sigma * alive + omega)

        k, _ = pick(K, rho, uniforms[p] * total)
        born = k == K
        out.probability[i] = rho[k] / total
        out.born[i] = born
        if born and n_holes > 0:
            n_holes -= 1
            k = holes[n_holes]
        elif born:
            K += 1
            refresh(work, K, 0.0)
        labels[i] = k
        sizes[k] += 1.0
        n += 1
        add(work, rows, i, k, 1.0, sizes[k])
        log_weight[k] = log(sizes[k] - prior.sigma)
    return (K, n_holes, n, order.size), refused, DONE
