"""A fitted mixture: its clusters, and predictions from one state or averaged over draws."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Array, alike, doubled, is_foreign, logsumexp, namespace, precise
from evermix.engines.base import Engine
from evermix.engines.batch import Batch
from evermix.estimators.mixture.coarse_tree import coarse_tree
from evermix.estimators.mixture.hierarchy import Hierarchy, grow
from evermix.estimators.mixture.neighbours import Neighbours
from evermix.estimators.mixture.valleys import find_valleys
from evermix.families.growing import gain_of_known, with_empty, with_new
from evermix.kernels.scoring import new_shares, score_rows
from evermix.model import Model
from evermix.report.posterior import Posterior
from evermix.state import State

MAX_CACHED = 2**25  # numbers in the cached states of draws: 256 MB


class Estimate(NamedTuple):
    """A model and its clusters, and the labels (N,) of the fitted rows if they are part of it."""

    model: Model
    state: State
    labels: NDArray[np.int64] | None = None


def point_estimate(engine: Engine, model: Model, state: State, batch: Batch | None) -> Estimate:
    """Return the clusters that labels are predicted from.

    For samplers this is the draw nearest to all others, or the current state of the chain if no
    draw was kept yet; ``batch`` then holds all rows.
    """
    draws = engine.draws(state)
    if draws is None:
        state = engine.for_scoring(model, state)
        if not engine.hides:
            return Estimate(model, state)
        shown = engine.shown(state)
        return Estimate(model, state if shown.all() else state.part(np.flatnonzero(shown)))
    if not draws.n_draws:
        return Estimate(engine.current(model, state), state)
    assert batch is not None  # samplers keep their rows
    best = Posterior(*draws).point()
    return Estimate(*engine.draw(model, state, batch, best), draws.labels[best].astype(np.int64))


class DrawEstimates(Sequence[Estimate]):
    """All draws of a sampler, or the single state of another engine with its hidden clusters.

    The states of draws are computed on request, and cached if they are small.
    """

    def __init__(self, engine: Engine, model: Model, state: State, batch: Batch | None) -> None:
        self._source = engine, model, state, batch
        draws = engine.draws(state)
        self._sampled = draws is not None
        self._n_draws = 0 if draws is None else draws.n_draws
        self._cached: dict[int, Estimate] = {}
        self._room = MAX_CACHED

    def __len__(self) -> int:
        return max(self._n_draws, 1)

    def __getitem__(self, m: Any) -> Any:
        if not 0 <= m < len(self):
            raise IndexError(m)
        if m in self._cached:
            return self._cached[m]
        engine, model, state, batch = self._source
        if not self._sampled:
            return Estimate(model, engine.for_scoring(model, state))
        if not self._n_draws:
            return point_estimate(*self._source)
        assert batch is not None  # samplers keep their rows
        estimate = Estimate(*engine.draw(model, state, batch, m))
        tally = estimate.state.tally
        self._room -= tally.capacity * tally.size
        if self._room > 0:
            self._cached[m] = estimate
        return estimate


def in_chunks(
    model: Model, K: int, X: Array, answer: Callable[[Array], Array], axis: int = 0
) -> Array:
    """Return ``answer(X)`` for prepared rows X (N, D), given K clusters.

    Rows of other libraries are processed in chunks where they are, so that a device need not hold
    N x K numbers; the answers have their precision, and are joined along the axis of rows.
    """
    if not is_foreign(X):
        return answer(X)
    chunks = model.family.chunks(X, 2 * K, width=4 * X.shape[1])
    parts = [answer(precise(X[rows, :])) for rows in chunks]
    return alike(namespace(parts[0]).concat(parts, axis=axis), X)


def log_joint(engine: Engine, model: Model, state: State, X: Array) -> Array:
    """Log weight plus log predictive of prepared rows, (N, K + 1), base measure left out."""
    log_predictive, log_weights = log_scores(engine, model, state, X)
    return log_predictive + log_weights


def log_scores(engine: Engine, model: Model, state: State, X: Array) -> tuple[Array, Array]:
    """Log predictives (N, K + 1) of prepared rows, base measure left out, and log weights (K + 1,).

    The last ones are those of a new cluster.
    """
    known, log_weights = engine.believed(state), engine.log_weights(model, state)
    family, tally, rows = with_new(model.family, known, X)
    if is_foreign(X):
        eta = with_empty(family, tally)
        scores = family.log_predictive(rows, alike(eta, doubled(X[:0, :])))
    else:
        scores = np.empty((X.shape[0], tally.K + 1))
        score_rows(family.workspace(tally, state.columns), family.rows(rows), tally.K + 1, scores)
    if rows is not X:
        scores = scores + alike(gain_of_known(model.family, family, known, X), scores)
    return scores, alike(log_weights, scores)


class Fitted:
    """What an engine has learnt so far. The next step makes a new one.

    Parameters
    ----------
    engine : Engine
    model : Model
    state : State
    batch : Batch or None
        All rows of the fit, for engines whose draws are partitions of them.
    """

    def __init__(self, engine: Engine, model: Model, state: State, batch: Batch | None) -> None:
        self.engine, self.model, self.state, self.batch = engine, model, state, batch

    @cached_property
    def point(self) -> Estimate:
        """The clusters that labels are predicted from."""
        return point_estimate(self.engine, self.model, self.state, self.batch)

    @cached_property
    def draws(self) -> DrawEstimates:
        """The states that densities are averaged over."""
        return DrawEstimates(self.engine, self.model, self.state, self.batch)

    def log_joint(self, X: Array) -> Array:
        """Log weight plus log predictive (N, K + 1) of prepared rows; the last is a new cluster."""
        return log_joint(self.engine, self.point.model, self.point.state, X)

    @cached_property
    def neighbours(self) -> Neighbours:
        """Which clusters of the point estimate are like which others."""
        model, state, _ = self.point
        return Neighbours(model.family, self.engine.believed(state))

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The clusters of the point estimate as a tree."""
        model, state, _ = self.point
        log_weights = self.engine.log_weights(model, state)[:-1]
        tally = self.engine.believed(state)
        return grow(tally.ids, find_valleys(model.family, tally, log_weights))

    @cached_property
    def coarse_hierarchy(self) -> Hierarchy:
        """The clusters of the point estimate as a tree, by the evidence that merges cost."""
        model, state, _ = self.point
        return coarse_tree(model.family, self.engine.believed(state))

    def predict(
        self, X: Array, novelty: float | None = None, names: NDArray[np.int64] | None = None
    ) -> Array:
        """Name (N,) of the most probable cluster of prepared rows, where they are.

        Names (K,) are the ids if None. Rows are -1 whose probability of a new cluster is above
        ``novelty``.
        """
        model, state, _ = self.point
        names = state.tally.ids if names is None else names

        def answer(X: Array) -> Array:
            scores, log_weights = log_scores(self.engine, model, state, X)
            joint, xp = (scores + log_weights)[:, :-1], namespace(scores)
            if novelty is None and type(joint) is np.ndarray:  # as below, in half the time
                return names[joint.argmax(axis=1)]
            found = xp.take(alike(names, joint), xp.argmax(joint, axis=1))
            if novelty is None:
                return found
            return xp.where(_new(scores, log_weights) > novelty, -1, found)

        return in_chunks(model, len(names), X, answer)

    def predict_proba(self, X: Array, new_cluster: bool = False) -> Array:
        """Probability (N, K) of each cluster for prepared rows, where they are.

        With ``new_cluster`` that of a new one is the last column, (N, K + 1).
        """

        def answer(X: Array) -> Array:
            joint = self.log_joint(X)
            joint = joint if new_cluster else joint[:, :-1]
            return namespace(joint).exp(joint - logsumexp(joint, axis=1)[:, None])

        return in_chunks(self.point.model, self.point.state.tally.K, X, answer)

    def novelty(self, X: Array) -> Array:
        """Probability (N,) that prepared rows are of a new cluster, where they are."""
        model, state, _ = self.point

        def answer(X: Array) -> Array:
            return _new(*log_scores(self.engine, model, state, X))

        return in_chunks(model, state.tally.K, X, answer)

    def log_densities(self, X: Array) -> Array:
        """Log predictive density (M, N) of prepared rows under each draw, base measure included."""
        draws = self.draws

        def answer(X: Array) -> Array:
            each = [logsumexp(log_joint(self.engine, d.model, d.state, X), axis=1) for d in draws]
            return namespace(each[0]).stack(each) + draws[0].model.family.log_base(X)

        return in_chunks(draws[0].model, draws[0].state.tally.K, X, answer, axis=1)

    def log_density(self, X: Array) -> Array:
        """Log of the predictive density (N,) of prepared rows, averaged over draws."""
        each = self.log_densities(X)
        return logsumexp(each, axis=0) - math.log(each.shape[0])

    def sample(
        self, n: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draw n rows (n, D), each from one of the draws, and the ids (n,) of their clusters.

        The id is -1 for a new cluster, for one that is not shown, and if there are several draws,
        whose clusters have no names in common.
        """
        draws, chosen = self.draws, rng.integers(len(self.draws), size=n)
        D = draws[0].model.family.n_features
        assert D is not None  # the family is resolved
        X, ids = np.empty((n, D)), np.full(n, -1, dtype=np.int64)
        for m in np.unique(chosen):
            some = np.flatnonzero(chosen == m)
            X[some], found = _sample_draw(self.engine, draws[int(m)], len(some), rng)
            if len(draws) == 1:
                ids[some] = found
        return X, ids


def _new(scores: Array, log_weights: Array) -> Array:
    """Probability (N,) of a new cluster, given what :func:`log_scores` returns."""
    if type(scores) is np.ndarray:
        new_shares(scores, log_weights, new := np.empty(len(scores)))
        return new
    joint = scores + log_weights
    return namespace(joint).exp(joint[:, -1] - logsumexp(joint, axis=1))


def _sample_draw(
    engine: Engine, draw: Estimate, n: int, rng: np.random.Generator
) -> tuple[list[Array], NDArray[np.int64]]:
    """Draw n rows from one draw, and the ids (n,) of their clusters."""
    family, tally = draw.model.family, engine.believed(draw.state)
    weights = np.exp(engine.log_weights(draw.model, draw.state))
    slots = rng.choice(tally.K + 1, size=n, p=weights / weights.sum())
    mass = np.append(tally.mass, 0.0)
    eta = family.posterior(np.vstack([tally.stats, np.zeros(tally.size)]), mass)
    rows = [family.draw(eta[k], float(mass[k]), rng) for k in slots]
    shown = np.where(engine.shown(draw.state), tally.ids, -1)
    return rows, np.append(shown, -1)[slots]
