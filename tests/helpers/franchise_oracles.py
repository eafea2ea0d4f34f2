"""Enumeration of hierarchical topic models: every seating, every menu, u integrated on a grid."""

import math
from collections import Counter
from itertools import product

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from evermix.topics.measures import Laws, Mixed
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.seating import Seating
from helpers.dependent_oracles import _grid, _log_mixed, _log_thinned, _total
from helpers.oracles import set_partitions

FIXED = Laws(relative=False)
COUNTS = np.array([[1, 1], [1, 2]])
BETA = 0.5


def corpus(counts=COUNTS, times=(0, 1)):
    """Words of documents; by default two, each its own time."""
    X = sparse.csr_matrix(np.asarray(counts, dtype=float))
    return Corpus.of(X, np.array(times), max(times) + 1)


def seating(words, a=0.9, sigma=0.3, laws=FIXED):
    return Seating(laws, sigma, a, np.ones(words.n_documents))


def one_measure(a=1.2, sigma=0.4, laws=FIXED):
    """The measure of a hierarchy without times."""
    return Mixed(laws, sigma, [a], [[1.0]], [1.0])


def grid(N):
    """As for mixtures; wider for a single u, whose law has a heavy tail where sigma is zero."""
    if len(N) > 1:
        return _grid(N)
    v = np.arange(-40.0, 40.0, 0.1)
    return [np.exp(v)], N[0] * v - gammaln(N[0]) + math.log(0.1)


def log_document(a, sigma, sizes):
    """Log probability of a seating of a document."""
    (u,), log_u = grid([sum(sizes)])
    phi = a * np.log1p(u) if sigma == 0 else a / sigma * ((1 + u) ** sigma - 1)
    decay = (sum(sizes) - sigma * len(sizes)) * np.log1p(u)
    blocks = sum(gammaln(n - sigma) - gammaln(1 - sigma) for n in sizes)
    return _total(log_u - phi - decay) + blocks + len(sizes) * math.log(a)


def log_words(words, dish, beta):
    """Log probability of the words, given the dish of each; for each beta."""
    counts = np.zeros((max(dish) + 1, words.size))
    np.add.at(counts, (np.asarray(dish), words.word), 1)
    beta = np.asarray(beta)[..., None, None]
    each = gammaln(beta + counts) - gammaln(beta)
    beta = words.size * beta[..., 0]
    total = gammaln(beta) - gammaln(beta + counts.sum(axis=1))
    return each.sum(axis=(-2, -1)) + total.sum(axis=-1)


def canonical(dish):
    names = {}
    return tuple(names.setdefault(int(k), len(names)) for k in dish)


def menus(measure, time_of_table):
    """Log probability of every way in which tables order dishes, in regions."""
    log_law = _log_mixed if isinstance(measure, Mixed) else _log_thinned
    u, log_u = grid(np.bincount(time_of_table, minlength=measure.n_times))
    known = {}
    for orders in set_partitions(len(time_of_table)):
        K = max(orders) + 1
        counts = np.zeros((measure.n_times, K), dtype=int)
        np.add.at(counts, (np.array(time_of_table), np.array(orders)), 1)
        for region in product(range(measure.n_regions), repeat=K):
            key = tuple(sorted(zip(map(tuple, counts.T), region, strict=True)))
            if key not in known:
                known[key] = _total(log_u + log_law(measure, u, counts, region))
            yield orders, region, known[key]


def posterior(measure, below, words, beta=BETA):
    """Exact probability of every (dishes of words, their regions, tables of each document)."""
    log_p = {}
    parts = [list(set_partitions(int(n))) for n in words.lengths]
    for seats in product(*parts):
        log_seats = sum(log_document(below.a, below.sigma, np.bincount(s).tolist()) for s in seats)
        owner = np.repeat(np.arange(len(seats)), [max(s) + 1 for s in seats])
        first = np.append(0, np.cumsum([max(s) + 1 for s in seats]))
        for orders, region, log_top in menus(measure, words.time[owner]):
            raw = [orders[first[d] + s] for d, seat in enumerate(seats) for s in seat]
            dish = canonical(raw)
            place = {dish[i]: region[k] for i, k in enumerate(raw)}
            tables = Counter(
                (int(d), dish[raw.index(k)]) for d, k in zip(owner, orders, strict=True)
            )
            key = dish, tuple(place[k] for k in range(len(place))), tuple(sorted(tables.items()))
            value = log_seats + log_top + log_words(words, dish, beta)
            log_p[key] = np.logaddexp(log_p.get(key, -np.inf), value)
    return log_p


def key_of(chain, words):
    dish = canonical(chain.dish)
    place = {dish[i]: int(chain.region[k]) for i, k in enumerate(chain.dish)}
    tables = Counter()
    for i, d in enumerate(words.document):
        tables[int(d), dish[i]] += int(chain.opens[i])
    return dish, tuple(place[j] for j in range(len(place))), tuple(sorted(tables.items()))


def walk_chain(sampler, measure, below, words, sweeps, skip=20, seed=0, beta=BETA):
    """Yield the chain after each sweep, the first ones left out."""
    rng, chain = np.random.default_rng(seed), Franchise.start(measure, below, beta, words)
    for sweep in range(sweeps + skip):
        sampler.sweep(words, chain, rng)
        if sweep >= skip:
            yield chain


def normalised(log_p):
    total = np.logaddexp.reduce(list(log_p.values()))
    return {key: math.exp(value - total) for key, value in log_p.items() if value > -np.inf}


def _tables(key):
    return sum(n for _, n in key[2])


def _ends(key):
    """Regions of the first and of the last word."""
    return key[1][key[0][0]], key[1][key[0][-1]]


def _itself(key):
    return key


def _topics(key):
    return max(key[0])


VIEWS = (_itself, _tables, _topics, _ends)  # all but the first have few values, and little noise


def misfit(sampler, measure, below, words, exact, sweeps):
    """Total variation of a chain from the exact law, over its mean for independent draws.

    The largest over four views: all that is enumerated, the numbers of tables and of topics, and
    the regions of the first and the last word.
    """
    chains = walk_chain(sampler, measure, below, words, sweeps)
    seen = Counter(key_of(chain, words) for chain in chains)
    assert set(seen) <= set(exact)
    return max(_distance(exact, seen, sweeps, view) for view in VIEWS)


def _distance(exact, seen, sweeps, view):
    want, got = Counter(), Counter()
    for key, p in exact.items():
        want[view(key)] += p
        got[view(key)] += seen[key] / sweeps
    noise = 0.5 * math.sqrt(2 / (math.pi * sweeps)) * sum(map(math.sqrt, want.values()))
    return 0.5 * sum(abs(got[key] - p) for key, p in want.items()) / noise
