"""Whether what a file says fits together, so that no compiled loop runs over wrong memory."""

import numpy as np

from evermix._random import generator
from evermix._xp import Array
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, RowResults
from evermix.model import Model
from evermix.state import State


def check_learnt(
    engine: Engine, model: Model, state: State, results: RowResults, n_features: int
) -> None:
    """Raise ValueError or TypeError unless the engine can go on from this state.

    The state of an engine that has seen nothing tells which arrays there must be, and their types.
    """
    family = model.family
    fitting = family.candidates(np.zeros((1, n_features)))[0]
    if not family.resolved or fitting.n_stats != family.n_stats:
        raise ValueError(f"the family {family!r} is not set for {n_features} features.")
    if not np.all(np.isfinite(family.log_partition(family.eta0[None, :]))):
        raise ValueError(f"the family {family!r} has hyperparameters that cannot be.")
    engine.check(model)
    fresh = engine.initial(model, generator(0))
    _alike("column", fresh.columns, state.columns, rows=slice(1, None))
    _alike("latent", fresh.latents, state.latents, rows=slice(None))
    _alike("extra", fresh.tally.extra_buffers, state.tally.extra_buffers, rows=slice(1, None))
    if (state.tally.size, state.tally.layout) != (fresh.tally.size, fresh.tally.layout):
        raise ValueError(f"statistics of {state.tally.size} numbers do not fit {family!r}.")
    _check_lineage(state)
    _check_values(state)
    _check_results(state, results)
    for name, count in (("clock", state.clock), ("laps", state.lap), ("batches", state.at)):
        if not 0 <= count < 2**62:
            raise ValueError(f"wanted a number of {name} >= 0, got {count}.")
    for name, time in (("now", state.now), ("faded", state.faded)):
        if time is not None and not np.isfinite(time):
            raise ValueError(f"the time {name} must be finite, got {time}.")
    engine.check_memo(model, state, len(results.labels))


def check_waiting(waiting: list[Batch], n_features: int) -> None:
    """Raise ValueError unless every waiting batch holds finite rows and their weights."""
    for X, weights, _, times in waiting:
        if X.shape != (len(weights), n_features) or weights.ndim != 1 or not len(weights):
            raise ValueError(f"rows {X.shape} and weights {weights.shape} do not fit together.")
        if not (np.all(np.isfinite(X)) and np.all(weights >= 0)):
            raise ValueError("waiting rows hold values that are no numbers.")
        if times is not None and (times.shape != weights.shape or np.any(np.diff(times) < 0)):
            raise ValueError("the times of waiting rows are not theirs.")


def check_maps(maps: list[Array], state: State) -> None:
    """Raise ValueError unless every map names clusters there have been, or none."""
    for names in maps:
        if names.ndim != 1 or names.dtype != np.int64 or not len(names) or names[-1] != -1:
            raise ValueError("a map of labels must hold whole numbers, the last of them -1.")
        if np.any((names < -1) | (names >= state.lineage.next_id)):
            raise ValueError("a map of labels names clusters that never were.")


def _alike(kind: str, fresh: dict[str, Array], loaded: dict[str, Array], rows: slice) -> None:
    """Compare names, types and shapes (without the first axis, where it may have grown)."""
    if fresh.keys() != loaded.keys():
        raise ValueError(f"wanted the {kind} arrays {sorted(fresh)}, got {sorted(loaded)}.")
    for name, values in fresh.items():
        other = loaded[name]
        if (values.shape[rows], values.dtype) != (other.shape[rows], other.dtype):
            raise ValueError(
                f"the {kind} {name} must be {values.dtype} of shape {values.shape}, "
                f"got {other.dtype} of shape {other.shape}."
            )


def _check_lineage(state: State) -> None:
    lineage, ids, mass = state.lineage, state.tally.ids, state.tally.mass
    _same_length(*(np.array(v) for v in (lineage.born, lineage.ended, lineage.into)))
    if not len(ids) or len(np.unique(ids)) != len(ids):
        raise ValueError("clusters need ids of their own.")
    if not (np.all((mass >= 0) & np.isfinite(mass)) and mass.any()):
        raise ValueError("clusters need finite masses >= 0, and not all of them zero.")
    last = np.array(lineage.last)
    if len(last) and (len(last) != lineage.next_id or not np.all(np.isfinite(last))):
        raise ValueError("the lineage does not say of each cluster when it was last seen.")
    into = np.array(lineage.into)
    alive = np.flatnonzero(into == -1)
    if not np.array_equal(np.sort(ids), alive) or np.any(into >= lineage.next_id):
        raise ValueError("the lineage does not name the clusters that are there.")


def _check_values(state: State) -> None:
    """Raise unless what every score is made of is finite, and empty clusters are no surprise."""
    floats = {"statistics": state.tally.stats, **state.tally.extras}
    K = state.tally.K
    floats |= {n: v[:K] for n, v in state.columns.items() if v.dtype.kind == "f"}
    for name, values in floats.items():
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{name} hold values that are no finite numbers.")
    if np.any(state.tally.extras.get("log_empty", np.zeros(1)) > 0):
        raise ValueError("log_empty must not be above zero.")
    if np.any(state.latents.get("seed", np.zeros(1)) < 0):
        raise ValueError("a seed must not be below zero.")


def _check_results(state: State, results: RowResults) -> None:
    """Raise unless the results are of rows that were put into clusters there have been."""
    _same_length(*results)
    for name, values, empty in zip(results._fields, results, RowResults.empty(0), strict=True):
        if values.dtype != empty.dtype:
            raise ValueError(f"the {name} of rows must be {empty.dtype}, got {values.dtype}.")
    labels, probabilities = results.labels, results.probabilities
    if np.any((labels < -1) | (labels >= state.lineage.next_id)):
        raise ValueError("labels of rows name clusters that never were.")
    if not np.all((probabilities >= 0) & (probabilities <= 1 + 1e-9)):
        raise ValueError("probabilities of rows must lie in [0, 1].")


def _same_length(*arrays: Array) -> None:
    shapes = {values.shape for values in arrays}
    if len(shapes) > 1 or any(values.ndim != 1 for values in arrays):
        raise ValueError(f"wanted arrays of one length, got the shapes {sorted(shapes)}.")
