"""Draws of topic models in files, and models that go on from them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from evermix._schema import (
    BOOL,
    COUNT,
    FLOAT,
    ORDERED,
    PLACE,
    SHORT,
    WHOLE,
    Field,
    check_arrays,
    check_number,
    check_range,
)
from evermix._xp import Array
from evermix.estimators.data.checks import check_csr
from evermix.estimators.packing import (
    AMOUNT,
    POSITIVE,
    SHARE,
    check_regions,
    measure_of,
    number_fields,
    numbered,
    plain_json,
    taken,
)
from evermix.priors.hyper import Gamma
from evermix.topics.hierarchies import Hierarchy
from evermix.topics.live import Known, LiveRun, law_of_mass
from evermix.topics.measures import Measure
from evermix.topics.words.dirichlet import start
from evermix.topics.words.snapshots import Snapshot


def names_of_traces(names: Any) -> list[str]:
    """Return the names of traces, or raise ValueError unless they are strings."""
    if type(names) is not list or not all(type(name) is str for name in names):
        raise ValueError(f"names of traces must be strings, got {names!r:.80}.")
    return names


def live_content(run: LiveRun) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return draws that go on as named arrays, and the part of a header."""
    arrays: dict[str, Array] = {}
    for i, known in enumerate(run.known):
        arrays |= {f"live.{i}.{name}": x for name, x in known.snapshot.arrays().items()}
    names = list(run.known[0].numbers)
    arrays["traces"] = np.array([[known.numbers[name] for name in names] for known in run.known])
    if run.known[0].mass is not None:
        laws = [known.mass for known in run.known if known.mass is not None]
        arrays["mass"] = np.array([[law.shape, law.rate] for law in laws])
    rngs = [plain_json(known.rng.bit_generator.state) for known in run.known]
    return arrays, {"rngs": rngs, "live": {"sweeps": run.sweeps, "names": names}}


def live_run(
    arrays: dict[str, Array],
    header: Mapping[str, Any],
    prior: Hierarchy,
    alpha: float | Gamma,
    rngs: list[np.random.Generator],
    shape: tuple[int, int],
) -> tuple[list[Known], int]:
    """Return the draws that :func:`live_content` described, and sweeps.   Consumes: arrays."""
    if prior.flat:
        raise ValueError("models without a level of documents do not go on.")
    sweeps = check_number("sweeps", header["live"]["sweeps"])
    names = names_of_traces(header["live"]["names"])
    snapshots = []
    for parts in numbered(taken(arrays, "live.")):
        measure = measure_of(prior.top, np.ones(shape[0]), taken(dict(parts), "measure."))
        snapshots.append(snapshot_of(prior, alpha, measure, shape, parts))
    P = len(snapshots)
    fields = {"traces": Field(FLOAT, (P, len(names)), ORDERED)}
    if law_of_mass(prior) is not None:
        fields["mass"] = Field(FLOAT, (P, 2), POSITIVE)
    check_arrays("the file", arrays, fields)
    if not P or len(rngs) != P:
        raise ValueError("all draws must have generators.")
    known = []
    for i, snapshot in enumerate(snapshots):
        law = Gamma(*arrays["mass"][i].tolist()) if "mass" in arrays else None
        numbers = dict(zip(names, arrays["traces"][i].tolist(), strict=True))
        known.append(Known(snapshot, law, numbers, rngs[i]))
    return known, sweeps


def snapshot_of(
    prior: Hierarchy,
    alpha: float | Gamma,
    measure: Measure,
    shape: tuple[int, int],
    arrays: dict[str, Array],
) -> Snapshot:
    """Return a draw of a file, or raise ValueError unless it is one of this model.

    Parameters
    ----------
    measure : Measure
        One whose numbers have the shapes of those of the draw.
    shape : (int, int)
        Numbers of times that are shown, and of words in the vocabulary.
    """
    (T, V), K, flat = shape, len(arrays["region"]), prior.flat
    if len(arrays["numbers"]) == 5:  # of an older file: alpha was fixed
        arrays["numbers"] = np.append(arrays["numbers"], start(alpha, V)[0])
    above, law = 1 if flat else measure.n_times, number_fields(measure)
    if flat:
        law = {"jump": Field(FLOAT, (K,), AMOUNT), "fresh": law["mass"]}
    fields = {
        "numbers": Field(FLOAT, (6,)),
        "words": Field(WHOLE, (T, K), COUNT),
        "tables": Field(WHOLE, (above, K), COUNT),
        "region": Field(WHOLE, (K,), (0, measure.n_regions - 1)),
        "on": Field(BOOL, (above, K)),
        "counts.data": Field(SHORT, ("entries",), COUNT),
        "counts.indices": Field(PLACE, ("entries",), (0, K - 1)),
        "counts.indptr": Field(PLACE, (V + 1,)),
        **{f"measure.{name}": field for name, field in law.items()},
    }
    if "documents.indptr" in arrays:
        fields |= {
            "documents.data": Field(SHORT, ("places",), COUNT),
            "documents.indices": Field(PLACE, ("places",), (0, K - 1)),
            "documents.indptr": Field(PLACE, ("D",)),
        }
    check_arrays("a draw", arrays, fields)
    if "documents.indptr" in arrays:
        data, indices, indptr = (arrays[f"documents.{x}"] for x in ("data", "indices", "indptr"))
        check_csr(data, indices, indptr, (max(len(indptr) - 1, 0), K))
    if not flat:
        check_regions(arrays["measure.q"])
    data, indices, indptr = (arrays[f"counts.{name}"] for name in ("data", "indices", "indptr"))
    check_csr(data, indices, indptr, (V, K))
    check_range("sigma of a draw", arrays["numbers"][:1], SHARE)
    check_range("a of a draw", arrays["numbers"][1:2], AMOUNT)
    check_range("alpha of a draw", arrays["numbers"][5:], POSITIVE)
    words, tables = arrays["words"], arrays["tables"]
    if not (words.any(axis=1).all() and words.any(axis=0).all() and tables.any(axis=0).all()):
        raise ValueError(
            "a draw must have words at every time, and words and tables of all topics."
        )
    return Snapshot.from_arrays(arrays, V)
