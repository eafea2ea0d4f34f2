"""Clusters of a sample, found from scratch: candidates for births.

Full variational inference on a few thousand rows, each representing many, from seeds far from each
other, with merges wherever they raise the bound.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from evermix._threads import side_by_side
from evermix._xp import Array, Floats, alike, host, is_numpy, namespace, xlogy
from evermix.engines.bound import fused_sticks, log_evidence
from evermix.engines.seeding import Sample, seed
from evermix.engines.variational.local import Beliefs, assign, believe, weighted_sums
from evermix.model import Model
from evermix.priors.base import HasSticks

ROUNDS = 12  # most rounds of merges
LAPS = 4  # most laps between merges
STARTS = 24  # of the search for the best pairs
LEAST = 1e-2  # number of rows below which a cluster of a sample is dropped


class SampleClusters(NamedTuple):
    """Clusters of a sample, the largest first."""

    mass: Floats  # (K,)
    stats: Floats  # (K, S)
    entropy: Floats  # (K,)
    value: float  # their contribution to the bound, without the order of sticks

    def beliefs(self, model: Model) -> Beliefs:
        """Return their variational posteriors, as if there were no other clusters."""
        return believe(model, self.mass, self.stats)


def analyse(
    model: Model, sample: Sample, K: int, rng: Generator, merge: bool = True
) -> SampleClusters:
    """Find up to K clusters in a sample."""
    nearest = seed(sample, K, rng)
    r = np.zeros((len(sample), K))
    r[np.arange(len(sample)), nearest] = 1.0
    return refine(model, sample, valued(model, sample, sample.on_device(r))[0], merge)


def refine(
    model: Model, sample: Sample, found: SampleClusters, merge: bool = True
) -> SampleClusters:
    """Improve clusters of a sample until convergence, and merge them where that is better."""
    for _ in range(ROUNDS):
        found, r = _converged(model, sample, found)
        fewer = _merged(model, sample, found, r) if merge else None
        if fewer is None:
            break
        found = fewer
    return _converged(model, sample, found)[0]


def _converged(model: Model, sample: Sample, found: SampleClusters) -> tuple[SampleClusters, Array]:
    """Make a few laps of full variational inference; return also responsibilities (N, K)."""
    for _ in range(LAPS):
        before = found.value
        found, r = _improved(model, sample, found.beliefs(model))
        if found.value - before < 1e-5 * len(sample):
            break
    return found, r


def _improved(model: Model, sample: Sample, beliefs: Beliefs) -> tuple[SampleClusters, Array]:
    """Make one lap; return the clusters and their responsibilities (N, K)."""

    def part(rows: slice) -> tuple[Array, Array, Array, Array]:
        features, weights = sample.features[rows, :], sample.device_weights[rows]
        found = assign(sample.scores(*beliefs, rows), weights)
        sums = weighted_sums(found, weights, features)
        return found.r, host(found.mass), host(found.entropy), host(sums)

    chunks = model.family.chunks(sample.X, len(beliefs.intercepts))
    here = is_numpy(sample.device_weights)
    parts = side_by_side(part, chunks) if here else [part(rows) for rows in chunks]
    r, mass, entropy, sums = zip(*parts, strict=True)
    every = namespace(r[0]).concat(r)
    return _ordered(model, sample, every, sum(mass), sum(sums), sum(entropy))


def valued(model: Model, sample: Sample, r: Array) -> tuple[SampleClusters, Array]:
    """Return the clusters of responsibilities r (N, K), the largest first, and these in order."""
    xp, wr = namespace(r), sample.device_weights[:, None] * r
    entropy = -xp.sum(xlogy(wr, r), axis=0)
    found = xp.sum(wr, axis=0), wr.T @ sample.features, entropy
    return _ordered(model, sample, r, *(host(values) for values in found))


def _ordered(
    model: Model, sample: Sample, r: Array, mass: Floats, sums: Floats, entropy: Floats
) -> tuple[SampleClusters, Array]:
    """Return clusters and responsibilities, the largest first, without empty clusters."""
    order = np.argsort(-mass, kind="stable")
    order = order[mass[order] > LEAST * sample.weights.min()]
    stats = model.family.from_features(sums[order])
    some = r[:, order] if is_numpy(r) else namespace(r).take(r, alike(order, r), axis=1)
    return _with_value(model, mass[order], stats, entropy[order]), some


def _with_value(model: Model, mass: Floats, stats: Floats, entropy: Floats) -> SampleClusters:
    assert isinstance(model.prior, HasSticks)
    value = log_evidence(model, mass, stats).sum() + entropy.sum()
    value += model.prior.log_stick_evidence(mass)
    return SampleClusters(mass, stats, entropy, float(value))


def _merged(model: Model, sample: Sample, found: SampleClusters, r: Array) -> SampleClusters | None:
    """Merge disjoint pairs where that raises the value; None if there are none."""
    K = len(found.mass)
    if K < 2:
        return None
    a, b = np.triu_indices(K, 1)
    alone = log_evidence(model, found.mass, found.stats)
    fused = log_evidence(model, found.mass[a] + found.mass[b], found.stats[a] + found.stats[b])
    gain = np.zeros((K, K))
    gain[a, b] = fused - alone[a] - alone[b]
    gain[a, b] += fused_sticks(model, found.mass, np.stack([a, b], axis=1))
    gain += gain.T
    while pairs := _matching(gain):
        kept = [pair for pair in pairs if gain[pair] > _entropy_lost(sample, found, r, *pair)]
        for i, j in kept:
            r[:, i], r[:, j] = r[:, i] + r[:, j], 0.0
        if kept:
            return valued(model, sample, r)[0]
        for i, j in pairs:
            gain[i, j] = gain[j, i] = 0.0
    return None


def _entropy_lost(sample: Sample, found: SampleClusters, r: Array, i: int, j: int) -> float:
    """Return the entropy of two clusters minus that of their union."""
    both = r[:, i] + r[:, j]
    left = -float(sample.device_weights @ xlogy(both, both))
    return float(found.entropy[i] + found.entropy[j] - left)


def _matching(gain: Floats) -> list[tuple[int, int]]:
    """Return disjoint pairs of a symmetric matrix (K, K) of gains with a large sum.

    Pairs are chosen greedily by increasingly perturbed gains, then exchange partners while that is
    better. The best of several starts is nearly always optimal.
    """
    worth = np.maximum(np.nan_to_num(gain, posinf=0.0), 0.0)
    (some,) = np.nonzero(worth.any(axis=1))
    K = len(some) + len(some) % 2  # the last may stay without a partner
    worth = np.pad(worth[np.ix_(some, some)], (0, K - len(some)))
    found = [_greedy(worth)]
    if np.count_nonzero(worth) > K:  # else the greedy choice is optimal
        rng = np.random.default_rng(0)
        for power in range(STARTS):
            noise = rng.random((K, K))
            found.append(_exchanged(worth, _greedy(worth * (noise + noise.T) ** power)))
    pairs = max(found, key=lambda pairs: sum(worth[a, b] for a, b in pairs))
    return [(int(some[a]), int(some[b])) for a, b in pairs if worth[a, b] > 0]


def _greedy(worth: Floats) -> list[tuple[int, int]]:
    """Return disjoint pairs of all, chosen greedily."""
    left = worth - np.diag(np.full(len(worth), np.inf))
    pairs = []
    for _ in range(len(worth) // 2):
        i, j = np.unravel_index(np.argmax(left), left.shape)
        pairs.append((int(i), int(j)))
        left[[i, j], :] = left[:, [i, j]] = -np.inf
    return pairs


def _exchanged(worth: Floats, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Exchange partners of pairs while that raises their sum."""
    table = worth.tolist()
    better = True
    while better:
        better = False
        for p, q in itertools.combinations(range(len(pairs)), 2):
            (a, b), (c, d) = pairs[p], pairs[q]
            now = table[a][b] + table[c][d]
            for e, f in ((c, d), (d, c)):
                if table[a][e] + table[b][f] > now * (1 + 1e-12):
                    now = table[a][e] + table[b][f]
                    pairs[p], pairs[q], better = (a, e), (b, f), True
    return pairs
