"""How the parts of an estimator go into a file: specs as names and numbers, rows as arrays."""

from collections.abc import Container, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy import sparse

from evermix._registry import registered
from evermix._schema import FINITE, FLOAT, PLACE, Field, check_arrays, check_number
from evermix._xp import Array, Floats
from evermix.engines import Batch, Engine
from evermix.estimators.data.checks import check_csr
from evermix.estimators.data.rows import prepare_rows
from evermix.estimators.data.weights import MAX_WEIGHT
from evermix.families import Family
from evermix.io import checkpoint
from evermix.priors import Prior
from evermix.topics.measures import Measure
from evermix.topics.priors import DependentPrior
from evermix.topics.words.seating import Seating, Unseated

KINDS = (Family, Prior, Engine)  # what users may write themselves
HEAVIEST = 1e16 * MAX_WEIGHT  # mass of a cluster
LARGEST_STATS = 2**31
AMOUNT = 0.0, FINITE[1]
POSITIVE = 1e-300, FINITE[1]
SHARE = 0.0, np.nextafter(1.0, 0.0)
_CSR = ("data", "indices", "indptr")


class Spec(Protocol):
    """What can be turned into plain data and back."""

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Any:
        """Return what :meth:`to_spec` described."""


Part = TypeVar("Part", bound=Spec)


def plain_json(value: Any) -> Any:
    """Return a header with NumPy numbers and arrays replaced by plain ones, for JSON."""
    if isinstance(value, Mapping):
        return {name: plain_json(part) for name, part in value.items()}
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def named(part: Spec) -> dict[str, Any]:
    """Return a part as its name and its settings."""
    cls, spec = type(part), part.to_spec()
    held = {n for n in vars(part) if not isinstance(getattr(cls, n, None), cached_property)}
    lost, inherited = held - set(spec), {kind.to_spec for kind in KINDS}
    if lost and cls.to_spec in inherited and "__dataclass_fields__" not in vars(cls):
        raise TypeError(
            f"a file would lose {', '.join(sorted(lost))} of {cls.__name__}, which is no "
            "dataclass. Decorate it with @dataclass(frozen=True), or give it to_spec and from_spec."
        )
    return {"name": cls.__name__, "spec": spec}


def built(saved: dict[str, Any], classes: Mapping[str, type[Part]]) -> Part:
    """Return the part that :func:`named` described, of one of these classes."""
    name = saved["name"]
    if name not in classes:
        raise checkpoint.CheckpointError(
            f"the file uses {name}, which is not part of evermix. If it is a class of your own, "
            f"import its module before, or pass it: em.load(path, custom=[{name}])."
        )
    return classes[name].from_spec(saved["spec"])


class Registry(NamedTuple):
    """The classes that a file may name, by name: those of evermix, and a user's own."""

    families: Mapping[str, type[Family]]
    priors: Mapping[str, type[Prior]]
    engines: Mapping[str, type[Engine]]


def registry(custom: Iterable[type]) -> Registry:
    """Return all classes by name, or raise TypeError if custom ones are of no known kind."""
    classes = list(custom) if isinstance(custom, Iterable) else [custom]
    own: tuple[dict[str, Any], ...] = ({}, {}, {})
    for cls in classes:
        kinds = [issubclass(cls, kind) for kind in KINDS] if isinstance(cls, type) else []
        if not any(kinds) or not isinstance(custom, Iterable):
            raise TypeError(
                "custom must be a list of classes, each of them a Family, a Prior or an Engine, "
                f"got {custom!r}."
            )
        own[kinds.index(True)][cls.__name__] = cls
    return Registry(*(registered(kind) | mine for kind, mine in zip(KINDS, own, strict=True)))


