"""A start of a search for clusters of counts: a short run of a collapsed Gibbs sampler.

Splits of wide and sparse rows are hard to find, and a sampler that opens clusters row by row finds
many of them at once. What is open in the model is learnt on the way.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from evermix.engines.batch import Batch
from evermix.engines.memo import CHAIN
from evermix.engines.refine.problem import Clusters, Problem
from evermix.engines.samplers.gibbs import Gibbs
from evermix.model import Model
from evermix.priors import PitmanYor

SWEEPS, FREE = 40, 10  # sweeps, and those before anything is learnt
LEARN_EVERY = 3  # sweeps
# It begins where it opens many clusters: merges are easier to find than splits.
EAGER_ALPHA, EAGER_CONCENTRATION = 0.02, 100.0


def sampled(problem: Problem) -> Clusters:
    """Return the clusters of the last sweep; weights of rows are not used."""
    model, n = eager(problem.model), len(problem.sample)
    gibbs, batch = Gibbs(sweeps=SWEEPS), Batch(problem.sample.X, np.ones(n))
    state = gibbs.initial(model, problem.rng)
    for sweep in range(SWEEPS):
        state, _ = gibbs.step(model, state, batch, problem.rng)
        if sweep >= FREE and sweep % LEARN_EVERY == 0:
            model = problem.learnt_model(model, state.tally.mass, state.tally.stats)
    labels = state.memo[CHAIN]["labels"]
    return replace(problem.start(labels), model=model)


def eager(model: Model) -> Model:
    """Return a model that opens many clusters, as far as it is open."""
    changes: dict[str, Any] = {"alpha": EAGER_ALPHA} if "alpha" in model.learns else {}
    prior = PitmanYor(EAGER_CONCENTRATION, 0.0) if "prior" in model.learns else model.prior
    return replace(model, family=replace(model.family, **changes), prior=prior)
