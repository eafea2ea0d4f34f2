r"""Where clusters start: rows that are far from each other, in the family's own divergence.

A seed is a cluster that has learnt one row. How far a row x is from a seed is how much better the
row would be explained by a cluster that has learnt x itself,

.. math::

    d(x, s) = E[\log p(x | \phi) | x] - E[\log p(x | \phi) | x_s],

a Bregman divergence between means that the prior smooths. Seeds are drawn one after another with
probability proportional to the distance from the nearest seed so far (k-means++).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from evermix._xp import Array, alike, host, namespace, take_rows
from evermix.families.base import Family, finite

SEED_ROWS = 2000  # rows that seeds are chosen among


@dataclass
class Sample:
    """Rows that stand for many.

    Attributes
    ----------
    family : Family
    X : array (N, D)
        Of any library.
    weights : array (N,)
        How many rows each one stands for; a NumPy array.
    """

    family: Family
    X: Array
    weights: Array

    @cached_property
    def features(self) -> Array:
        """Features of the rows, (N, F)."""
        return self.family.features(self.X)

    @cached_property
    def weights_there(self) -> Array:
        """The weights, where the rows are."""
        return self.beside(self.weights)

    def scores(self, slopes: Array, intercepts: Array, rows: slice = slice(None)) -> Array:
        """Return what is linear in the features of some rows, (N, K), where they are."""
        out = self.features[rows, :] @ self.beside(slopes).T
        out += self.beside(intercepts)
        return out

    def beside(self, values: Array) -> Array:
        """Return an array where the rows are."""
        return values if sparse.issparse(self.X) else alike(values, self.X)

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, rows: Array) -> "Sample":
        """Return some of the rows."""
        return Sample(self.family, take_rows(self.X, rows), self.weights[rows])


def seed(sample: Sample, K: int, rng: np.random.Generator, spread: bool = True) -> Array:
    """Return the nearest of up to K seeds for each row of a sample, (N,).

    Seeds are spread out (k-means++), or just drawn.
    """
    some = sample
    if len(sample) > SEED_ROWS and K * 10 < SEED_ROWS:
        some = sample.take(np.sort(rng.choice(len(sample), SEED_ROWS, replace=False)))
    slopes, intercepts = _spread(some, K, rng) if spread else _drawn(some, K, rng)
    nearest = np.empty(len(sample), dtype=np.int64)
    for rows in sample.family.chunks(sample.X, K):
        scores = sample.scores(slopes, intercepts, rows)
        nearest[rows] = host(namespace(scores).argmax(scores, axis=1))
    return nearest


def _drawn(sample: Sample, K: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw seeds; return their slopes (K, F) and intercepts (K,)."""
    p = sample.weights / sample.weights.sum()
    rows = rng.choice(len(sample), min(K, int(np.count_nonzero(p))), replace=False, p=p)
    return _learnt(sample, rows)


def _spread(sample: Sample, K: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw seeds far from each other; return their slopes (K, F) and intercepts (K,)."""
    alone = host(sample.family.self_log_likelihood(sample.X))
    gap, best = np.ones(len(sample)), np.full(len(sample), -np.inf)
    slopes, intercepts = [], []
    for _ in range(K):
        p = sample.weights * gap
        if not p.sum() > 0:  # every row is a seed already
            break
        slope, intercept = _learnt(sample, rng.choice(len(sample), 1, p=p / p.sum()))
        slopes.append(slope)
        intercepts.append(intercept)
        best = np.maximum(best, host(sample.scores(slope, intercept))[:, 0])
        gap = np.maximum(alone - best, 0.0)
    return np.concatenate(slopes), np.concatenate(intercepts)


def _learnt(sample: Sample, rows: Array) -> tuple[Array, Array]:
    """Return slopes and intercepts of clusters that have learnt one row each."""
    family = sample.family
    stats = host(family.statistic(take_rows(sample.X, rows)))
    params = finite(family.mean_params(family.posterior(stats, np.ones(len(rows)))))
    return family.slopes(params), np.sum(params[:, family.n_stats :], axis=1)
