"""Searches: splits, merges and deletes in turn until none raises the objective.

A search starts from one cluster and again from many, and the better end is kept. Where several
families are possible, those that lag far behind are given up.
"""

import math
from collections.abc import Collection
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from evermix.engines.refine.merge import merged, thinned
from evermix.engines.refine.problem import Clusters, Problem
from evermix.engines.refine.sampled import log_predictive, sampled
from evermix.engines.refine.scattered import scattered
from evermix.engines.refine.split import split
from evermix.engines.seeding import Sample, seed
from evermix.families.base import Family
from evermix.model import Model
from evermix.priors import PitmanYor
from evermix.priors.base import Prior

SEEDS = 30  # clusters of the second start
ROWS_PER_SEED = 5
ROUNDS = 30
PATIENCE = 2  # rounds without a gain of GAIN nats, after which a search ends
GAIN = 0.1
SPARSE_LAPS, DENSE_LAPS = (10, 20), (2, 5)  # of wide rows, before the first merges and after any
LOSS = 0.4  # nats that merges may take from the predictive probability of a row
SETTLING = 2  # laps of clusters of wide rows before they are judged
DELETE_FROM = 3  # rounds before clusters that are still splitting may be deleted
LAGGING = 10.0  # rounds like the last that a search may need to catch up before it is given up


def refine(
    families: Collection[Family],
    prior: Prior | None,
    sample: Sample,
    max_clusters: int | None,
    learns: Collection[str],
    rng: Generator,
) -> Clusters:
    """Return the clusters of a sample under the family whose objective is largest.

    ``prior`` is None if it is to be learnt too; ``learns`` names what is open.
    """
    names = tuple(learns) if prior is not None else (*learns, "prior")
    law = PitmanYor(1.0, 0.0) if prior is None else prior
    best, chosen = -math.inf, None
    for family in families:
        model = Model(family, law, max_clusters, learns=names)
        problem = Problem(Sample(family, sample.X, sample.weights), model, rng)
        for found in _ends(problem, best):
            value = problem.objective(found)
            if chosen is None or value > best:
                best, chosen = value, found
    assert chosen is not None
    return chosen


def _ends(problem: Problem, floor: float) -> "list[Clusters]":
    """Return the ends of searches from one cluster and, unless that lags, from many."""
    n = len(problem.sample)
    if problem.sample.family.sparse:
        return [merged_only(problem, sampled(problem))]
    if problem.sample.family.wide:
        return [_merged_from_many(problem)]
    one = search(problem, problem.start(np.zeros(n, dtype=np.int64)), floor)
    K = min(SEEDS, n // ROWS_PER_SEED, problem.cap)
    if one is None or K < 2:
        return [] if one is None else [one]
    many = search(problem, problem.start(seed(problem.sample, K, problem.rng)), floor)
    return [one] if many is None else [one, many]


def _merged_from_many(problem: Problem) -> Clusters:
    """Return clusters of wide rows that were many at first, or one if that explains them better.

    They are judged by all evidence, although they were merged with less of it.
    """
    apart = Problem(problem.sample, problem.model, problem.rng)
    found = merged_only(apart, coarse(apart, scattered(problem)))
    alone = problem.learnt(problem.start(np.zeros(len(problem.sample), dtype=np.int64)))
    if found.K > 1:
        settled = problem.laps(problem.learnt(found), SETTLING)
        if problem.objective(settled) > problem.objective(alone):
            return found
    return coarse(problem, alone)


def coarse(problem: Problem, clusters: Clusters) -> Clusters:
    """Return the clusters under the evidence that the rows are worth to a family that is learnt.

    Where that is not all of it, nothing more is learnt.   Consumes: problem.
    """
    if not problem.names:
        return clusters
    family = clusters.model.family.coarse(len(problem.sample))
    if family != clusters.model.family:
        problem.names = []
    return replace(clusters, model=replace(clusters.model, family=family))


def merged_only(problem: Problem, clusters: Clusters) -> Clusters:
    """Improve clusters by laps and merges.

    Those of counts are merged under what the sampler has learnt, then while learning. A merge
    raises the alpha that is best, a larger alpha brings more merges, and the bound is loose where
    clusters of short texts overlap, so that few texts would all end in one. Hence merges stand
    only if the rows still predict each other nearly as well.
    """
    if not (problem.sample.family.sparse and problem.names):
        return _merged_in_turn(problem, clusters)
    held = copy(problem)
    held.names = []
    before = _merged_in_turn(held, clusters)
    after = _merged_in_turn(problem, before)
    floor = log_predictive(problem, clusters) - LOSS * len(problem.sample)
    for fewer in (after, problem.learnt(before)):
        if log_predictive(problem, fewer) >= floor:
            return fewer
    return problem.laps(clusters, SPARSE_LAPS[0])


def _merged_in_turn(problem: Problem, clusters: Clusters) -> Clusters:
    """Make laps and merges in turn until there is nothing to merge."""
    first, later = SPARSE_LAPS if problem.sample.family.sparse else DENSE_LAPS
    clusters = problem.laps(clusters, first)
    while (fewer := merged(problem, clusters)).K < clusters.K:
        clusters = problem.laps(fewer, later)
    return clusters


def search(problem: Problem, clusters: Clusters, floor: float = -math.inf) -> Clusters | None:
    """Improve clusters until no move gains; None if they stay far below a floor.

    Clusters of wide rows are only merged: their splits are too hard to find.
    """
    if problem.sample.family.wide:
        return merged_only(problem, clusters)
    clusters = problem.laps(clusters, 10)
    best, stalled = -math.inf, 0
    for round in range(ROUNDS):
        clusters = problem.laps(merged(problem, clusters), 5)
        grown = split(problem, clusters)
        n_split = grown.K - clusters.K
        before = problem.laps(grown, 10) if n_split else grown
        clusters = merged(problem, before)
        if not n_split or round >= DELETE_FROM:
            clusters = thinned(problem, clusters)
        n_gone = before.K - clusters.K
        if n_split or n_gone:
            clusters = problem.laps(clusters, 20)
        value = problem.objective(clusters)
        if value + LAGGING * max(value - best, 0.0) < floor and round:
            return None
        stalled = 0 if value > best + GAIN else stalled + 1
        best = max(best, value)
        if not (n_split or n_gone) or stalled > PATIENCE:
            break
    return clusters if value >= floor or floor == -math.inf else None
