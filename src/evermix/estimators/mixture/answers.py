"""What a fitted engine says: one state, or many draws."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array, alike, doubled, is_foreign, logsumexp, namespace, precise
from evermix.engines.base import Engine
from evermix.engines.batch import Batch
from evermix.kernels.scoring import score_rows
from evermix.model import Model
from evermix.report.posterior import Posterior
from evermix.state import State

ROOM = 2**25  # numbers that kept states of draws may hold: 256 MB


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
    draws = engine.draws(state)
    if draws is None:
        state = engine.for_scoring(model, state)
        shown = engine.shown(state)
        return View(model, state if shown.all() else state.part(np.flatnonzero(shown)))
    if not draws.n_draws:
        return View(engine.current(model, state), state)
    assert batch is not None  # samplers keep their rows
    best = Posterior(*draws).point()
    return View(*engine.draw(model, state, batch, best), draws.labels[best].astype(np.int64))


class Draws(Sequence[View]):
    """Every draw of a sampler, or else the one state there is, with clusters that are not shown.

    The states of draws are computed when they are asked for, and kept if they are small.
    """

    def __init__(self, engine: Engine, model: Model, state: State, batch: Batch | None) -> None:
        self._of = engine, model, state, batch
        draws = engine.draws(state)
        self._sampled = draws is not None
        self._count = 0 if draws is None else draws.n_draws
        self._known: dict[int, View] = {}
        self._room = ROOM

    def __len__(self) -> int:
        return max(self._count, 1)

    def __getitem__(self, m: Any) -> Any:
        if not 0 <= m < len(self):
            raise IndexError(m)
        if m in self._known:
            return self._known[m]
        engine, model, state, batch = self._of
        if not self._sampled:
            return View(model, engine.for_scoring(model, state))
        if not self._count:
            return point(*self._of)
        assert batch is not None  # samplers keep their rows
        view = View(*engine.draw(model, state, batch, m))
        tally = view.state.tally
        self._room -= tally.capacity * tally.size
        if self._room > 0:
            self._known[m] = view
        return view


def answered(model: Model, K: int, X: Array, ask: Callable[[Array], Array], axis: int = 0) -> Array:
    """Return what ``ask`` says of prepared rows X (N, D), given K clusters.

    Rows of other libraries are asked about in parts, where they are, and the answers have their
    precision; so a device need not hold N x K numbers. They are joined along the axis of rows.
    """
    if not is_foreign(X):
        return ask(X)
    chunks = model.family.chunks(X, 2 * K, width=4 * X.shape[1])
    parts = [ask(precise(X[rows, :])) for rows in chunks]
    return alike(namespace(parts[0]).concat(parts, axis=axis), X)


def log_joint(engine: Engine, model: Model, state: State, X: Array) -> Array:
    """Log weight plus log predictive of prepared rows, (N, K + 1), base measure left out."""
    family, tally = model.family, engine.believed(state)
    log_weights = engine.log_weights(model, state)
    if is_foreign(X):
        stats = np.vstack([tally.stats, np.zeros(tally.size)])
        eta = family.posterior(stats, np.append(tally.mass, 0.0))
        joint = family.log_predictive(X, alike(eta, doubled(X[:0, :])))
        return joint + alike(log_weights, joint)
    joint = np.empty((X.shape[0], tally.K + 1))
    score_rows(family.workspace(tally, state.columns), family.rows(X), tally.K + 1, joint)
    return joint + log_weights


def log_densities(engine: Engine, views: Sequence[View], X: Array) -> Array:
    """Log predictive density of prepared rows under each view, (M, N), base measure included."""

    def ask(X: Array) -> Array:
        each = [logsumexp(log_joint(engine, v.model, v.state, X), axis=1) for v in views]
        return namespace(each[0]).stack(each) + views[0].model.family.log_base(X)

    return answered(views[0].model, views[0].state.tally.K, X, ask, axis=1)


def log_density(engine: Engine, views: Sequence[View], X: Array) -> Array:
    """Log of the predictive density of prepared rows averaged over views, (N,)."""
    each = log_densities(engine, views, X)
    return logsumexp(each, axis=0) - math.log(each.shape[0])


def sampled(
    engine: Engine, views: Sequence[View], n: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw n rows (n, D), each from one of the views, and ids (n,) of the clusters they come from.

    The id is -1 where there is none that users know: of a new cluster, of one that is not shown,
    or where there are several views, as names of one mean nothing in another.
    """
    of = rng.integers(len(views), size=n)
    D = views[0].model.family.n_features
    assert D is not None  # the family is resolved
    X, ids = np.empty((n, D)), np.full(n, -1, dtype=np.int64)
    for m in np.unique(of):
        some = np.flatnonzero(of == m)
        X[some], found = _sampled(engine, views[int(m)], len(some), rng)
        if len(views) == 1:
            ids[some] = found
    return X, ids


def _sampled(
    engine: Engine, view: View, n: int, rng: np.random.Generator
) -> tuple[list[Array], Array]:
    """Draw n rows from one view, and ids (n,) of their clusters."""
    family, tally = view.model.family, engine.believed(view.state)
    weights = np.exp(engine.log_weights(view.model, view.state))
    slots = rng.choice(tally.K + 1, size=n, p=weights / weights.sum())
    mass = np.append(tally.mass, 0.0)
    eta = family.posterior(np.vstack([tally.stats, np.zeros(tally.size)]), mass)
    rows = [family.draw(eta[k], float(mass[k]), rng) for k in slots]
    shown = np.where(engine.shown(view.state), tally.ids, -1)
    return rows, np.append(shown, -1)[slots]
