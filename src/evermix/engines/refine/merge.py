"""Merges and deletes: fewer clusters where that raises the objective of a search."""

import math

import numpy as np

from evermix._xp import Floats, Ints
from evermix.engines.bound import fused_sticks
from evermix.engines.refine.problem import Clusters, Problem, disjoint
from evermix.kernels.engines.local import write_fused_entropy
from evermix.tally import Tally

ALL_PAIRS = 2**22  # numbers in the statistics of all pairs, above which not all are judged
PARTNERS = 8  # candidates for a merge with each cluster, if they are not all
PAIRS = 256  # pairs fused at a time, to bound memory
DELETE_LAPS = 4  # after which a deletion is judged
DELETED = 100.0  # most nats that a deletion may cost at first
NEGLIGIBLE = 1e-8  # responsibility, for the entropy of a merge
HELD = 1e-3  # responsibility above which a row counts as one of a cluster


def merged(problem: Problem, clusters: Clusters) -> Clusters:
    """Merge pairs of clusters until none gains.

    The change of the objective is exact: evidence of the statistics, of the sticks, and entropy of
    the responsibilities, without which overlapping clusters would be fused that rows keep apart.
    """
    while clusters.K > 1:
        pairs = problem.may_merge(clusters, _candidates(clusters))
        evidence = _fused_evidence(clusters, pairs)
        pairs, evidence = pairs[evidence > 0], evidence[evidence > 0]  # entropy only falls
        gains = evidence + _fused_entropy(problem, clusters, pairs)
        chosen = disjoint(pairs, gains)
        if not len(chosen):
            break
        r, tried = clusters.r.copy(), clusters.tried.copy()
        for a, b in pairs[chosen]:
            r[:, a] += r[:, b]
            r[:, b] = tried[a] = 0.0
        clusters = problem.summed(clusters.model, r, tried)
    return clusters


def _candidates(clusters: Clusters) -> Ints:
    """Pairs (P, 2) that may be fused: all, or of many wide clusters the most promising ones."""
    pairs = np.stack(np.triu_indices(clusters.K, 1), axis=1)
    family, mass, stats = clusters.model.family, clusters.mass, clusters.stats
    if pairs.shape[0] * stats.shape[1] <= ALL_PAIRS:
        return pairs
    tally = Tally.of(np.arange(clusters.K), mass, stats, {}, family.layout)
    bound = np.nan_to_num(family.fusion_bound(tally, np.arange(clusters.K)), nan=-np.inf)
    np.fill_diagonal(bound, -np.inf)
    count = min(PARTNERS, clusters.K - 1)
    best = np.argpartition(-bound, count - 1, axis=1)[:, :count]
    pairs = np.stack([np.repeat(np.arange(clusters.K), count), best.ravel()], axis=1)
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _fused_evidence(clusters: Clusters, pairs: Ints) -> Floats:
    """Change (P,) of the evidence if each pair (P, 2) were fused."""
    family, mass, stats = clusters.model.family, clusters.mass, clusters.stats
    alone = family.log_marginal(stats, mass)
    fused = [np.empty(0)]
    for start in range(0, len(pairs), PAIRS):
        a, b = pairs[start : start + PAIRS].T
        fused.append(family.log_marginal(stats[a] + stats[b], mass[a] + mass[b]))
    gain = np.concatenate(fused) - alone[pairs].sum(axis=1)
    return gain + fused_sticks(clusters.model, mass, pairs)


def _fused_entropy(problem: Problem, clusters: Clusters, pairs: Ints) -> Floats:
    """Change (P,) of the entropy if each pair (P, 2) were fused: 0 where they share no row."""
    r = clusters.r.T.copy()
    owners, rows = np.nonzero(r > NEGLIGIBLE)
    starts, change = np.searchsorted(owners, np.arange(clusters.K + 1)), np.zeros(len(pairs))
    write_fused_entropy(r, problem.sample.weights, rows, starts, pairs, change)
    return change


# ---- deletes -------------------------------------------------------------------------------


def thinned(problem: Problem, clusters: Clusters) -> Clusters:
    """Remove clusters whose rows their neighbours explain as well, after a few laps."""
    if clusters.K < 2:
        return clusters
    value = problem.objective(clusters)
    marks = clusters.r[:, _superfluous(problem, clusters)].T.copy()
    for mark in marks:  # clusters are known by their rows: their order changes
        if clusters.K < 2:
            break
        trial = _without(problem, clusters, int(np.argmax(mark @ clusters.r)))
        for _ in range(DELETE_LAPS):
            trial = problem.lap(trial)
        trial = problem.learnt(trial)
        after = problem.objective(trial)
        if after > value:
            clusters, value = trial, after
    return clusters


def _superfluous(problem: Problem, clusters: Clusters) -> Ints:
    """Positions of clusters whose rows the others explain nearly as well, the best first."""
    r = clusters.r
    loss = problem.sample.weights @ np.where(r > HELD, -np.log1p(-np.minimum(r, 1 - 1e-16)), 0.0)
    order = np.argsort(loss, kind="stable")[: max(4, clusters.K // 3)]
    return order[loss[order] < DELETED]


def _without(problem: Problem, clusters: Clusters, k: int) -> Clusters:
    """Return the other clusters, which share the rows of cluster k."""
    scores = problem.scores(clusters)
    scores[:, k] = -math.inf
    scores -= scores.max(axis=1, keepdims=True)
    heirs = np.exp(scores)
    heirs *= (clusters.r[:, k] / heirs.sum(axis=1))[:, None]
    r = clusters.r + heirs
    r[:, k] = 0.0
    return problem.summed(clusters.model, r, clusters.tried)