def taken(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """Take the arrays whose names begin with a prefix, without it.   Consumes: arrays."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name[len(prefix) :]: arrays.pop(name) for name in names}


def numbered(arrays: Mapping[str, Array]) -> list[dict[str, Array]]:
    """Return arrays whose names begin with 0., 1., ... by these numbers, or raise ValueError."""
    parts: dict[str, dict[str, Array]] = {}
    for name, values in arrays.items():
        number, _, rest = name.partition(".")
        parts.setdefault(number, {})[rest] = values
    if parts.keys() != {str(i) for i in range(len(parts))}:
        raise ValueError(f"wanted the numbers 0 to {len(parts) - 1} in names of arrays.")
    return [parts[str(i)] for i in range(len(parts))]


def packed(batch: Batch) -> dict[str, Array]:
    """Return all rows of a fit as named arrays."""
    arrays = {"rows.weights": batch.weights}
    if not sparse.issparse(batch.X):
        return arrays | {"rows.X": batch.X}
    return arrays | {f"rows.{name}": getattr(batch.X, name) for name in _CSR}


def check_family(family: Family, n_features: int, room: int) -> None:
    """Raise ValueError unless a family is set for so many features, and proper.

    ``room`` is how many numbers it may compute: a file that has few must not take much memory.
    """
    if not family.resolved or family.n_features != n_features or family.n_stats > LARGEST_STATS:
        raise ValueError(f"the family {family!r} is not set for {n_features} features.")
    if family.n_stats <= room:
        with np.errstate(all="ignore"):
            log_prior = family.log_partition(family.eta0[None, :])
        if not np.all(np.isfinite(log_prior)):
            raise ValueError(f"the hyperparameters of the family {family!r} are invalid.")


def row_fields(family: Family, n_features: int, rows: Container[str]) -> dict[str, Field]:
    """Return what rows of a family must be in a file, dense or sparse as these are."""
    values = -family.largest, family.largest
    weights = {"weights": Field(FLOAT, ("N",), (0.0, MAX_WEIGHT))}
    if "X" in rows:
        return weights | {"X": Field(FLOAT, ("N", n_features), values, family.missing)}
    return weights | {
        "data": Field(FLOAT, ("entries",), values),
        "indices": Field(PLACE, ("entries",), (0, n_features - 1)),
        "indptr": Field(PLACE, ("N + 1",)),
    }


def unpacked(rows: Mapping[str, Array], family: Family, n_features: int) -> Batch:
    """Return the rows that :func:`packed` described, if they are whole."""
    check_arrays("the rows", rows, row_fields(family, n_features, rows))
    weights = rows["weights"]
    if not len(weights):
        raise ValueError("there must be rows.")
    if "X" in rows:
        return Batch(prepare_rows(family, rows["X"]), weights)
    data, indices, indptr = (rows[name] for name in _CSR)
    shape = len(weights), n_features
    check_csr(data, indices, indptr, shape)
    X = sparse.csr_matrix((data, indices, indptr), shape=shape)
    return Batch(prepare_rows(family, X), weights)


def number_fields(part: Measure | Seating | Unseated, *axes: str) -> dict[str, Field]:
    """Return what the numbers of a measure or of seats must be, with these axes before theirs."""
    return {
        name: Field(FLOAT, (*axes, *values.shape), SHARE if name == "sigma" else AMOUNT)
        for name, values in part.arrays().items()
    }


def check_regions(q: Floats) -> None:
    """Raise ValueError unless some region gives something to each time: q (..., R, T)."""
    if not np.all(q.sum(axis=-2) > 0):
        raise ValueError("a measure has a time to which no region gives anything.")


def measure_of(prior: DependentPrior, n: Floats, arrays: dict[str, Array]) -> Measure:
    """Return the measure for times of n (T,) observations that these arrays describe."""
    T = len(n)
    if arrays["q"].shape != (getattr(prior, "regions", None) or T, T):
        raise ValueError(f"a measure of {T} times does not fit {prior!r}.")
    measure = prior.measure(n)  # which takes as much memory as the arrays
    check_arrays("a measure", arrays, number_fields(measure))
    check_regions(arrays["q"])
    measure.assign(arrays)
    return measure


def features_of(header: Mapping[str, Any]) -> tuple[int, Array | None]:
    """Return the number of features that a header names, and their names if it has some."""
    n = check_number("n_features_in", header["n_features_in"], (1, 2**31 - 1))
    names = checked_names("feature_names_in", header.get("feature_names_in"), n)
    return n, None if names is None else np.array(names, dtype=object)


def checked_names(name: str, names: Any, n: int) -> list[str] | None:
    """Return n names of a header, or None if there are none; ValueError if they are no names."""
    if names is None:
        return None
    if type(names) is not list or len(names) != n or not all(type(x) is str for x in names):
        raise ValueError(f"{name} must be {n} names.")
    return names
