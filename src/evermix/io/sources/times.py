"""When rows were seen: numbers, dates in ISO 8601, or labels."""

import re
from datetime import UTC, date, datetime
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

Time: TypeAlias = float | np.datetime64 | str

_MONTH = re.compile(r"\d{4}-\d{2}")
# What begins with a digit is a number or a date, or a mistake; and long texts are no times.
_LABEL = re.compile(r"[^\W\d_].{0,39}")
_MISSING = {"na", "nat", "none", "null"}  # as programs write where there is nothing


def read_time(value: Any, labels: bool = False) -> Time:
    """Return a time as a float or, if it is a date, as datetime64 in microseconds of UTC.

    Texts are numbers if they can be; else dates such as ``2024-05``, ``2024-05-31`` or
    ``2024-05-31T18:30:00+02:00``, which are of UTC unless they say otherwise. Where ``labels`` are
    welcome, other texts of up to 40 characters that begin with a letter are times as they are.
    Raises ValueError for anything else.
    """
    text = value.strip() if isinstance(value, str) else ""
    try:
        if isinstance(value, str):
            value = _of_text(text)
        if isinstance(value, date):
            return _of_date(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            return float(value)
    except (ValueError, OverflowError):
        if labels and _LABEL.fullmatch(text) and text.lower() not in _MISSING:
            return text
    got = "none" if value in (None, "") else f"{value!r:.60}"
    label = ", or a label of up to 40 characters that begins with a letter" if labels else ""
    raise ValueError(
        "wanted a finite number, or a date such as 2024-05-31 or 2024-05-31T18:30:00Z"
        f"{label}, got {got}"
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
