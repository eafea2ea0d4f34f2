"""The model that a fit or a stream begins with, where hyperparameters are open."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evermix.engines.base import Engine
from evermix.engines.batch import Batch
from evermix.engines.filters.keeping import FIRST as FIRST_REVIEW
from evermix.engines.refine.find import find
from evermix.estimators.data.rows import Rows
from evermix.estimators.mixture.start import StartClusters
from evermix.estimators.resolve import SAMPLE, WARMUP, resolve
from evermix.model import Model


def resolved(engine: Engine, model: Model, X: Rows, weights: NDArray[np.float64]) -> Model:
    """Return the model with all hyperparameters set, given the rows it begins with."""
    first = np.flatnonzero(weights)[:WARMUP]
    chosen = resolve(model.family, model.prior, model.max_clusters, X[first])
    return _checked(engine, replace(chosen, forgetting=model.forgetting), weights)


def found(
    engine: Engine, model: Model, X: Rows, weights: NDArray[np.float64]
) -> tuple[Model, StartClusters]:
    """Return the model with what is open learnt from a sample of rows, and its clusters."""
    rows = np.flatnonzero(weights)
    if len(rows) > SAMPLE:
        rows = rows[np.linspace(0, len(rows) - 1, SAMPLE).astype(np.int64)]
    if not model.family.learns:
        model = replace(model, family=resolved(engine, model, X, weights).family)
    clusters = find(model, X[rows], weights[rows])
    start = StartClusters("", clusters.model.family, clusters.mass, clusters.stats)
    return _checked(engine, clusters.model, weights), start


def first_model(engine: Engine, model: Model, batch: Batch) -> Model:
    """Return the model that a stream begins with, given its first rows."""
    if not model.learns:
        return resolved(engine, model, batch.X, batch.weights)
    first = batch.X[np.flatnonzero(batch.weights)[:FIRST_REVIEW]]
    return replace(model, family=model.family.guess(first))  # a review learns more


def _checked(engine: Engine, model: Model, weights: NDArray[np.float64]) -> Model:
    engine.check(model)
    engine.check_weights(model, weights)
    return model
