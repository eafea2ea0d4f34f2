"""Clusters of rows at hand, with what is open in a model learnt: its family, its prior."""

import numpy as np

from evermix._xp import Array, Floats, host
from evermix.engines.refine.coarse import coarsened, counted
from evermix.engines.refine.problem import Clusters
from evermix.engines.refine.search import refine
from evermix.engines.seeding import Sample
from evermix.families import DiagonalGaussian, Gaussian
from evermix.families.base import Family
from evermix.families.dense import FULL_ONLY
from evermix.families.opening import reopened
from evermix.model import Model
from evermix.priors.base import HasSticks


def find(model: Model, X: Array, weights: Floats | None = None) -> Clusters:
    """Return the clusters of prepared rows X (N, D), with what is open in the model learnt."""
    X = X if model.family.sparse else host(X)
    weights = np.ones(X.shape[0]) if weights is None else weights
    names = set(model.learns)
    families = [reopened(model.family, names)]
    if "family" in names:
        families = _kinds(X.shape[1])
        names = set(families[0].learns) | set(families[-1].learns) | names
    prior = model.prior if isinstance(model.prior, HasSticks) and "prior" not in names else None
    guesses = [family.guess(X) if family.learns else family for family in families]
    sample = Sample(guesses[0], X, weights)
    coarse, rng = coarsened(model, sample), np.random.default_rng(0)
    return counted(refine(guesses, prior, coarse, model.max_clusters, names, rng), sample)


def _kinds(n_features: int) -> list[Family]:
    """Return the families of real vectors that are tried."""
    return [Gaussian()] if n_features <= FULL_ONLY else [Gaussian(), DiagonalGaussian()]
