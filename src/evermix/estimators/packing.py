"""How the parts of an estimator go into a file: specs as names and numbers, rows as arrays."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy import sparse

from evermix._registry import registered
from evermix._xp import Array
from evermix.engines import Batch, Engine
from evermix.estimators.data.rows import check_csr, prepare_rows
from evermix.families import Family
from evermix.io import checkpoint
from evermix.priors import Prior
from evermix.topics.measures import Measure
from evermix.topics.words.seating import Seating, Unseated

KINDS = (Family, Prior, Engine)  # what users may write themselves
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


def group(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """Return the arrays whose names begin with a prefix, without it."""
    return {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}


def packed(batch: Batch) -> dict[str, Array]:
    """Return all rows of a fit as named arrays."""
    arrays = {"rows.weights": batch.weights}
    if not sparse.issparse(batch.X):
        return arrays | {"rows.X": batch.X}
    return arrays | {f"rows.{name}": getattr(batch.X, name) for name in _CSR}


def unpacked(arrays: Mapping[str, Array], family: Family, n_features: int) -> Batch:
    """Return the rows that :func:`packed` described, if they are whole."""
    weights = arrays["rows.weights"]
    if "rows.X" in arrays:
        X = np.ascontiguousarray(arrays["rows.X"])
        check_rows(Batch(X, weights), n_features)
    else:
        data, indices, indptr = (arrays[f"rows.{name}"] for name in _CSR)
        shape = len(weights), n_features
        check_csr(data, indices, indptr, shape)
        X = sparse.csr_matrix((data, indices, indptr), shape=shape)  # type: ignore[assignment]
        if not np.all(np.isfinite(data)):
            raise ValueError("the rows hold values that are not finite.")
    return Batch(prepare_rows(family, X), weights)


def check_rows(batch: Batch, n_features: int) -> None:
    """Raise ValueError unless a batch holds finite dense rows, their weights and their times."""
    X, weights, _, times = batch
    if X.shape != (len(weights), n_features) or weights.ndim != 1 or not len(weights):
        raise ValueError(f"rows {X.shape} and weights {weights.shape} do not fit together.")
    if not (np.all(np.isfinite(X)) and np.all(weights >= 0)):
        raise ValueError("rows must be finite and their weights >= 0.")
    if times is not None and (times.shape != weights.shape or np.any(np.diff(times) < 0)):
        raise ValueError("times must be one per row and never go back.")


def assign(part: Measure | Seating | Unseated, arrays: dict[str, Array]) -> None:
    """Set the arrays of a measure or of table seating, if they fit."""
    for name, values in part.arrays().items():
        given = arrays[name]
        if given.shape != values.shape or given.dtype != values.dtype:
            raise ValueError(f"{name} must have the shape {values.shape}, got {given.shape}.")
        if not np.all(np.isfinite(given) & (given >= 0)):
            raise ValueError(f"{name} must be finite and >= 0.")
    part.assign(arrays)
