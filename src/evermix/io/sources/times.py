"""When rows were seen: numbers, or dates in ISO 8601."""

import re
from datetime import UTC, date, datetime
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

__all__ = ["Time", "read_time"]

Time: TypeAlias = float | np.datetime64

_MONTH = re.compile(r"\d{4}-\d{2}")


def read_time(value: Any) -> Time:
    """Return a time as a float or, if it is a date, as datetime64 in microseconds of UTC.

    Texts are numbers if they can be; else dates such as ``2024-05``, ``2024-05-31`` or
    ``2024-05-31T18:30:00+02:00``, which are of UTC unless they say otherwise. Raises ValueError for
    anything else.
    """
    try:
        if isinstance(value, str):
            value = _of_text(value.strip())
        if isinstance(value, date):
            return _of_date(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            return float(value)
    except (ValueError, OverflowError):
        pass
    got = "none" if value in (None, "") else f"{value!r:.60}"
    raise ValueError(
        f"wanted a finite number, or a date such as 2024-05-31 or 2024-05-31T18:30:00Z, got {got}"
    )


def _of_text(text: str) -> float | date:
    try:
        return float(text)
    except ValueError:
        return datetime.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text)


def _of_date(value: date) -> np.datetime64:
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")
