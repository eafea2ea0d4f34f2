"""Saving and loading dependent mixtures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evermix._random import restore
from evermix._xp import Array
from evermix.engines.batch import Batch
from evermix.estimators.data.times import Times
from evermix.estimators.dependent.estimator import DependentMixture
from evermix.estimators.packing import (
    Registry,
    assign,
    built,
    group,
    named,
    packed,
    plain_json,
    unpacked,
)
from evermix.io import checkpoint
from evermix.topics.priors import SPECS
from evermix.topics.rows.chain import Chain, Data
from evermix.topics.rows.draws import Draws
from evermix.topics.rows.samplers import SAMPLERS

KIND = "dependent mixture"


def save(mix: DependentMixture, path: str | Path) -> None:
    """Write a dependent mixture to one file."""
    if not mix.__sklearn_is_fitted__() or not mix._chain.started:
        raise ValueError("there is nothing to save yet; call fit first.")
    chain, data, seed = mix._chain, mix._data, mix.random_state
    header: dict[str, Any] = {
        "kind": KIND,
        "params": {
            "family": None if isinstance(mix.family, str) else named(mix.family),
            "prior": None if mix.prior is None else named(mix.prior),
            "sampler": None if mix.sampler is None else named(mix.sampler),
            "burn_in": mix.burn_in,
            "draws": mix.draws,
            "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
        },
        "family": named(data.family),
        "prior": named(mix._prior),
        "sampler": named(mix._taught),
        "times": mix._times.to_spec(),
        "n_features_in": mix.n_features_in_,
        "sweep": mix._sweep,
        "rng": mix._rng.bit_generator.state,
    }
    if "feature_names_in_" in vars(mix):
        header["feature_names_in"] = [str(name) for name in mix.feature_names_in_]
    arrays = packed(Batch(data.X, np.ones(len(data))))
    arrays |= {"times": data.times, "labels": chain.labels}
    arrays |= {"region": chain.region, "on": chain.on}
    arrays |= {f"measure.{name}": values for name, values in chain.measure.arrays().items()}
    arrays |= {f"memo.{name}": values for name, values in chain.memo.items()}
    arrays |= {f"draws.{name}": values for name, values in mix._draws.arrays().items()}
    checkpoint.write(path, arrays, plain_json(header))


def restored(
    arrays: Mapping[str, Array], header: Mapping[str, Any], known: Registry
) -> DependentMixture:
    """Return the dependent mixture that these arrays and this header describe."""
    params = header["params"]
    mix = DependentMixture(
        family="auto" if params["family"] is None else built(params["family"], known.families),
        prior=None if params["prior"] is None else built(params["prior"], SPECS),
        sampler=None if params["sampler"] is None else built(params["sampler"], SAMPLERS),
        burn_in=params["burn_in"],
        draws=params["draws"],
        random_state=params["random_state"],
    )
    mix.n_features_in_ = header["n_features_in"]
    if "feature_names_in" in header:
        mix.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    mix._taught = built(header["sampler"], SAMPLERS)
    mix._prior = built(header["prior"], SPECS)
    mix._times = Times.from_spec(header["times"])
    family = built(header["family"], known.families)
    X, times = unpacked(arrays, family, mix.n_features_in_).X, arrays["times"]
    mix._data = Data(family, X, times, len(mix._times))
    mix._rng, mix._sweep = restore(header["rng"]), int(header["sweep"])
    measure = mix._prior.measure(np.bincount(times, minlength=len(mix._times)).astype(np.float64))
    mix._taught.check(measure)
    assign(measure, group(arrays, "measure."))
    chain = (arrays["labels"], arrays["region"], arrays["on"])
    mix._chain = Chain(measure, *chain, group(arrays, "memo."))
    mix._draws, mix._views = Draws.from_arrays(group(arrays, "draws.")), {}
    _check(mix)
    return mix


def _check(mix: DependentMixture) -> None:
    """Raise ValueError unless all says the same of rows, times, clusters and draws."""
    data, chain, draws = mix._data, mix._chain, mix._draws
    N, T = data.X.shape[0], data.n_times
    if data.times.shape != (N,) or data.times.dtype != np.int64:
        raise ValueError(f"wanted {N} times as whole numbers.")
    if not np.array_equal(np.unique(data.times), np.arange(T)):
        raise ValueError(f"the rows do not have each of {T} times.")
    _check_clusters(chain.labels, chain.region, chain.on, mix)
    for labels, region, on in zip(draws.labels, draws.region, draws.on, strict=True):
        _check_clusters(labels.astype(np.int64), region, on, mix)
    for name, values in chain.measure.arrays().items():
        for numbers in draws.measure:
            if numbers[name].shape != values.shape or not np.all(np.isfinite(numbers[name])):
                raise ValueError(f"{name} of a draw does not fit.")


def _check_clusters(labels: Array, region: Array, on: Array, mix: DependentMixture) -> None:
    """Raise ValueError unless labels are those of clusters with regions and times."""
    K, data, R = len(region), mix._data, mix._chain.measure.n_regions
    if labels.shape != data.times.shape or labels.dtype != np.int64:
        raise ValueError("there are not as many labels as rows.")
    if not np.array_equal(np.unique(labels), np.arange(K)):
        raise ValueError("labels do not name the clusters that are there.")
    if np.any((region < 0) | (region >= R)) or region.dtype != np.int64:
        raise ValueError("clusters lie in regions that are not there.")
    if on.shape != (data.n_times, K) or on.dtype != bool:
        raise ValueError("clusters need to be there, or not, at each time.")
