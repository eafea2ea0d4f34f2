"""Dependent mixtures that go on, in files."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from evermix._schema import BOOL, COUNT, FLOAT, WHOLE, Field, check_arrays, check_number
from evermix._xp import Array
from evermix.estimators.packing import (
    check_family,
    check_regions,
    number_fields,
    numbered,
    plain_json,
    taken,
)
from evermix.families.base import Family
from evermix.families.ranges import check_statistics
from evermix.topics.measures import Measure
from evermix.topics.priors import DependentPrior
from evermix.topics.rows.draws import Clusters
from evermix.topics.rows.live import Known, LiveRows
from evermix.topics.rows.samplers import RowSampler


def live_content(run: LiveRows) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return draws that go on as named arrays, and the part of a header."""
    arrays: dict[str, Array] = {"labels": run.labels}
    for i, known in enumerate(run.known):
        parts = known.clusters._asdict()
        parts |= {f"measure.{name}": x for name, x in parts.pop("measure").items()}
        parts["log_joint"] = np.array([parts["log_joint"]])
        arrays |= {f"live.{i}.{name}": x for name, x in parts.items()}
    rngs = [plain_json(known.rng.bit_generator.state) for known in run.known]
    return arrays, {"rngs": rngs, "live": {"sweeps": run.sweeps}}


def live_run(
    arrays: dict[str, Array],
    header: Mapping[str, Any],
    prior: DependentPrior,
    family: Family,
    sampler: RowSampler,
    rngs: list[np.random.Generator],
    shape: tuple[int, int],
) -> LiveRows:
    """Return the draws that :func:`live_content` described.   Consumes: arrays.

    ``header`` is its part of one, and ``shape`` are the numbers of times and of features.
    """
    (T, n_features), sweeps = shape, check_number("sweeps", header["sweeps"])
    draws = numbered(taken(arrays, "live."))
    if not draws or len(rngs) != len(draws):
        raise ValueError("all draws must have generators.")
    S = draws[0]["stats"].shape[-1]
    check_family(family, n_features, room=S)
    R = getattr(prior, "regions", None) or T
    if family.n_stats != S or draws[0]["measure.q"].shape != (R, T):
        raise ValueError(f"draws do not fit {family!r}, {prior!r} and {T} times.")
    measure = prior.measure(np.ones(T))  # which takes as much memory as the arrays
    sampler.check(measure)
    clusters = [_clusters(family, measure, parts) for parts in draws]
    labels = {"labels": Field(WHOLE, ("N",), (0, clusters[0].K - 1))}
    check_arrays("the file", arrays, labels)
    known = [Known(each, rng) for each, rng in zip(clusters, rngs, strict=True)]
    return LiveRows(family, sampler, known, arrays["labels"], sweeps)


def _clusters(family: Family, measure: Measure, arrays: dict[str, Array]) -> Clusters:
    """Return a draw of a file, or raise ValueError unless it is one of this model."""
    T, K, numbers = measure.n_times, len(arrays["region"]), number_fields(measure)
    fields = {
        "counts": Field(WHOLE, (T, K), COUNT),
        "stats": Field(FLOAT, (K, family.n_stats)),
        "region": Field(WHOLE, (K,), (0, measure.n_regions - 1)),
        "on": Field(BOOL, (T, K)),
        "log_joint": Field(FLOAT, (1,)),
        **{f"measure.{name}": field for name, field in numbers.items()},
    }
    check_arrays("a draw", arrays, fields)
    check_regions(arrays["measure.q"])
    counts, on = arrays["counts"], arrays["on"]
    if not (counts.any(axis=1).all() and counts.any(axis=0).all()):
        raise ValueError("a draw must have rows at every time, and rows of all clusters.")
    if np.any((counts > 0) & ~on):
        raise ValueError("a draw must have its clusters on where they have rows.")
    learnt, log_joint = taken(arrays, "measure."), float(arrays["log_joint"][0])
    clusters = Clusters(counts, arrays["stats"], arrays["region"], on, learnt, log_joint)
    state = clusters.state(family)
    check_statistics(family, state.tally, state.columns)
    return clusters
