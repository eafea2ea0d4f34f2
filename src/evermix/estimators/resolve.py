"""Learning what was left open, from some rows: hyperparameters, the prior, a first clustering."""

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from evermix._xp import Array, Floats, host
from evermix.engines.batch import Batch, CapacityWarning, Info
from evermix.engines.filters.adf import ADF
from evermix.engines.refine.problem import Clusters
from evermix.engines.refine.search import refine
from evermix.engines.run import run
from evermix.engines.variational.seeding import Sample
from evermix.families import DiagonalGaussian, Gaussian
from evermix.families.base import Family
from evermix.families.dense import MAX_FULL_COVARIANCE
from evermix.model import Model
from evermix.priors import NGGP
from evermix.priors.base import GibbsType, HasSticks, Prior
from evermix.state import State

SAMPLE = 10_000  # rows among which a fit without a given engine looks for clusters
WARMUP = 1000  # rows that open hyperparameters are learnt from
FULL_ONLY = 4  # columns up to which full covariances cost no more than variances
HEAT_ROWS = 400  # with as many rows, a first heat on a quarter of them saves time


def check_cap(max_clusters: object) -> None:
    """Raise TypeError or ValueError unless this is a number of clusters, or None for no cap."""
    if max_clusters is None:
        return
    if isinstance(max_clusters, bool) or not isinstance(max_clusters, Integral):
        raise TypeError(f"max_clusters must be a whole number or None, got {max_clusters!r}.")
    if max_clusters < 1:
        raise ValueError(f"max_clusters must be at least 1 or None, got {max_clusters}.")
    if int(max_clusters) > np.iinfo(np.int64).max:
        raise ValueError(f"max_clusters is far too large, got {max_clusters}. Use None for no cap.")


def resolve(family: Family, prior: Prior, max_clusters: int | None, X: Array) -> Model:
    """Return the model for a family, a prior and the first prepared rows X (N, D).

    Where hyperparameters are open, the candidate under which one pass over the rows predicts them
    best, each before it is learnt, is taken.
    """
    return Model(_chosen(family.candidates(X), prior, X), prior, max_clusters)


def find(model: Model, X: Array, weights: Floats | None = None) -> Clusters:
    """Return the clusters of prepared rows X (N, D), with what is open in the model learnt."""
    X = X if model.family.sparse else host(X)
    weights = np.ones(X.shape[0]) if weights is None else weights
    names = set(model.learns)
    opened: dict[str, Any] = {name: None for name in model.family.learns if name in names}
    families: list[Family] = [replace(model.family, **opened)]
    if "family" in names:
        families = _kinds(X.shape[1])
        names = set(families[0].learns) | set(families[-1].learns) | names
    prior = model.prior if isinstance(model.prior, HasSticks) and "prior" not in names else None
    resolved = [_guessed(family, model.prior, X) for family in families]
    sample = Sample(resolved[0], X, weights)
    rng = np.random.default_rng(0)
    return refine(resolved, prior, sample, model.max_clusters, names, rng)


def _kinds(n_features: int) -> list[Family]:
    """Return the families of real vectors that are tried."""
    if n_features > MAX_FULL_COVARIANCE:
        return [DiagonalGaussian()]
    return [Gaussian()] if n_features <= FULL_ONLY else [Gaussian(), DiagonalGaussian()]


def _guessed(family: Family, prior: Prior, X: Array) -> Family:
    """Return a family to start from: what cannot be learnt is chosen among candidates."""
    return family.guess(X) if family.learns else _chosen(family.candidates(X), prior, X)


def _chosen(candidates: list[Family], prior: Prior, X: Array) -> Family:
    """Return the candidate under which one pass predicts the rows best."""
    if len(candidates) == 1:
        return candidates[0]
    # A prior without a compiled path would make the choice slow; the scale hardly depends on it.
    judge = prior if isinstance(prior, GibbsType) else NGGP()
    if X.shape[0] >= HEAT_ROWS:
        heat = X[: X.shape[0] // 4]
        # Many clusters of few rows each are not yet too many: later rows join them.
        candidates = _best(candidates, judge, heat, heat.shape[0] // 2, len(candidates) // 3 + 1)
    return _best(candidates, judge, X, X.shape[0] // 6, keep=1)[0]


def _best(candidates: list[Family], judge: Prior, X: Array, most: int, keep: int) -> list[Family]:
    """Return the candidates that predict rows best, without those that need too many clusters."""
    cap = max(10, most)
    evidence = np.array([_evidence(Model(candidate, judge, cap), X) for candidate in candidates])
    return [candidates[j] for j in np.argsort(-evidence, kind="stable")[:keep]]


def _evidence(model: Model, X: Array) -> float:
    """Sum of log predictive densities over one pass; minus infinity if clusters were too many.

    A scale so small that every row opens a cluster of its own predicts as well as one wide cluster
    with known parameters, and explains nothing.
    """
    total: list[float] = []
    engine = ADF(birth=0.5, merge=None)
    rng = np.random.default_rng(0)  # the filter draws nothing
    batch = Batch(X, np.ones(X.shape[0]))

    def observe(state: State, info: Info) -> None:
        total.append(info.log_predictive)

    with warnings.catch_warnings(action="ignore", category=CapacityWarning):
        state = run(engine, model, engine.initial(model, rng), [batch], rng, [observe])
    return -np.inf if state.latents["capped"][0] else sum(total)
