"""Periods that dates are turned into, where they are the times of documents."""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np

from evermix._limits import MIN_DOCUMENTS
from evermix._warning import warn
from evermix._xp import Array
from evermix.estimators.data.times import plain_times
from evermix.io.sources.dates import find_order, is_open
from evermix.io.sources.values import read_time, typical_time

PERIODS = {"year": "Y", "month": "M", "day": "D"}
FEW_TIMES = 3  # with fewer, dates become shorter periods
_WRITTEN = {"year": r"\d{4}", "month": r"\d{4}-\d{2}", "day": r"\d{4}-\d{2}-\d{2}"}


def in_periods(dates: Array, period: str) -> Array:
    """Return the periods of dates (n,), such as "2007" and "2007-05"."""
    unit: Any = PERIODS[period]
    return np.datetime_as_string(dates.astype(f"datetime64[{unit}]"))


def fitting_period(dates: Array) -> str:
    """Return the period that dates are turned into: years, if there are at least three of them.

    Otherwise a shorter one, unless that would leave fewer than five documents to each.
    """
    chosen, n = "year", len(np.unique(dates.astype("datetime64[Y]")))
    for period, unit in list(PERIODS.items())[1:]:
        more = len(np.unique(dates.astype(f"datetime64[{unit}]")))
        thin = n > 1 and len(dates) < MIN_DOCUMENTS * more
        if n < FEW_TIMES and more > n and not thin:
            chosen, n = period, more
    return chosen


def check_period(period: Any) -> None:
    """Raise ValueError unless a setting is a period, or None."""
    if period not in (None, *PERIODS):
        raise ValueError(f"period must be 'year', 'month', 'day' or None, got {period!r}.")


def first_periods(times: Any, n: int, period: str | None) -> Any:
    """Return the times of the first documents: the periods of dates, other times as they are.

    Without a ``period`` dates decide it, with a warning if that joins some of them.
    """
    if period is not None and times is not None and period_of(plain_times(times, n)) == period:
        return times
    dates = None if times is None else _dates_of(times, n)
    if dates is None:
        if period is not None:
            found = "no times were given" if times is None else "these are none"
            raise ValueError(
                f"period={period!r} turns dates into times, but {found}. Leave it out, or give "
                "dates."
            )
        return times
    given = np.asarray(times).dtype
    unit = np.datetime_data(given)[0] if given.kind == "M" else None
    stated = {"Y": "year", "M": "month"}.get(str(unit))
    chosen = period or stated or fitting_period(dates)
    _check_order(times, chosen)
    found = in_periods(dates, chosen)
    n_dates, n_times = len(np.unique(dates)), len(np.unique(found))
    if period is None and n_times < n_dates:
        warn(
            f"times are dates, {n_dates:,} different ones: they are turned into {chosen}s, so that "
            f"there are {n_times:,} times. Set period='{chosen}' if that is meant, or another of "
            f"{', '.join(map(repr, PERIODS))}."
        )
    return found


def later_periods(times: Any, n: int, known: Sequence[Any]) -> Any:
    """Return the times of later documents: dates in the period of the times that are known.

    Raises ValueError for labels that are no such periods.
    """
    period = period_of(known)
    if times is None or period is None:
        return times
    given = plain_times(times, n)
    if period == "year" and all(type(when) is int for when in given):
        return list(map(str, given))
    dates = _dates_of(times, n)
    if dates is not None:
        _check_order(times, period)
        return in_periods(dates, period)
    for when in given:
        if isinstance(when, str) and period_of([when]) != period:
            raise ValueError(
                f"times must be {period}s such as {known[-1]!r}, like those of the fit, or dates, "
                f"got {when!r:.60}."
            )
    return times


def period_of(times: Sequence[Any]) -> str | None:
    """Return the period that times are, as :func:`in_periods` writes them; None if they are not."""
    for period, pattern in _WRITTEN.items():
        if times and all(isinstance(t, str) and re.fullmatch(pattern, t) for t in times):
            return period
    return None


def _dates_of(times: Any, n: int) -> Array | None:
    """Return times as datetime64 (n,), or None if they are not dates.

    Texts such as "2021" and "2021-05", as periods are written, and categories are labels.
    ValueError: most are dates, but not all.
    """
    given = plain_times(times, n)
    if given and isinstance(given[0], date):
        return np.array(given, dtype="datetime64[us]")
    if hasattr(getattr(times, "dtype", None), "categories"):
        return None
    texts = list(dict.fromkeys(given))
    if not all(isinstance(text, str) for text in texts) or period_of(texts) in ("year", "month"):
        return None
    if not isinstance(typical_time(given), np.datetime64):
        return None
    day_first, read = find_order(texts) is not False, {}  # of years it does not matter
    for text in texts:
        with suppress(ValueError):
            if isinstance(when := read_time(text, day_first=day_first), np.datetime64):
                read[text] = when
    others = [row for row, text in enumerate(given) if text not in read]
    if others:
        raise ValueError(
            f"times are dates such as {next(iter(read))!r}, but that of row {others[0]} is none, "
            f"{given[others[0]]!r:.60}: give its date, or leave the row out."
        )
    return np.array([read[text] for text in given], dtype="datetime64[us]")


def _check_order(times: Any, period: str) -> None:
    """Raise ValueError where the order of day and month matters, and no date tells."""
    texts = [text for text in np.asarray(times).tolist() if is_open(text)]
    if texts and period != "year" and find_order(texts) is None:
        raise ValueError(
            f"times are dates such as {texts[0]!r}, of which none tells whether the day or the "
            f"month comes first, and they are turned into {period}s. Write dates as 2024-05-31."
        )
