"""Files of mixtures: what they hold. ``schema.py`` says what it must be."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from evermix._random import restore
from evermix._schema import check_arrays
from evermix._xp import Array
from evermix.engines.batch import Batch, RowResults
from evermix.estimators.data import whole, written
from evermix.estimators.data.levels import check_levels
from evermix.estimators.files import Content
from evermix.estimators.mixture.calendar import Calendar
from evermix.estimators.mixture.course import Course
from evermix.estimators.mixture.first_answers import FirstAnswers
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.mixture.naming import own_names
from evermix.estimators.mixture.schema import (
    check_model,
    checked_maps,
    checked_state,
    result_fields,
    waiting_fields,
)
from evermix.estimators.mixture.undoing import before_a_change, changed_parts
from evermix.estimators.packing import (
    Registry,
    built,
    checked_names,
    features_of,
    named,
    packed,
    taken,
    unpacked,
)
from evermix.estimators.resolve import check_cap
from evermix.forgetting import Exponential
from evermix.model import Model

KIND = "mixture"

Estimator = TypeVar("Estimator")


def to_file(mix: Any) -> Content:
    """Return the content of the file of a mixture, or raise ValueError if it has learnt nothing."""
    if not mix.__sklearn_is_fitted__() or (mix.learner_.started and not mix.learner_.state.tally.K):
        raise ValueError("there is nothing to save yet; call fit or partial_fit first.")
    arrays, header = _learnt(mix.learner_)
    header |= {"kind": KIND, "params": _params_spec(mix), "n_features_in": mix.n_features_in_}
    if "feature_names_in_" in vars(mix):
        header["feature_names_in"] = [str(name) for name in mix.feature_names_in_]
    if own_names(mix):
        header["column_names"] = own_names(mix)
    if "family_reason_" in vars(mix):
        header["family_reason"] = mix.family_reason_
    if "levels_" in vars(mix):
        header["levels"] = {name: list(levels) for name, levels in mix.levels_.items()}
    if "written_" in vars(mix):
        header["written"] = written.to_spec(mix.written_)
    if "whole_" in vars(mix):
        header["whole"] = np.flatnonzero(mix.whole_).tolist()
    if mix.learner_.before is not None:
        changed, header["before"] = changed_parts(_learnt(mix.learner_.before), arrays)
        arrays |= changed
    return arrays, header


def _learnt(learner: Learner) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return what a file holds of a learner."""
    header: dict[str, Any] = {
        "engine": named(learner.engine),
        "model": _model_spec(learner.model),
        "timed": learner.timed,
    }
    if learner.calendar.dated is not None:
        header["dated"] = learner.calendar.dated
    if not learner.started:
        return _waiting_arrays(learner.waiting), header
    results = learner.results  # before the state, since it brings what is elsewhere here
    if learner.rows_digest is not None:
        learner.check_memo()
    state_arrays, header["state"] = learner.state.to_arrays(copy=False)
    header["rng"] = learner.rng.bit_generator.state
    header["rows_digest"] = learner.rows_digest
    header["unmet"] = sorted(learner.first_answers.unmet)
    arrays = {f"state.{name}": values for name, values in state_arrays.items()}
    arrays |= {f"results.{name}": np.asarray(getattr(results, name)) for name in result_fields(0)}
    arrays |= {f"label_maps.{i}": names for i, names in enumerate(learner.label_maps)}
    beside = {"course": learner.course.to_arrays(), "calendar": learner.calendar.to_arrays()}
    for what, kept in beside.items():
        arrays |= {f"{what}.{name}": values for name, values in kept.items()}
    if learner.batch is not None:
        arrays |= packed(learner.batch)
    return arrays, header


