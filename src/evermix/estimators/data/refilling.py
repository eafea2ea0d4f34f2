"""Tables whose holes are filled: what was seen stays as it was, and columns keep their types."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from evermix._xp import Array, Floats
from evermix.estimators.data.levels import Levels
from evermix.estimators.data.tables import Table, with_columns
from evermix.families import Mixed
from evermix.io.sources.dialect import Writing
from evermix.io.sources.durations import UNITS, find_durations, unit_of
from evermix.io.sources.strings import PLAIN

_WHOLE = re.compile(r"(u?)int(\d+)", re.IGNORECASE)  # names of types, in any library
_FLOAT = re.compile(r"float|double", re.IGNORECASE)
_YES_NO = re.compile(r"bool", re.IGNORECASE)
_STEPS = {"D": 86_400, "h": 3600, "m": 60, "s": 1, "ms": 1e-3}  # seconds; else microseconds


def refilled(
    family: Mixed,
    X: Any,
    rows: Floats,
    found: Floats,
    levels: Levels,
    written: Mapping[str, Writing],
    whole_columns: Sequence[bool] = (),
) -> Any:
    """Return a table like X with values of found (N, D) where rows (N, D) have NaN.

    ``written`` has the units of columns of durations. ``whole_columns`` says which columns have
    held whole numbers only, if that is known.
    """
    table, columns = Table(X), {}
    named = isinstance(family.names[0], str)  # else the columns of arrays, which tables had
    for j, name in enumerate(map(str, family.names if named else table.names)):
        gone = np.isnan(rows[:, j])
        if name not in table.names or not gone.any():
            continue
        raw, values = table.raw(name), found[:, j]
        whole = raw.to_pylist() if hasattr(raw, "to_pylist") else list(raw)
        if name in levels:
            fills: list[Any] = [levels[name][int(code)] for code in values[gone]]
            kind = _with_levels(raw, fills)
        elif (durations := find_durations(raw)) is not None:
            unit = written.get(name, PLAIN).unit
            seconds = values[gone] * UNITS[unit if unit in UNITS else unit_of(durations)]
            fills, kind = _durations(seconds.tolist(), str(_type(raw))), _type(raw)
        else:
            yes_no = table.column(name).kind == "yes/no"
            values = values.astype(bool) if yes_no else values
            known = rows[~gone, j]
            always = len(whole_columns) > 0 and bool(whole_columns[j])
            ages = len(known) > 0 and bool(np.all(known == np.rint(known)))  # or counts
            if (always or ages) and not yes_no:
                values = np.rint(values)
            seen = [whole[row] for row in np.flatnonzero(~gone).tolist()]
            fills, kind = _numbers(_type(raw), values[gone], yes_no, seen)
        if kind is None:  # no type that can hold them
            whole = values.tolist()
        else:
            for row, fill in zip(np.flatnonzero(gone).tolist(), fills, strict=True):
                whole[row] = fill
        columns[name] = _column(X, table.key(name), raw, whole, kind)
    if isinstance(X, Mapping):
        X = {key: value.copy() if hasattr(value, "copy") else value for key, value in X.items()}
    elif hasattr(X, "iloc"):  # pandas, whose tables can be changed
        X = X.copy()
    return with_columns(X, columns)


def _type(raw: Any) -> Any:
    """Return the type of a column as its library calls it; object for lists."""
    return getattr(raw, "dtype", getattr(raw, "type", object))


def _with_levels(raw: Any, words: list[Any]) -> Any:
    """Return the type of a column of categories that gets these words."""
    kind = _type(raw)
    closed = hasattr(raw, "cat") and (hasattr(raw, "iloc") or type(kind).__name__ == "Enum")
    known = set(kind.categories) if closed else set()  # of pandas, and of an Enum of polars
    new = [word for word in dict.fromkeys(words) if word not in known] if closed else []
    if not new:
        return kind
    return raw.cat.add_categories(new).dtype if hasattr(raw, "iloc") else type(raw)([""]).dtype


def _durations(seconds: list[float], kind: str) -> list[Any]:
    """Return durations in whole steps of a type, such as ``timedelta64[s]``."""
    unit = re.search(r"\[(\w+)\]|time_unit='(\w+)'", kind)
    step = _STEPS.get((unit[1] or unit[2]) if unit else "", 1e-6)
    return [timedelta(seconds=round(x / step) * step) for x in seconds]


def _numbers(kind: Any, values: Array, yes_no: bool, seen: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return values as a type of numbers, or of yes and no, holds them; and the type, or None.

    ``seen`` are the other values of the column, which tell what objects are.
    """
    name = str(kind)
    if kind is object or name == "object":
        return _objects(kind, values.tolist(), seen)
    if yes_no:
        return values.tolist(), kind if _YES_NO.search(name) else None
    if whole := _WHOLE.search(name):
        limits = np.iinfo(f"{whole[1].lower()}int{whole[2]}")
        return [min(max(round(x), limits.min), limits.max) for x in values.tolist()], kind
    scale = getattr(getattr(kind, "pyarrow_dtype", kind), "scale", None)  # of decimal numbers
    if scale is not None:
        return [round(Decimal(repr(x)), scale) for x in values.tolist()], kind
    return values.tolist(), kind if _FLOAT.search(name) else None


def _objects(kind: Any, values: list[Any], seen: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return values beside objects: whole or decimal numbers where all of them are; and the type.

    Lists of numbers become arrays of them.
    """
    kinds = {type(value) for value in seen}
    if not kinds:
        return values, kind if kind is not object else np.array(values).dtype
    if all(issubclass(one, int | np.integer) and one is not bool for one in kinds):
        return [round(x) for x in values], np.dtype(int) if kind is object else kind
    if kinds == {Decimal}:
        return [Decimal(repr(x)) for x in values], kind
    is_numeric = kind is object and all(issubclass(one, int | float) for one in kinds)
    return values, np.array(values).dtype if is_numeric else kind


def _column(X: Any, key: Any, raw: Any, values: list[Any], kind: Any) -> Any:
    """Return a column of the same library as one of a table; of this type, unless that is None."""
    if hasattr(raw, "iloc"):  # pandas
        return type(raw)(values, index=raw.index, name=raw.name, dtype=kind)
    if type(raw).__module__.startswith("polars"):
        return type(raw)(raw.name, values, dtype=kind)
    if hasattr(X, "from_pydict"):  # Arrow
        schema = None if kind is None else X.select([key]).schema
        return type(X).from_pydict({key: values}, schema=schema).column(0).combine_chunks()
    if kind is not object:
        return np.array(values, dtype=kind if isinstance(kind, np.dtype) else None)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
