r"""Initial clusters: rows that are far from each other, in the family's own divergence.

A seed is a cluster that has learnt one row. The distance of a row x from a seed is how much better
a cluster that has learnt x itself would explain it,

.. math::

    d(x, s) = E[\log p(x | \phi) | x] - E[\log p(x | \phi) | x_s],

a Bregman divergence between means that the prior smooths. Seeds are drawn one after another with
probability proportional to the distance from the nearest seed so far (k-means++).
"""

import numpy as np

from evermix._xp import Floats, Ints, host, namespace, take_rows
from evermix.engines.variational.samples import Sample
from evermix.families.base import finite

SEED_ROWS = 2000  # number of rows among which seeds are chosen


def seed(sample: Sample, K: int, rng: np.random.Generator, spread: bool = True) -> Ints:
    """Return the nearest of up to K seeds for each row of a sample, (N,).

    Seeds are spread out (k-means++), or drawn at random.
    """
    some = sample
    if len(sample) > SEED_ROWS and K * 10 < SEED_ROWS:
        some = sample.take(np.sort(rng.choice(len(sample), SEED_ROWS, replace=False)))
    slopes, intercepts = _spread_seeds(some, K, rng) if spread else _random_seeds(some, K, rng)
    nearest = np.empty(len(sample), dtype=np.int64)
    for rows in sample.family.chunks(sample.X, K):
        scores = sample.scores(slopes, intercepts, rows)
        nearest[rows] = host(namespace(scores).argmax(scores, axis=1))
    return nearest


def _random_seeds(sample: Sample, K: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw seeds; return their slopes (K, F) and intercepts (K,)."""
    p = sample.weights / sample.weights.sum()
    rows = rng.choice(len(sample), min(K, int(np.count_nonzero(p))), replace=False, p=p)
    return _clusters_of(sample, rows)


def _spread_seeds(sample: Sample, K: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw seeds far from each other; return their slopes (K, F) and intercepts (K,)."""
    alone = host(sample.family.self_log_likelihood(sample.X))
    gap, best = np.ones(len(sample)), np.full(len(sample), -np.inf)
    slopes, intercepts = [], []
    for _ in range(K):
        p = sample.weights * gap
        if not p.sum() > 0:  # every row is a seed already
            break
        slope, intercept = _clusters_of(sample, rng.choice(len(sample), 1, p=p / p.sum()))
        slopes.append(slope)
        intercepts.append(intercept)
        best = np.maximum(best, host(sample.scores(slope, intercept))[:, 0])
        gap = np.maximum(alone - best, 0.0)
    return np.concatenate(slopes), np.concatenate(intercepts)


def _clusters_of(sample: Sample, rows: Ints) -> tuple[Floats, Floats]:
    """Return slopes and intercepts of clusters of one row each."""
    family = sample.family
    stats = host(family.statistic(take_rows(sample.X, rows)))
    params = finite(family.mean_params(family.posterior(stats, np.ones(len(rows)))))
    return family.slopes(params), np.sum(params[:, family.n_stats :], axis=1)
