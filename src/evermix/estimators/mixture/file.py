"""Files of mixtures: what they hold, and checks that it fits together.

The checks matter: compiled loops follow ids and positions without looking, so a file that was
edited must not reach them.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from evermix._random import generator, restore
from evermix._xp import Array
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, RowResults
from evermix.estimators.data.rows import check_csr
from evermix.estimators.files import Content
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.packing import (
    Registry,
    built,
    check_rows,
    group,
    named,
    packed,
    unpacked,
)
from evermix.estimators.resolve import check_cap
from evermix.forgetting import Exponential
from evermix.model import Model
from evermix.state import State

KIND = "mixture"

Estimator = TypeVar("Estimator")


def to_file(mix: Any) -> Content:
    """Return the content of the file of a mixture, or raise ValueError if it has learnt nothing."""
    if not mix.__sklearn_is_fitted__() or (mix.learner_.started and not mix.learner_.state.tally.K):
        raise ValueError("there is nothing to save yet; call fit or partial_fit first.")
    learner: Learner = mix.learner_
    header: dict[str, Any] = {
        "kind": KIND,
        "params": _params_spec(mix),
        "n_features_in": mix.n_features_in_,
        "engine": named(learner.engine),
        "model": _model_spec(learner.model),
        "timed": learner.timed,
    }
    if "feature_names_in_" in vars(mix):
        header["feature_names_in"] = [str(name) for name in mix.feature_names_in_]
    if not learner.started:
        return _waiting_arrays(learner.waiting), header
    results = learner.results  # before the state, since it brings what is elsewhere here
    if learner.rows_digest is not None:
        learner.check_memo()
    state_arrays, header["state"] = learner.state.to_arrays(copy=False)
    header["rng"] = learner.rng.bit_generator.state
    header["rows_digest"] = learner.rows_digest
    arrays = {f"state.{name}": values for name, values in state_arrays.items()}
    arrays |= {f"results.{name}": np.asarray(values) for name, values in results._asdict().items()}
    arrays |= {f"label_maps.{i}": names for i, names in enumerate(learner.label_maps)}
    if learner.batch is not None:
        arrays |= packed(learner.batch)
    return arrays, header


def from_file(cls: type[Estimator], content: Content, known: Registry) -> Estimator:
    """Return the mixture of a class that :func:`to_file` described."""
    arrays, header = content
    mix: Any = cls(**_params(header["params"], known))
    mix.n_features_in_ = header["n_features_in"]
    if "feature_names_in" in header:
        mix.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    model = _model(header["model"], known)
    check_cap(model.max_clusters)
    learner = Learner(built(header["engine"], known.engines), model, mix.random_state)
    learner.timed = header["timed"]
    if "state" in header:
        _restore_state(learner, arrays, header)
    else:
        _restore_waiting(learner, arrays, header["n_features_in"])
    mix.learner_ = learner
    return mix


def _restore_state(
    learner: Learner, arrays: Mapping[str, Array], header: Mapping[str, Any]
) -> None:
    """Set what was learnt from a resolved model, if it fits together."""
    n_features = header["n_features_in"]
    learner.started = True
    learner.rng = restore(header["rng"])
    learner.state = State.from_arrays(group(arrays, "state."), header["state"])
    learner.results = RowResults(**group(arrays, "results."))
    learner.rows_digest = header["rows_digest"]
    maps = group(arrays, "label_maps.")
    learner.label_maps = [maps[str(i)] for i in range(len(maps))]
    if learner.engine.whole:
        learner.batch = unpacked(arrays, learner.model.family, n_features)
        if learner.batch.weights.shape != learner.results.labels.shape:
            raise ValueError("there are not as many rows and weights as labels.")
    _check_maps(learner.label_maps, learner.state)
    _check_learnt(learner.engine, learner.model, learner.state, learner.results, n_features)


def _restore_waiting(learner: Learner, arrays: Mapping[str, Array], n_features: int) -> None:
    """Set the rows that wait for the model to be resolved."""
    if not learner.engine.streams:
        raise ValueError(f"rows cannot wait for {learner.engine!r}, which does not stream.")
    X, weights, cuts = (arrays[f"waiting.{name}"] for name in ("X", "weights", "cuts"))
    parts = zip(np.split(X, cuts), np.split(weights, cuts), strict=True)
    batches = [Batch(np.ascontiguousarray(x), np.ascontiguousarray(w)) for x, w in parts]
    if "waiting.times" in arrays:
        times = np.split(arrays["waiting.times"], cuts)
        batches = [batch._replace(times=t) for batch, t in zip(batches, times, strict=True)]
    for batch in batches:
        check_rows(batch, n_features)
    learner.waiting = batches


def _waiting_arrays(waiting: list[Batch]) -> dict[str, Array]:
    """Return the rows that wait as arrays. They are dense: the scale of counts is never open."""
    arrays = {
        "waiting.X": np.vstack([batch.X for batch in waiting]),
        "waiting.weights": np.concatenate([batch.weights for batch in waiting]),
        "waiting.cuts": np.cumsum([len(batch.weights) for batch in waiting])[:-1],
    }
    times = [batch.times for batch in waiting if batch.times is not None]
    return arrays | ({"waiting.times": np.concatenate(times)} if times else {})


# ---- settings ------------------------------------------------------------------------------


def _params_spec(mix: Any) -> dict[str, Any]:
    seed = mix.random_state
    return {
        "family": mix.family if isinstance(mix.family, str) else named(mix.family),
        "prior": None if mix.prior is None else named(mix.prior),
        "engine": None if mix.engine is None else named(mix.engine),
        "forgetting": None if mix.forgetting is None else mix.forgetting.to_spec(),
        "max_clusters": mix.max_clusters,
        # A generator object cannot be a parameter of a plain file; its state is saved with the rng.
        "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
    }


def _params(spec: Mapping[str, Any], known: Registry) -> dict[str, Any]:
    family, prior, engine = spec["family"], spec["prior"], spec["engine"]
    return {
        "family": family if isinstance(family, str) else built(family, known.families),
        "prior": None if prior is None else built(prior, known.priors),
        "engine": None if engine is None else built(engine, known.engines),
        "forgetting": _forgetting(spec["forgetting"]),
        "max_clusters": spec["max_clusters"],
        "random_state": spec["random_state"],
    }


def _model_spec(model: Model) -> dict[str, Any]:
    return {
        "family": named(model.family),
        "prior": named(model.prior),
        "max_clusters": model.max_clusters,
        "forgetting": None if model.forgetting is None else model.forgetting.to_spec(),
        "learns": list(model.learns),
    }


def _model(spec: Mapping[str, Any], known: Registry) -> Model:
    family, prior = built(spec["family"], known.families), built(spec["prior"], known.priors)
    learns = tuple(str(name) for name in spec["learns"])
    return Model(family, prior, spec["max_clusters"], _forgetting(spec["forgetting"]), learns)


def _forgetting(spec: dict[str, Any] | None) -> Exponential | None:
    return None if spec is None else Exponential.from_spec(spec)


# ---- checks --------------------------------------------------------------------------------


def _check_learnt(
    engine: Engine, model: Model, state: State, results: RowResults, n_features: int
) -> None:
    """Raise ValueError or TypeError unless the engine can go on from this state.

    It must have the same arrays, of the same types, as the initial state of the engine.
    """
    family = model.family
    fitting = family.candidates(np.zeros((1, n_features)))[0]
    if not family.resolved or fitting.n_stats != family.n_stats:
        raise ValueError(f"the family {family!r} is not set for {n_features} features.")
    if not np.all(np.isfinite(family.log_partition(family.eta0[None, :]))):
        raise ValueError(f"the hyperparameters of the family {family!r} are invalid.")
    engine.check(model)
    fresh = engine.initial(model, generator(0))
    per_cluster, extras = slice(1, None), state.tally.extra_buffers
    _check_arrays("column", fresh.columns, state.columns, per_cluster)
    _check_arrays("latent", fresh.latents, state.latents, slice(None))
    _check_arrays("extra", fresh.tally.extra_buffers, extras, per_cluster)
    if (state.tally.size, state.tally.layout) != (fresh.tally.size, fresh.tally.layout):
        raise ValueError(f"statistics of {state.tally.size} numbers do not fit {family!r}.")
    _check_lineage(state)
    _check_values(state)
    _check_results(state, results)
    _check_kept(state, n_features)
    for name, count in (("clock", state.clock), ("laps", state.lap), ("batches", state.at)):
        if not 0 <= count < 2**62:
            raise ValueError(f"wanted a number of {name} >= 0, got {count}.")
    for name, time in (("now", state.now), ("faded", state.faded)):
        if time is not None and not np.isfinite(time):
            raise ValueError(f"the time {name} must be finite, got {time}.")
    engine.check_memo(model, state, len(results.labels))


def _check_maps(maps: list[Array], state: State) -> None:
    """Raise ValueError unless every map holds ids of clusters that there are or were, or -1."""
    for names in maps:
        if names.ndim != 1 or names.dtype != np.int64 or not len(names) or names[-1] != -1:
            raise ValueError("a map of labels must hold whole numbers, the last of them -1.")
        if np.any((names < -1) | (names >= state.lineage.next_id)):
            raise ValueError("a map of labels holds ids of clusters that never existed.")


def _check_arrays(
    kind: str, fresh: dict[str, Array], loaded: dict[str, Array], axes: slice
) -> None:
    """Raise ValueError unless names, types and these axes of arrays are the same."""
    if fresh.keys() != loaded.keys():
        raise ValueError(f"wanted the {kind} arrays {sorted(fresh)}, got {sorted(loaded)}.")
    for name, values in fresh.items():
        other = loaded[name]
        if (values.shape[axes], values.dtype) != (other.shape[axes], other.dtype):
            raise ValueError(
                f"the {kind} {name} must be {values.dtype} of shape {values.shape}, "
                f"got {other.dtype} of shape {other.shape}."
            )


def _check_lineage(state: State) -> None:
    lineage, ids, mass = state.lineage, state.tally.ids, state.tally.mass
    _same_length(*(np.array(v) for v in (lineage.born, lineage.ended, lineage.into)))
    if not len(ids) or len(np.unique(ids)) != len(ids):
        raise ValueError("the ids of clusters must be distinct.")
    if not (np.all((mass >= 0) & np.isfinite(mass)) and mass.any()):
        raise ValueError("the masses of clusters must be finite, >= 0 and not all zero.")
    last = np.array(lineage.last)
    if len(last) and (len(last) != lineage.next_id or not np.all(np.isfinite(last))):
        raise ValueError("the lineage must hold the last time of every cluster, or of none.")
    into = np.array(lineage.into)
    alive = np.flatnonzero(into == -1)
    if not np.array_equal(np.sort(ids), alive) or np.any(into >= lineage.next_id):
        raise ValueError("the lineage and the ids of clusters do not agree.")


def _check_values(state: State) -> None:
    """Raise ValueError unless all that scores are computed from is finite and in range."""
    floats = {"statistics": state.tally.stats, **state.tally.extras}
    K = state.tally.K
    floats |= {n: v[:K] for n, v in state.columns.items() if v.dtype.kind == "f"}
    for name, values in floats.items():
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{name} hold values that are not finite.")
    if np.any(state.tally.extras.get("log_empty", np.zeros(1)) > 0):
        raise ValueError("log_empty must not be above zero.")
    if np.any(state.latents.get("seed", np.zeros(1)) < 0):
        raise ValueError("a seed must not be below zero.")


def _check_results(state: State, results: RowResults) -> None:
    """Raise ValueError unless the results are of rows in clusters that there are or were."""
    _same_length(*results)
    for name, values, empty in zip(results._fields, results, RowResults.empty(0), strict=True):
        if values.dtype != empty.dtype:
            raise ValueError(f"the {name} of rows must be {empty.dtype}, got {values.dtype}.")
    labels, probabilities = results.labels, results.probabilities
    if np.any((labels < -1) | (labels >= state.lineage.next_id)):
        raise ValueError("labels of rows hold ids of clusters that never existed.")
    if not np.all((probabilities >= 0) & (probabilities <= 1 + 1e-9)):
        raise ValueError("probabilities of rows must lie in [0, 1].")


def _check_kept(state: State, n_features: int) -> None:
    """Raise ValueError unless the rows that are kept are of clusters that there are or were."""
    rows = None if state.lookback is None else state.lookback.rows
    if rows is not None:
        X: Any = rows.X
        if isinstance(X, np.ndarray):
            check_rows(Batch(X, rows.weights), n_features)
        else:
            shape = len(rows.weights), n_features
            check_csr(X.data, X.indices, X.indptr, shape)
            if X.shape != shape or not np.all(np.isfinite(X.data)):
                raise ValueError("counts that are kept must be finite, one row for each weight.")
        if np.any((rows.ids < -2) | (rows.ids >= state.lineage.next_id)):
            raise ValueError("rows that are kept belong to clusters that never were.")


def _same_length(*arrays: Array) -> None:
    shapes = {values.shape for values in arrays}
    if len(shapes) > 1 or any(values.ndim != 1 for values in arrays):
        raise ValueError(f"wanted arrays of one length, got the shapes {sorted(shapes)}.")
