"""Saving and loading topic models: settings in the header, chains and draws as arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from evermix._random import restore
from evermix._xp import Array
from evermix.estimators.data.rows import check_csr
from evermix.estimators.data.times import Times
from evermix.estimators.packing import assign, built, group, named, plain_json
from evermix.estimators.topics.estimator import TopicModel
from evermix.io import checkpoint
from evermix.topics.chains import Run
from evermix.topics.hierarchies import HIERARCHIES, Flat, Hierarchy
from evermix.topics.priors import MNGG, TNGG
from evermix.topics.rows.samplers import SAMPLERS
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.samplers import WORD_SAMPLERS
from evermix.topics.words.snapshots import Snapshot

KIND = "topics"
PRIORS: dict[str, Any] = {**HIERARCHIES, "MNGG": MNGG, "TNGG": TNGG}
ALL_SAMPLERS: dict[str, Any] = {**WORD_SAMPLERS, **SAMPLERS}
_WORDS = ("dish", "opens", "table", "region", "on")
_PARAMS = ("alpha", "burn_in", "draws", "chains")


def save(model: TopicModel, path: str | Path, extra: Mapping[str, Any] | None = None) -> None:
    """Write a topic model, and JSON-ready ``extra`` entries beside it, to one file."""
    if not model.__sklearn_is_fitted__():
        raise ValueError("there is nothing to save yet; call fit first.")
    run, seed, prior = model._run, model.random_state, cast(Any, model._prior)
    header: dict[str, Any] = {
        "kind": KIND,
        "extra": dict(extra or {}),
        "params": {name: getattr(model, name) for name in _PARAMS}
        | {
            "prior": None if model.prior is None else named(model.prior),
            "sampler": None if model.sampler is None else named(model.sampler),
            "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
        },
        "prior": named(prior.prior if isinstance(prior, Flat) else prior),
        "sampler": named(run.sampler),
        "beta": model._beta,
        "times": model._times.to_spec(),
        "seen": model._seen,
        "n_features_in": model.n_features_in_,
        "n_documents": len(run.chains[0].seating.u),
        "n_times": run.chains[0].measure.n_times,
        "rngs": [rng.bit_generator.state for rng in run.rngs],
        "run": {"sweeps": run.sweeps, "names": run.names, "spacing": run.spacing},
    }
    if "feature_names_in_" in vars(model):
        header["feature_names_in"] = [str(name) for name in model.feature_names_in_]
    checkpoint.write(path, _arrays(model), plain_json(header))


def restored(arrays: Mapping[str, Array], header: Mapping[str, Any]) -> TopicModel:
    """Return the topic model that arrays and header of a file describe."""
    params = dict(header["params"])
    if params["prior"] is not None:
        params["prior"] = built(params["prior"], PRIORS)
    if params["sampler"] is not None:
        params["sampler"] = built(params["sampler"], ALL_SAMPLERS)
    model = TopicModel(**params)
    model.n_features_in_ = header["n_features_in"]
    if "feature_names_in" in header:
        model.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    prior = built(header["prior"], PRIORS)
    model._prior = prior if isinstance(prior, Hierarchy) else Flat(prior)
    model._times = Times.from_spec(header["times"])
    model._beta, model._seen = header["beta"], header["seen"]
    rngs = [restore(state) for state in header["rngs"]]
    chains = [_chain(model, group(arrays, f"chain.{i}."), header) for i in range(len(rngs))]
    run = Run(built(header["sampler"], WORD_SAMPLERS), chains, rngs, **header["run"])
    model._run, model._views = run, {}
    kept = [
        _snapshots(group(arrays, f"draws.{i}."), model.n_features_in_) for i in range(len(rngs))
    ]
    if "traces" in arrays:
        run.rows, run.snapshots = [list(rows) for rows in arrays["traces"]], kept
    else:
        (model._views["now"],) = kept[0]
    _check(model)
    return model


# ---- inside --------------------------------------------------------------------------------


def _arrays(model: TopicModel) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    run = model._run
    for i, chain in enumerate(run.chains):
        parts = {name: getattr(chain, name) for name in _WORDS}
        parts |= {f"measure.{name}": values for name, values in chain.measure.arrays().items()}
        parts |= {f"seating.{name}": values for name, values in chain.seating.arrays().items()}
        arrays |= {f"chain.{i}.{name}": values for name, values in parts.items()}
    if run.rows:
        arrays["traces"] = np.array(run.rows)
    # Before the first draw, what a chain is stands for draws.
    kept = run.snapshots or [model._snapshots()]
    for i, snapshots in enumerate(kept):
        for j, snapshot in enumerate(snapshots):
            parts = snapshot.arrays()
            arrays |= {f"draws.{i}.{j}.{name}": values for name, values in parts.items()}
    return arrays


def _chain(model: TopicModel, arrays: Mapping[str, Array], header: Mapping[str, Any]) -> Franchise:
    measure = model._prior.measure(np.ones(header["n_times"]))
    assign(measure, group(arrays, "measure."))
    seating = model._prior.seating(np.ones(header["n_documents"]))
    assign(seating, group(arrays, "seating."))
    dish, opens, table, region, on = (arrays[name] for name in _WORDS)
    return Franchise(measure, seating, model._beta, dish, opens, table, region, on)


def _snapshots(arrays: Mapping[str, Array], size: int) -> list[Snapshot]:
    numbers = {int(name.split(".")[0]) for name in arrays}
    return [Snapshot.from_arrays(group(arrays, f"{j}."), size) for j in sorted(numbers)]


def _check(model: TopicModel) -> None:
    """Raise ValueError unless chains, topics and draws fit together."""
    run = model._run
    if len({len(rows) for rows in run.rows}) > 1 or run.rows and len(run.rows) != len(run.chains):
        raise ValueError("there are not as many draws of each chain.")
    if run.rows and any(row.shape != (len(run.names),) for rows in run.rows for row in rows):
        raise ValueError("draws do not have the numbers that are named.")
    for chain in run.chains:
        measure, T = chain.measure, chain.measure.n_times
        N, K = len(chain.dish), chain.K
        kinds = [part.dtype for part in (chain.dish, chain.opens, chain.table, chain.region)]
        if kinds != [np.int32, bool, np.int32, np.int64] or chain.on.dtype != bool:
            raise ValueError("words need topics and tables as whole numbers.")
        if not chain.opens.shape == chain.table.shape == (N,) or chain.on.shape != (T, K):
            raise ValueError("words, topics and times differ in number.")
        if not np.array_equal(np.unique(chain.dish), np.arange(K)):
            raise ValueError("words do not have the topics that are there.")
        if np.any((chain.region < 0) | (chain.region >= measure.n_regions)):
            raise ValueError("topics lie in regions that are not there.")
    for snapshot in model._snapshots():
        _check_snapshot(model, snapshot)


def _check_snapshot(model: TopicModel, snapshot: Snapshot) -> None:
    """Raise ValueError unless a draw is one of this model."""
    counts, K, T = snapshot.counts, snapshot.K, max(len(model._times), 1)
    check_csr(counts.data, counts.indices, counts.indptr, counts.shape)
    if snapshot.words.shape != (T, K) or np.any(snapshot.words < 0) or np.any(counts.data < 0):
        raise ValueError("the words of topics must be counts at each time.")
    if snapshot.tables.shape != snapshot.on.shape or snapshot.tables.shape[1:] != (K,):
        raise ValueError("the tables of topics must be counts at each time.")
    wanted = {"jump": (K,), "fresh": (model._prior.top.measure(np.ones(1)).n_regions,)}
    if not model._prior.flat:
        wanted = {name: values.shape for name, values in model._measure().arrays().items()}
    if {name: values.shape for name, values in snapshot.measure.items()} != wanted:
        raise ValueError(f"a draw must have arrays of the shapes {wanted}.")
    if not all(np.all(np.isfinite(x) & (x >= 0)) for x in snapshot.measure.values()):
        raise ValueError("a draw holds values that cannot be.")
