"""Saving and loading estimators: specs in the header, everything else as arrays."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from evermix._random import restore
from evermix._xp import Array
from evermix.engines.batch import Batch, RowResults
from evermix.engines.ep.ep import EP
from evermix.engines.variational.memoized import MemoizedVB
from evermix.estimators.dependent.estimator import DependentMixture
from evermix.estimators.mixture.checks import check_learnt, check_maps, check_waiting
from evermix.estimators.mixture.estimator import Mixture
from evermix.estimators.packing import (
    Registry,
    built,
    group,
    named,
    packed,
    plain_json,
    registry,
    unpacked,
)
from evermix.estimators.resolve import check_cap
from evermix.estimators.topics.estimator import TopicModel
from evermix.families.base import Family
from evermix.forgetting import Exponential
from evermix.io import checkpoint
from evermix.model import Model
from evermix.state import State

_KINDS = {
    "mixture": "a mixture",
    DependentMixture.kind: "a dependent mixture",
    TopicModel.kind: "a topic model",
}


def save(mix: Mixture, path: str | Path, extra: Mapping[str, Any] | None = None) -> None:
    """Write a mixture, and JSON-ready ``extra`` entries beside it, to one file."""
    if not mix.__sklearn_is_fitted__() or (mix._model is not None and not mix._state.tally.K):
        raise ValueError("there is nothing to save yet; call fit or partial_fit first.")
    arrays: dict[str, Array] = {}
    header: dict[str, Any] = {
        "kind": "mixture",
        "params": _params(mix),
        "family": named(mix._family),
        "engine": named(mix._taught),
        "n_features_in": mix.n_features_in_,
        "extra": dict(extra or {}),
    }
    if "feature_names_in_" in vars(mix):
        header["feature_names_in"] = [str(name) for name in mix.feature_names_in_]
    header["timed"] = mix._timed
    if mix._model is None:
        _put_waiting(mix._waiting, arrays)
        header["begun"] = _model_spec(mix._begun)
    else:
        last = mix._results._asdict().items()  # what is elsewhere comes home
        if mix._rows_seen is not None:
            mix._check_remembered()
        state_arrays, header["state"] = mix._state.to_arrays(copy=False)
        header["model"] = _model_spec(mix._model)
        header["rng"] = mix._rng.bit_generator.state
        header["fit"] = {"rows": mix._rows_seen}
        arrays |= {f"state.{name}": values for name, values in state_arrays.items()}
        arrays |= {f"results.{name}": np.asarray(values) for name, values in last}
        arrays |= {f"label_maps.{i}": names for i, names in enumerate(mix._label_maps)}
        if mix._batch is not None:
            arrays |= packed(mix._batch)
    checkpoint.write(path, arrays, plain_json(header))


def load(path: str | Path, custom: Iterable[type] = ()) -> Mixture | DependentMixture | TopicModel:
    """Restore an estimator from a file that its ``save`` wrote.

    Parameters
    ----------
    path : path-like
    custom : iterable of classes
        Your own families, priors and engines, if the saved model uses some.
    """
    return load_any(path, custom)[0]


def load_any(
    path: str | Path, custom: Iterable[type] = ()
) -> tuple[Mixture | DependentMixture | TopicModel, dict[str, Any]]:
    """Restore an estimator, and the ``extra`` entries that were saved beside it."""
    known = registry(custom)
    arrays, header = checkpoint.read(path)
    if header.get("kind") == TopicModel.kind:
        return _topics(path, arrays, header)
    if header.get("kind") == DependentMixture.kind:
        with _whole(path, header["kind"]):
            return DependentMixture.from_file((arrays, header), known), dict(
                header.get("extra", {})
            )
    return _mixture(path, arrays, header, known)


def load_with_extra(
    path: str | Path, custom: Iterable[type] = ()
) -> tuple[Mixture, dict[str, Any]]:
    """Restore a mixture, and the ``extra`` entries that were saved beside it."""
    known = registry(custom)
    return _mixture(path, *checkpoint.read(path), known)


def load_topics(path: str | Path) -> tuple[TopicModel, dict[str, Any]]:
    """Restore a topic model, and the ``extra`` entries that were saved beside it."""
    return _topics(path, *checkpoint.read(path))


def _topics(
    path: str | Path, arrays: Mapping[str, Array], header: Mapping[str, Any]
) -> tuple[TopicModel, dict[str, Any]]:
    _check_kind(path, header, TopicModel.kind)
    with _whole(path, header["kind"]):
        return TopicModel.from_file((arrays, header), registry(())), dict(header.get("extra", {}))


def _mixture(
    path: str | Path, arrays: Mapping[str, Array], header: Mapping[str, Any], known: Registry
) -> tuple[Mixture, dict[str, Any]]:
    _check_kind(path, header, "mixture")
    with _whole(path, "mixture"):
        return _restored(arrays, header, known), dict(header["extra"])


def _check_kind(path: str | Path, header: Mapping[str, Any], wanted: str) -> None:
    kind = header.get("kind")
    if kind != wanted:
        held = _KINDS.get(str(kind), f"a {kind}")
        raise checkpoint.CheckpointError(f"{path} holds {held}, not {_KINDS[wanted]}.")


@contextmanager
def _whole(path: str | Path, kind: str) -> Iterator[None]:
    """Raise CheckpointError if what a file holds does not fit together."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise checkpoint.CheckpointError(
            f"{path} does not hold a whole {_KINDS[kind].removeprefix('a ')} "
            f"({type(error).__name__}: {error}). It was edited or written by another program; use "
            "an earlier copy."
        ) from error


