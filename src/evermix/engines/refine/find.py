"""Clusters of rows at hand, with what is open in a model learnt: its family, its prior."""

import numpy as np

from evermix._xp import Array, Floats, host
from evermix.engines.refine.coarse import coarsened, counted
from evermix.engines.refine.problem import Clusters
from evermix.engines.refine.search import refine
from evermix.engines.seeding import Sample
from evermix.families.kinds import WHOLE, kinds, seen_together
from evermix.families.mixed import Mixed
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
        families = [reopened(kind, names) for kind in kinds(model.family, X, names)]
        names |= {name for family in families for name in family.learns}
    prior = model.prior if isinstance(model.prior, HasSticks) and "prior" not in names else None
    guesses = [family.guess(X) if family.learns else family for family in families]
    sample, rng = Sample(guesses[0], X, weights), np.random.default_rng(0)
    coarse = coarsened(model, sample)
    if len(guesses) > 1 and isinstance(model.family, Mixed):
        # Of rows with gaps, columns that share a covariance learn nothing, so that only the others
        # can say whether they should.
        whole = [one for one in guesses if np.mean(seen_together(one, X)) >= WHOLE]
        guesses = whole or guesses[-1:]
        seen = seen_together(guesses[0], X)
        if len(guesses) > 1 and not seen.all():
            some = coarse.take(np.flatnonzero(seen))
            best = refine(guesses, prior, some, model.max_clusters, names, rng).model.family
            guesses = [one for one in guesses if one.learns == best.learns]
    return counted(refine(guesses, prior, coarse, model.max_clusters, names, rng), sample)
