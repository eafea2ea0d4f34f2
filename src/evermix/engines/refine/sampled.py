"""Clusters of counts from short runs of a collapsed Gibbs sampler.

Splits of wide and sparse rows are hard to find, and a sampler that opens clusters row by row finds
many of them at once. What is open in the model is learnt on the way.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from evermix._xp import Ints
from evermix.engines.batch import CAPPED, Batch, RowResults
from evermix.engines.memo import CHAIN
from evermix.engines.refine.problem import Clusters, Problem
from evermix.engines.samplers.gibbs import gibbs_sweep
from evermix.engines.samplers.sampler import state_of
from evermix.model import Model
from evermix.priors import PitmanYor

SWEEPS, FREE = 120, 10  # from no clusters, and those of them before anything is learnt
FEWEST_SWEEPS, ENTRIES = 40, 2**23  # fewer sweeps if all of them would read more entries than that
MORE_SWEEPS = 40  # from given clusters
LEARN_EVERY = 3  # sweeps
# It begins where it opens many clusters: merges are easier to find than splits.
EAGER_ALPHA, EAGER_CONCENTRATION = 0.02, 100.0


def sampled(problem: Problem) -> Clusters:
    """Return the clusters of the last sweep; weights of rows are not used."""
    sweeps = min(max(ENTRIES // max(problem.sample.X.nnz, 1), FEWEST_SWEEPS), SWEEPS)
    nowhere = np.full(len(problem.sample), -1, dtype=np.int64)
    return _run(problem, eager(problem.model), nowhere, sweeps, FREE)


def resampled(problem: Problem, labels: Ints) -> Clusters:
    """Return the clusters after more sweeps from labels (N,), -1 for rows without a cluster."""
    return _run(problem, problem.model, labels, MORE_SWEEPS, 0)


def _run(problem: Problem, model: Model, labels: Ints, sweeps: int, free: int) -> Clusters:
    """Return the clusters after some sweeps; nothing is learnt in the first ``free`` ones."""
    for sweep in range(sweeps):
        labels, _ = _swept(problem, model, labels)
        if sweep >= free and sweep % LEARN_EVERY == 0:
            tally = state_of(model, _batch(problem.sample.X), labels).tally
            model = problem.learnt_model(model, tally.mass, tally.stats)
    return replace(problem.start(labels), model=model)


def log_predictive(problem: Problem, clusters: Clusters) -> float:
    """Return the log predictive probability of each row given all others, summed over a sweep."""
    return _swept(problem, clusters.model, clusters.r.argmax(axis=1))[1]


def _swept(problem: Problem, model: Model, labels: Ints) -> tuple[Ints, float]:
    """Return labels (N,) after a sweep, 0..K-1 without gaps, and the log predictive of all rows."""
    X, known, labels = problem.sample.X, labels >= 0, labels.copy()
    labels[known] = np.unique(labels[known], return_inverse=True)[1]
    state = state_of(model, _batch(X[known]), labels[known])
    state.memo[CHAIN] = {"labels": labels}
    state.derived["capped"] = np.full(1, float(CAPPED))  # the fit itself warns of that
    results = RowResults.empty(len(labels))
    labels = gibbs_sweep(model, state, _batch(X), results, problem.rng)
    return np.unique(labels, return_inverse=True)[1], float(results.log_predictive.sum())


def _batch(X: Any) -> Batch:
    return Batch(X, np.ones(X.shape[0]))


def eager(model: Model) -> Model:
    """Return a model that opens many clusters, as far as it is open."""
    changes: dict[str, Any] = {"alpha": EAGER_ALPHA} if "alpha" in model.learns else {}
    prior = PitmanYor(EAGER_CONCENTRATION, 0.0) if "prior" in model.learns else model.prior
    return replace(model, family=replace(model.family, **changes), prior=prior)
