"""Enumeration of dependent mixtures: every partition, every region, u integrated on a grid."""

import math
from collections import Counter
from itertools import product

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from evermix.families import Multinomial
from evermix.topics.measures import Laws, Mixed, Thinned
from evermix.topics.rows.chain import RowChain, RowData
from helpers.oracles import set_partitions

FIXED = Laws(relative=False)
WORDS = Multinomial(0.5, n_features=2)
TIMES = np.array([0, 0, 1, 1, 1])
DOCUMENTS = sparse.csr_matrix(np.array([[3, 0], [0, 2], [2, 1], [0, 3], [1, 1]], dtype=float))
EMPTY = sparse.csr_matrix((5, 2))
_KNOWN = {}
V = np.arange(-14.0, 14.0, 0.3)  # the grid over log u of each time


def mixed(q=((1.0, 0.3), (0.4, 1.5)), a=(0.8, 1.4), sigma=0.4, laws=FIXED):
    """A mixed measure with fixed numbers, R = T = 2."""
    return Mixed(laws, sigma, a, q, np.ones(len(q[0])))


def thinned(q=((0.8, 0.3), (0.4, 0.6)), a=(0.8, 1.4), sigma=0.4, laws=FIXED):
    """A thinned measure with fixed numbers, R = T = 2."""
    return Thinned(laws, sigma, a, q, np.ones(len(q[0])))


def data(X=DOCUMENTS, times=TIMES, family=WORDS):
    return RowData(family, X, times, int(times.max()) + 1)


def laplace(a, sigma, U):
    return a * np.log1p(U) if sigma == 0 else a / sigma * ((1 + U) ** sigma - 1)


def _grid(N):
    """Grids u_t (one axis each) and the log of prod u^N / Gamma(N) du / u."""
    axes = np.meshgrid(*[V] * len(N), indexing="ij")
    log_p = sum(n * v - gammaln(n) for n, v in zip(N, axes, strict=True))
    return [np.exp(v) for v in axes], log_p + len(N) * math.log(V[1] - V[0])


def _total(log_f):
    peak = log_f.max()
    if peak == -np.inf:
        return peak
    return peak + math.log(np.exp(log_f - peak).sum())


def _blocks(sizes, sigma):
    return sum(gammaln(n - sigma) - gammaln(1 - sigma) for n in sizes)


def _log_mixed(measure, u, counts, region):
    """Log of the joint law of counts (T, K) in regions (K,) on the grid, without u^(N - 1)."""
    q, a, sigma = measure.q, measure.a, measure.sigma
    U = [sum(q[r, t] * u[t] for t in range(len(u))) for r in range(len(q))]
    out = -sum(laplace(a[r], sigma, U[r]) for r in range(len(q)))
    for k, r in enumerate(region):
        n = counts[:, k]
        if np.any((n > 0) & (q[r] == 0)):
            return np.full_like(out, -np.inf)
        out = out + math.log(a[r]) - (n.sum() - sigma) * np.log1p(U[r])
        out = out + sum(m * math.log(x) for m, x in zip(n, q[r], strict=True) if m)
    return out + _blocks(counts.sum(axis=0), sigma)


def patterns(T):
    return [np.array(b) for b in product((0, 1), repeat=T)]


def probability(q, b):
    return float(np.prod(np.where(b, q, 1 - q)))


def _log_thinned(measure, u, counts, region):
    """The same, summed over the times at which each atom is there."""
    q, a, sigma = measure.q, measure.a, measure.sigma
    T = len(u)
    U = {tuple(b): sum(b[t] * u[t] for t in range(T)) for b in patterns(T)}
    out = 0.0
    for r in range(len(q)):
        out = out - sum(probability(q[r], np.array(b)) * laplace(a[r], sigma, U[b]) for b in U)
    for k, r in enumerate(region):
        n, there = counts[:, k], 0.0
        for b in U:
            if np.all(np.array(b)[n > 0] == 1):
                p = probability(q[r], np.array(b))
                there = there + p * np.exp(-(n.sum() - sigma) * np.log1p(U[b]))
        with np.errstate(divide="ignore"):
            out = out + math.log(a[r]) + np.log(there)
    return out + _blocks(counts.sum(axis=0), sigma)


def posterior(measure, rows):
    """Log joint density of every (labels, regions of the clusters), computed once."""
    numbers = (measure.q, measure.a, measure.sigma, rows.times, rows.X.toarray())
    key = (type(measure), *(np.asarray(x).tobytes() for x in numbers))
    if key not in _KNOWN:
        _KNOWN[key] = _posterior(measure, rows)
    return _KNOWN[key]


def _posterior(measure, rows):
    log_law = _log_mixed if isinstance(measure, Mixed) else _log_thinned
    u, log_u = _grid(np.bincount(rows.times))
    log_p, known = {}, {}
    for labels in set_partitions(len(rows)):
        K, r = max(labels) + 1, np.eye(max(labels) + 1)[list(labels)]
        stats = rows.family.accumulate(rows.X, r)
        fit = float(rows.family.log_marginal(stats, r.sum(axis=0)).sum())
        counts = rows.counts(np.array(labels), K)
        for region in product(range(measure.n_regions), repeat=K):
            key = tuple(sorted(zip(map(tuple, counts.T), region, strict=True)))
            if key not in known:
                known[key] = _total(log_u + log_law(measure, u, counts, region))
            log_p[labels, region] = fit + known[key]
    return log_p


def normalised(log_p):
    total = np.logaddexp.reduce(list(log_p.values()))
    return {key: math.exp(value - total) for key, value in log_p.items() if value > -np.inf}


def walk_chain(sampler, measure, rows, sweeps, skip=20, seed=0):
    """Yield the chain after each sweep, the first ones left out."""
    rng, chain = np.random.default_rng(seed), RowChain.start(measure, rows)
    for sweep in range(sweeps + skip):
        sampler.sweep(rows, chain, rng)
        if sweep >= skip:
            yield chain


def everything(labels, region):
    return labels, region


def coarse(labels, region):
    """Few numbers that say much: a sharper eye for what is wrong."""
    return len(region), region[labels[0]], region[labels[-1]]


def misfit(sampler, measure, rows, sweeps, thin=1, views=(everything, coarse)):
    """Total variation of a chain from the exact law, over its mean for independent draws.

    The largest over some views of what is enumerated.
    """
    exact, seen = normalised(posterior(measure, rows)), Counter()
    for sweep, chain in enumerate(walk_chain(sampler, measure, rows, sweeps * thin)):
        if sweep % thin == 0:
            seen[tuple(chain.labels.tolist()), tuple(chain.region.tolist())] += 1
    return max(_distance(exact, seen, sweeps, view) for view in views)


def _distance(exact, seen, sweeps, view):
    want, got = Counter(), Counter()
    for key, p in exact.items():
        want[view(*key)] += p
    for key, n in seen.items():
        got[view(*key)] += n / sweeps
    assert set(got) <= set(want)
    noise = 0.5 * math.sqrt(2 / (math.pi * sweeps)) * sum(map(math.sqrt, want.values()))
    return 0.5 * sum(abs(got[key] - p) for key, p in want.items()) / noise
