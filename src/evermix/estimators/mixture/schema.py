"""What the file of a mixture must hold: it follows from the family, the prior and the engine."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from evermix._random import generator
from evermix._schema import (
    BOOL,
    COUNT,
    FINITE,
    FLOAT,
    ORDERED,
    WHOLE,
    Field,
    check_arrays,
    check_number,
)
from evermix._xp import Array
from evermix.engines.base import Engine
from evermix.estimators.data.checks import check_csr
from evermix.estimators.packing import HEAVIEST, check_family, row_fields, taken
from evermix.families.ranges import check_statistics
from evermix.model import Model
from evermix.state import DROPPED, FADED, State

KEPT = "lookback.", "recent.since."  # how the names of arrays of rows begin
BEFORE = "recent.before."  # and those of clusters before the latest rows
SEED = 0, 2**63 - 1
MASS = 0.0, HEAVIEST
SHARE = 0.0, 1.0 + 1e-9
RANGES: Mapping[str, tuple[Any, Any]] = {
    "tally.extra.log_empty": (FINITE[0], 0.0),
    "tally.extra.hard": MASS,
    "column.last_seen": COUNT,
    "column.announced": COUNT,
    "column.stage": COUNT,
    "column.next_mass": MASS,
    "column.tables": SHARE,
    "latent.no_table": SHARE,
    "latent.seed": SEED,
    "latent.stride": (1, COUNT[1]),
    "latent.steps": COUNT,
    "latent.pending": COUNT,
    "latent.chain_no": COUNT,
    "latent.sweep": COUNT,
    "latent.kept": COUNT,
    "latent.weight": MASS,
    "latent.typical": MASS,
    "latent.base": FINITE,
    "latent.dropped": FINITE,
    "latent.log_u": FINITE,
}
"""Ranges of what engines keep, by name; other floats of clusters are finite, others no NaN."""


def check_model(engine: Engine, model: Model, n_features: int, stats: Array) -> None:
    """Raise ValueError or TypeError unless a model is set for rows of ``n_features`` columns.

    ``stats`` are the statistics in the file: what they have no place for is never computed.
    """
    family, S = model.family, stats.shape[-1] if stats.ndim else 0
    check_family(family, n_features, room=S)
    if family.n_stats != S:
        raise ValueError(f"statistics of {S} numbers do not fit {family!r}.")
    engine.check(model)


def state_fields(fresh: State) -> dict[str, Field]:
    """Return what the arrays of a state must be, but for its memo, given one without clusters."""
    fields = {
        "tally.ids": Field(WHOLE, ("K",), COUNT),
        "tally.mass": Field(FLOAT, ("K",), MASS),
        "tally.stats": Field(FLOAT, ("K", fresh.tally.size)),
        "lineage.born": Field(WHOLE, ("ids",), COUNT),
        "lineage.ended": Field(WHOLE, ("ids",), (-1, COUNT[1])),
        "lineage.into": Field(WHOLE, ("ids",), (FADED, COUNT[1])),
        "lineage.last": Field(FLOAT, ("times",)),
    }
    each = {f"tally.extra.{name}": values for name, values in fresh.tally.extra_buffers.items()}
    each |= {f"column.{name}": values for name, values in fresh.columns.items()}
    for name, values in each.items():
        fields[name] = Field(values.dtype.str[1:], ("K", *values.shape[1:]), RANGES.get(name))
    for name, values in fresh.latents.items():
        default = ORDERED if values.dtype.kind == "f" else None
        range = RANGES.get(f"latent.{name}", default)
        fields[f"latent.{name}"] = Field(values.dtype.str[1:], values.shape, range)
    return fields


def result_fields(next_id: int) -> dict[str, Field]:
    """Return what the results of rows must be, in clusters that there are or were."""
    return {
        "labels": Field(WHOLE, ("N",), (-1, next_id - 1)),
        "probabilities": Field(FLOAT, ("N",), SHARE),
        "log_predictive": Field(FLOAT, ("N",), ORDERED),
        "born": Field(BOOL, ("N",)),
    }


def checked_state(
    engine: Engine, model: Model, arrays: Mapping[str, Array], header: Mapping[str, Any]
) -> State:
    """Return the state of an engine, or raise ValueError unless it could have come to it."""
    fresh = engine.initial(model, generator(0))
    plain = {n: values for n, values in arrays.items() if not n.startswith("memo.")}
    found = {prefix: taken(plain, prefix) for prefix in (*KEPT, BEFORE)}
    fields = state_fields(fresh)
    if found[BEFORE] and "recent.left" in plain:
        fields["recent.left"] = Field(FLOAT, (1,), SHARE)
    check_arrays("the state", plain, fields)
    if header["layout"] != fresh.tally.layout.value:
        raise ValueError(f"statistics must lie in memory by {fresh.tally.layout.value}.")
    for name in ("clock", "lap", "at"):
        check_number(name, header[name])
    for name in ("now", "faded"):
        if header[name] is not None and not np.isfinite(float(header[name])):
            raise ValueError(f"the time {name} must be finite, got {header[name]}.")
    for prefix, kept in found.items():
        if kept:
            clock, sums = header["clock"], prefix == BEFORE
            _check_kept(model, kept, len(plain["lineage.born"]), clock, sums)
    if bool(found["recent.since."]) != bool(found[BEFORE]):
        raise ValueError("the latest rows and the clusters before them must be both there.")
    state = State.from_arrays(arrays, header)
    state.lineage.check()
    ids, alive = np.sort(state.tally.ids), np.flatnonzero(np.array(state.lineage.into) == -1)
    if not np.array_equal(ids, alive) or not state.tally.mass.any():
        raise ValueError("clusters must be those that live, each once, and not all empty.")
    check_statistics(model.family, state.tally, state.columns)
    return state


def checked_maps(maps: Mapping[str, Array], next_id: int) -> list[Array]:
    """Return maps of labels in order, or raise ValueError unless each holds ids and, last, -1."""
    fields = {str(i): Field(WHOLE, (f"map {i}",), (-1, next_id - 1)) for i in range(len(maps))}
    check_arrays("the maps of labels", maps, fields)
    if not all(len(names) and names[-1] == -1 for names in maps.values()):
        raise ValueError("a map of labels must end with -1.")
    return [maps[name] for name in fields]


def waiting_fields(model: Model, n_features: int, waiting: Mapping[str, Array]) -> dict[str, Field]:
    """Return what rows must be that wait for the model to be resolved."""
    fields = row_fields(model.family, n_features, {"X"})
    fields["cuts"] = Field(WHOLE, ("cuts",), COUNT)
    return fields | ({"times": Field(FLOAT, ("N",))} if "times" in waiting else {})


def _check_kept(model: Model, kept: dict[str, Array], next_id: int, clock: int, sums: bool) -> None:
    """Raise ValueError unless rows that a stream keeps are of clusters that there are or were.

    If they are ``sums``, they are those of counts of clusters.
    """
    n_features = model.family.n_features
    assert n_features is not None  # `check_model` ensures it
    fields = {} if sums else {"complete": Field(BOOL, (1,))}
    if kept.keys() != fields.keys():  # there are rows
        fields |= row_fields(model.family, n_features, {} if sums else kept)
        fields["ids"] = Field(WHOLE, ("N",), (DROPPED, next_id - 1))
        fields["clocks"] = Field(WHOLE, ("N",), (0, clock))
        fields |= {} if "X" in fields else {"shape": Field(WHOLE, (2,))}
    if sums:
        fields |= {"weights": Field(FLOAT, ("N",), MASS), "data": Field(FLOAT, ("entries",), MASS)}
    check_arrays("the rows that are kept", kept, fields)
    if "data" in kept:
        shape = len(kept["weights"]), n_features
        if tuple(kept["shape"].tolist()) != shape:
            raise ValueError(f"counts that are kept must have the shape {shape}.")
        check_csr(kept["data"], kept["indices"], kept["indptr"], shape)