def _restored(arrays: Mapping[str, Array], header: Mapping[str, Any], known: Registry) -> Mixture:
    """Return the mixture that these arrays and this header describe, if it can go on."""
    params = header["params"]
    mix = Mixture(
        family=_family_of(params["family"], known),
        prior=None if params["prior"] is None else built(params["prior"], known.priors),
        engine=None if params["engine"] is None else built(params["engine"], known.engines),
        forgetting=_plan_of(params.get("forgetting")),
        max_clusters=params["max_clusters"],
        random_state=params["random_state"],
    )
    mix._begin(built(header["family"], known.families))
    if "engine" in header:  # else it was not set anew since the model was taught
        mix._taught = built(header["engine"], known.engines)
    mix._timed = header.get("timed")
    mix.n_features_in_ = header["n_features_in"]
    if "feature_names_in" in header:
        mix.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    if "model" in header:
        mix._model = _model_of(header["model"], known)
        mix._rng = restore(header["rng"])
        learnt = group(arrays, "state.")
        if header["format"] < 4:  # which knew no times
            learnt["lineage.last"] = np.empty(0)
        mix._state = State.from_arrays(learnt, header["state"])
        if header["format"] < 3 and isinstance(mix._taught, EP | MemoizedVB):
            mix._state.latents["stride"] = np.ones(1, dtype=np.int64)  # there was no other
        mix._results = RowResults(**group(arrays, "results."))
        maps = group(arrays, "label_maps.")
        mix._label_maps = [maps[str(i)] for i in range(len(maps))]
        # Files of format 1 hold models that were taught in one pass.
        mix._rows_seen = header["fit"]["rows"] if "fit" in header else None
        if mix._taught.whole:
            mix._batch = unpacked(arrays, mix._model.family, mix.n_features_in_)
            if mix._batch.weights.shape != mix._results.labels.shape:
                raise ValueError("there are not as many rows and weights as labels.")
        check_cap(mix._model.max_clusters)
        check_maps(mix._label_maps, mix._state)
        check_learnt(mix._taught, mix._model, mix._state, mix._results, mix.n_features_in_)
    else:
        if not mix._taught.streams:
            raise ValueError(f"rows cannot wait for {mix._taught!r}, which does not stream.")
        if "begun" in header:  # else it was not set anew since the stream began
            mix._begun = _model_of(header["begun"], known)
            check_cap(mix._begun.max_clusters)
        mix._waiting = _get_waiting(arrays)
        check_waiting(mix._waiting, mix.n_features_in_)
    return mix


def _model_spec(model: Model) -> dict[str, Any]:
    return {
        "family": named(model.family),
        "prior": named(model.prior),
        "max_clusters": model.max_clusters,
        "forgetting": _plan(model.forgetting),
    }


def _model_of(saved: Mapping[str, Any], known: Registry) -> Model:
    return Model(
        built(saved["family"], known.families),
        built(saved["prior"], known.priors),
        saved["max_clusters"],
        _plan_of(saved.get("forgetting")),  # files before format 4 forget nothing
    )


def _family_of(saved: Any, known: Registry) -> str | Family:
    if saved is None:  # in older files
        return "auto"
    return saved if isinstance(saved, str) else built(saved, known.families)


def _params(mix: Mixture) -> dict[str, Any]:
    seed = mix.random_state
    return {
        "family": mix.family if isinstance(mix.family, str) else named(mix.family),
        "prior": None if mix.prior is None else named(mix.prior),
        "engine": None if mix.engine is None else named(mix.engine),
        "forgetting": _plan(mix.forgetting),
        "max_clusters": mix.max_clusters,
        # A generator object cannot be a parameter of a plain file; its state is saved with the rng.
        "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
    }


def _plan(forgetting: Exponential | None) -> dict[str, Any] | None:
    return None if forgetting is None else forgetting.to_spec()


def _plan_of(spec: dict[str, Any] | None) -> Exponential | None:
    return None if spec is None else Exponential.from_spec(spec)


def _put_waiting(waiting: list[Batch], arrays: dict[str, Array]) -> None:
    """Save the rows of a model whose scale is not known yet (dense: counts never wait)."""
    arrays["waiting.X"] = np.vstack([batch.X for batch in waiting])
    arrays["waiting.weights"] = np.concatenate([batch.weights for batch in waiting])
    arrays["waiting.cuts"] = np.cumsum([len(batch.weights) for batch in waiting])[:-1]
    times = [batch.times for batch in waiting if batch.times is not None]
    if times:
        arrays["waiting.times"] = np.concatenate(times)


def _get_waiting(arrays: Mapping[str, Array]) -> list[Batch]:
    X, weights, cuts = (arrays[f"waiting.{name}"] for name in ("X", "weights", "cuts"))
    batches = [
        Batch(np.ascontiguousarray(x), np.ascontiguousarray(w))
        for x, w in zip(np.split(X, cuts), np.split(weights, cuts), strict=True)
    ]
    if "waiting.times" not in arrays:
        return batches
    stamps = np.split(arrays["waiting.times"], cuts)
    return [batch._replace(times=t) for batch, t in zip(batches, stamps, strict=True)]
