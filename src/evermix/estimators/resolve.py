"""Choosing hyperparameters that were left open, from some rows."""

import warnings
from numbers import Integral

import numpy as np

from evermix._xp import Array
from evermix.engines.batch import Batch, CapacityWarning, Info
from evermix.engines.filters.adf import ADF
from evermix.engines.run import run
from evermix.families.base import Family
from evermix.model import Model
from evermix.priors import NGGP
from evermix.priors.base import GibbsType, Prior
from evermix.state import State

SAMPLE = 10_000  # rows among which a fit without a given engine looks for clusters
WARMUP = 1000  # rows that open hyperparameters are learnt from
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
