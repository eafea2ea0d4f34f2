"""What a fitted engine says: one state, or many draws."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from evermix._xp import Array, logsumexp
from evermix.engines.base import Batch, Engine
from evermix.engines.sampler import Sampler
from evermix.kernels.scoring import score_rows
from evermix.model import Model
from evermix.report.posterior import Posterior
from evermix.state import State

__all__ = ["View", "log_densities", "log_density", "log_joint", "point", "posterior"]


def posterior(engine: Sampler, state: State) -> Posterior:
    """Return the draws of a sampler and what follows from them."""
    return Posterior(*engine.draws(state))


class View(NamedTuple):
    """What labels are predicted from, and the labels (N,) of the fitted rows where it says them."""

    model: Model
    state: State
    labels: Array | None = None


def point(engine: Engine, model: Model, state: State, batch: Batch | None) -> View:
    """Return what labels are predicted from.

    For samplers this is the draw nearest to all others, or the chain as it is if nothing was kept
    yet; ``batch`` then holds all rows.
    """
    if not isinstance(engine, Sampler):
        return View(model, state)
    if not engine.n_draws(state):
        return View(engine.current(model, state), state)
    assert batch is not None  # samplers keep their rows
    draws = posterior(engine, state)
    best = draws.point()
    return View(*engine.draw(model, state, batch, best), draws.labels[best].astype(np.int64))


def _views(
    engine: Engine, model: Model, state: State, batch: Batch | None
) -> Iterator[tuple[Model, State]]:
    """Yield every draw of a sampler, or else the one state there is."""
    if not isinstance(engine, Sampler) or not engine.n_draws(state):
        yield point(engine, model, state, batch)[:2]
        return
    assert batch is not None  # samplers keep their rows
    for m in range(engine.n_draws(state)):
        yield engine.draw(model, state, batch, m)


def log_joint(engine: Engine, model: Model, state: State, X: Array) -> Array:
    """Log weight plus log predictive of prepared rows, (N, K + 1), base measure left out."""
    family, slots = model.family, state.tally.K + 1
    joint = np.empty((X.shape[0], slots))
    score_rows(family.workspace(state.tally, state.columns), family.rows(X), slots, joint)
    return joint + engine.log_weights(model, state)


def log_densities(
    engine: Engine, model: Model, state: State, batch: Batch | None, X: Array
) -> Array:
    """Log predictive density of prepared rows under each draw, (M, N), base measure included."""
    views = [
        logsumexp(log_joint(engine, *view, X), axis=1)
        for view in _views(engine, model, state, batch)
    ]
    return np.stack(views) + model.family.log_base(X)


def log_density(engine: Engine, model: Model, state: State, batch: Batch | None, X: Array) -> Array:
    """Log of the predictive density of prepared rows averaged over draws, (N,)."""
    each = log_densities(engine, model, state, batch, X)
    return logsumexp(each, axis=0) - np.log(len(each))