def from_file(cls: type[Estimator], content: Content, known: Registry) -> Estimator:
    """Return the mixture of a class that :func:`to_file` described."""
    arrays, header = content
    if "before" in header:
        now, before = (from_file(cls, each, known) for each in before_a_change(content))
        return _with_before(now, before)
    mix: Any = cls(**_params(header["params"], known))
    mix.n_features_in_, names = features_of(header)
    if names is not None:
        mix.feature_names_in_ = names
    if "column_names" in header:
        mix.column_names_ = checked_names(
            "column_names", header["column_names"], mix.n_features_in_
        )
    if "family_reason" in header:
        mix.family_reason_ = str(header["family_reason"])
    model = _model(header["model"], known)
    if "levels" in header:
        mix.levels_ = check_levels(model.family, header["levels"])
    if "written" in header:
        mix.written_ = written.from_spec(header["written"])
    check_cap(model.max_clusters)
    learner = Learner(built(header["engine"], known.engines), model, mix.random_state)
    learner.timed = header["timed"]
    if "state" in header:
        _restore_state(learner, dict(arrays), header)
    else:
        learner.calendar = Calendar.from_arrays({}, header.get("dated"), 0)
        _restore_waiting(learner, dict(arrays), mix.n_features_in_)
    if "whole" in header:  # not in older files, of which it is not known
        mix.whole_ = whole.from_spec(header["whole"], mix.n_features_in_)
    mix.learner_ = learner
    return mix


def _with_before(mix: Any, before: Any) -> Any:
    """Return a mixture that knows what there was before a change by hand.   Consumes: mix."""
    if not (mix.learner_.started and mix.learner_.state.lineage.hand.changes):
        raise ValueError("there must be a change by hand if there was something before it.")
    mix.learner_.before = before.learner_
    return mix


def _restore_state(learner: Learner, arrays: dict[str, Array], header: Mapping[str, Any]) -> None:
    """Set what was learnt from a resolved model, if it fits together."""
    n_features, engine, model = header["n_features_in"], learner.engine, learner.model
    check_model(engine, model, n_features, arrays["state.tally.stats"])
    learner.started = True
    learner.rng = restore(header["rng"])
    learner.state = checked_state(engine, model, taken(arrays, "state."), header["state"])
    results = taken(arrays, "results.")
    check_arrays("the results", results, result_fields(learner.state.lineage.next_id))
    learner.results = RowResults.empty(len(results["labels"]))._replace(**results)
    engine.check_memo(model, learner.state, len(learner.results.labels))
    learner.rows_digest = header["rows_digest"]
    next_id = learner.state.lineage.next_id
    learner.label_maps = checked_maps(taken(arrays, "label_maps."), next_id)
    course, calendar = (taken(arrays, prefix) for prefix in ("course.", "calendar."))
    learner.course = Course.from_arrays(course, next_id, learner.state.clock)
    learner.calendar = Calendar.from_arrays(calendar, header.get("dated"), learner.state.clock)
    learner.first_answers = FirstAnswers.from_spec(header.get("unmet", []), learner.state.lineage)
    if engine.whole:
        learner.batch = unpacked(taken(arrays, "rows."), model.family, n_features)
        if learner.batch.weights.shape != learner.results.labels.shape:
            raise ValueError("there are not as many rows and weights as labels.")
    check_arrays("the file", arrays, {})


def _restore_waiting(learner: Learner, arrays: dict[str, Array], n_features: int) -> None:
    """Set the rows that wait for the model to be resolved."""
    if not learner.engine.streams:
        raise ValueError(f"rows cannot wait for {learner.engine!r}, which does not stream.")
    waiting = taken(arrays, "waiting.")
    check_arrays("the file", arrays, {})
    fields = waiting_fields(learner.model, n_features, waiting)
    check_arrays("rows that wait", waiting, fields)
    ends = [0, *waiting.pop("cuts").tolist(), len(waiting["weights"])]
    ordered = learner.model.forgetting is not None
    back = ordered and np.any(np.diff(waiting.get("times", [])) < 0)
    if np.any(np.diff(ends) < 1) or back:
        raise ValueError("rows that wait must come in batches, and their times must not go back.")
    X, weights, times = waiting["X"], waiting["weights"], waiting.get("times")
    for some in (slice(*both) for both in pairwise(ends)):
        batch = Batch(X[some], weights[some], times=None if times is None else times[some])
        learner.wait(batch)


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
