"""Columns of durations as numbers, in seconds or in days."""

from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNITS = {"s": 1.0, "days": 86_400.0}  # in seconds
LONG = 2 * UNITS["days"]  # seconds from which on a typical duration is given in days

Durations = NDArray[np.timedelta64]


def find_durations(column: Any) -> Durations | None:
    """Return the values (N,) of a column of any library that holds durations; else None."""
    dtype = str(getattr(column, "dtype", getattr(column, "type", "object"))).lower()
    if dtype.startswith(("timedelta", "duration")):
        values = np.asarray(column)
        return values if values.dtype.kind == "m" else _of_objects(values.tolist())
    if dtype != "object" or not len(column):
        return None
    some = column.tolist() if hasattr(column, "tolist") else list(column)
    known = [value for value in some if value is not None and value == value]
    return _of_objects(some) if known and all(isinstance(v, timedelta) for v in known) else None


def _of_objects(values: list[Any]) -> Durations:
    known = (np.timedelta64(v) if isinstance(v, timedelta) and v == v else "NaT" for v in values)
    return np.array(list(known), dtype="timedelta64[us]")


def unit_of(durations: Durations) -> str:
    """Return the unit in which durations are best given."""
    seconds = in_unit(durations, "s")
    known = np.abs(seconds[~np.isnan(seconds)])
    return "days" if len(known) and np.median(known) >= LONG else "s"


def in_unit(durations: Durations, unit: str) -> NDArray[np.float64]:
    """Return durations as numbers of a unit, NaN where they are missing."""
    return durations / np.timedelta64(1, "s") / UNITS[unit]
