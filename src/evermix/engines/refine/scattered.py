"""A start of a search for clusters of wide and dense rows: many seeds, spread over the rows.

Merges of such clusters are easier to find than splits. So there are more seeds than clusters, a few
laps let them settle, and what is open in the model is learnt on the way. Seeds are drawn in a few
rounds, each far from those of the rounds before (k-means||): one at a time, they would take longer
than the laps.

References
----------
Bahmani, Moseley, Vattani, Kumar, Vassilvitskii (2012). Scalable k-means++.
"""

import numpy as np

from evermix._xp import Ints
from evermix.engines.refine.problem import Clusters, Problem
from evermix.engines.seeding import clusters_of

SEEDS, ROWS_PER_SEED = 400, 4
ROUNDS = 8
LAPS = 2  # before and after the first step of learning


def scattered(problem: Problem) -> Clusters:
    """Return clusters about more seeds than there should be clusters."""
    n = len(problem.sample)
    clusters = problem.start(_nearest(problem, min(SEEDS, max(n // ROWS_PER_SEED, 1))))
    for _ in range(LAPS):
        clusters = problem.lap(clusters)
    return problem.laps(problem.learnt(clusters), LAPS)


def _nearest(problem: Problem, K: int) -> Ints:
    """Return the nearest of up to K seeds for each row, (N,), from 0 without gaps."""
    sample, rng, n = problem.sample, problem.rng, len(problem.sample)
    gap, best = sample.weights, np.full(n, -np.inf)
    nearest, n_seeds = np.zeros(n, dtype=np.int64), 0
    while n_seeds < K and (left := int(np.count_nonzero(gap))):
        count = min(-(-K // ROUNDS), K - n_seeds, left)
        rows = rng.choice(n, count, replace=False, p=gap / gap.sum())
        scores = sample.scores(*clusters_of(sample, rows))
        closer: Ints = scores.argmax(axis=1)
        value = scores[np.arange(n), closer]
        nearest = np.where(value > best, n_seeds + closer, nearest)
        best = np.maximum(best, value)
        gap = sample.weights * np.maximum(sample.alone - best, 0.0)
        n_seeds += count
    return np.unique(nearest, return_inverse=True)[1]
