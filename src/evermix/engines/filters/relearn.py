"""Hyperparameters of a stream of counts, learnt from its clusters once not all rows are kept."""

from dataclasses import replace

import numpy as np

from evermix._xp import Floats
from evermix.engines.batch import Info
from evermix.engines.filters.review import numbers, prior_is_open, with_sticks
from evermix.model import Model
from evermix.priors import PitmanYor
from evermix.state import State
from evermix.tally import Tally

MATURE = 0.1  # words that a cluster has when much of it is known, over those that there are


def relearn(model: Model, state: State) -> tuple[Model, State, Info]:
    """Learn what is open in a model of counts from its clusters alone.   Consumes: state."""
    model = _learnt(model, state.tally, state.clock)
    state.columns |= model.family.columns(state.tally)
    info = Info(
        rows=0,
        clock=state.clock,
        K=state.tally.K,
        lap=state.lap,
        scalars=numbers(model),
        model=model,
    )
    return model, state, info


def _learnt(model: Model, tally: Tally, clock: int) -> Model:
    """Return a model of counts with what is open learnt from the clusters alone.

    Clusters of less than one row say nothing.
    """
    real = np.flatnonzero(tally.mass >= 1.0)
    if not len(real):
        return model
    mass, stats = tally.mass[real], tally.stats_of(real)
    if model.forgetting is not None:
        stats = _whole(stats, clock)
    names = [name for name in model.family.learns if name in model.learns]
    first = replace(model.family, **{name: None for name in names})
    first = first.guess(np.zeros((1, model.family.n_features or 1)))
    family = model.family
    if names:
        family = family.learnt(first, names, _thinned(stats, clock), mass)
    prior = with_sticks(model, mass)
    if prior_is_open(model):
        assert isinstance(prior, PitmanYor)
        return replace(model, family=family, prior=prior.learnt(mass))
    return replace(model, family=family)


def _whole(stats: Floats, clock: int) -> Floats:
    """Return counts (K, V + 1) that have faded, rounded at random to whole ones.

    Fractions of a word look more even for a Dirichlet distribution than words do.
    """
    counts = stats[:, :-1]
    counts = np.floor(counts + np.random.default_rng(clock).random(counts.shape))
    return np.column_stack([counts, counts.sum(axis=1)])


def _thinned(stats: Floats, clock: int) -> Floats:
    """Return counts (K, V + 1) of clusters, of large ones only those of MATURE V words.

    Words follow a power law: the more of them a cluster has, the more even it looks for a Dirichlet
    distribution. What is learnt must hold for clusters that are opened.
    """
    most = MATURE * (stats.shape[1] - 1)
    large = np.flatnonzero(stats[:, -1] > most)
    if not len(large):
        return stats
    share = most / stats[large, -1]
    counts = np.rint(stats[large, :-1]).astype(np.int64)
    counts = np.random.default_rng(clock).binomial(counts, share[:, None])
    stats = stats.copy()
    stats[large] = np.column_stack([counts, counts.sum(axis=1)])
    return stats
