"""Clusters of rows beside others whose rows are gone, and of which only the sums are left.

The others stay where they are, as anchors: rows may join them, and new clusters may be merged into
them. New ones are found by a collapsed Gibbs sampler that begins where it opens many clusters.
"""

from dataclasses import replace

import numpy as np
from numpy.random import Generator
from scipy import sparse

from evermix._xp import Array, Bools, Floats, Ints
from evermix.engines.batch import Batch, RowResults
from evermix.engines.memo import CHAIN
from evermix.engines.refine.problem import Clusters, Problem
from evermix.engines.refine.sampled import eager
from evermix.engines.refine.search import merged_only
from evermix.engines.samplers.gibbs import gibbs_sweep
from evermix.engines.seeding import Sample
from evermix.kernels.engines.local import softmax_rows
from evermix.model import Model
from evermix.state import State
from evermix.tally import Tally

SWEEPS, EAGER = 20, 8  # of the sampler, and those in which it opens many clusters


class Anchored(Problem):
    """A sample whose first ``n_anchors`` rows stand for clusters, and stay in theirs.

    Such a row is the mean of the rows of its cluster, and weighs as much as they do.
    """

    def __init__(self, sample: Sample, model: Model, rng: Generator, n_anchors: int) -> None:
        super().__init__(sample, model, rng)
        self.n_anchors = n_anchors

    def lap(self, clusters: Clusters) -> Clusters:
        """Compute responsibilities of the other rows and sums once."""
        r, (N, K) = np.ascontiguousarray(self.scores(clusters)), (len(self.sample), clusters.K)
        mass, entropy, weights = np.zeros(K), np.zeros(K), self.sample.weights.copy()
        weights[: self.n_anchors] = 0.0
        softmax_rows(r, weights, mass, entropy, np.empty(N, np.int64), np.empty(N), np.empty(N))
        fixed = clusters.r[: self.n_anchors]
        r[: self.n_anchors] = fixed
        mass += self.sample.weights[: self.n_anchors] @ fixed
        return self._gathered(clusters.model, r, mass, entropy, clusters.tried)

    def may_merge(self, clusters: Clusters, pairs: Ints) -> Ints:
        """Return the pairs (P, 2) of clusters of which one at least has no anchor."""
        anchored: Bools = np.any(clusters.r[: self.n_anchors], axis=0)
        return pairs[~anchored[pairs].all(axis=1)]


def beside(model: Model, before: tuple[Array, Floats], X: Array, weights: Floats) -> Clusters:
    """Return the clusters of counts X (N, V) and of what was before them.

    That is the sums (K, V) of clusters and their masses (K,), which are the first K rows of the
    responsibilities. Nothing is learnt.
    """
    sums, mass = before
    rng, K = np.random.default_rng(0), len(mass)
    labels = drawn(model, before, X, rng)
    fixed = replace(model, learns=())
    means = sparse.diags_array(1.0 / mass) @ sums
    sample = Sample(
        model.family, sparse.csr_matrix(sparse.vstack([means, X])), np.append(mass, weights)
    )
    problem = Anchored(sample, fixed, rng, K)
    return merged_only(problem, problem.start(np.append(np.arange(K), labels)))


def drawn(
    model: Model, before: tuple[Array, Floats], X: Array, rng: Generator, sweeps: int = SWEEPS
) -> Ints:
    """Return clusters (N,) of rows X (N, V), drawn one by one given those before and all others.

    Those before, sums (K, V) and masses (K,), have the first numbers. Weights are not used.
    """
    sums, mass_before = before
    K, N = len(mass_before), X.shape[0]
    labels, batch = np.full(N, -1, dtype=np.int64), Batch(X, np.ones(N))
    stats_before = model.family.accumulate(sums, np.eye(K))
    mass, stats = mass_before, stats_before
    for sweep in range(sweeps):
        now = eager(model) if sweep < min(EAGER, sweeps - 1) else model
        tally = Tally.of(np.arange(len(mass)), mass, stats, {}, now.family.layout)
        state = State(tally, now.family.columns(tally), {}, memo={CHAIN: {"labels": labels}})
        labels = gibbs_sweep(now, state, batch, RowResults.empty(N), rng)
        new, place = np.unique(labels[labels >= K], return_inverse=True)
        labels[labels >= K] = K + place
        own = np.zeros((N, K + len(new)))
        own[np.arange(N), labels] = 1.0
        mass, stats = own.sum(axis=0), model.family.accumulate(X, own)
        mass[:K] += mass_before
        stats[:K] += stats_before
    return labels
