"""Times of rows: numbers, dates or labels."""

import bisect
import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix._warning import warn
from evermix.forgetting import Exponential

SHOWN = 5  # times that a message names
PERIODS = {"Y", "A", "M", "D"}  # of pandas; years are "A" in versions before 2.2


class Times:
    """The times of a fit, in order.

    Numbers and dates are sorted, and so are labels that read as numbers or as ISO dates. Categories
    (of pandas) and other labels keep their own order: that of the categories, or of appearance.

    Parameters
    ----------
    values : list
        The times, each once: numbers, strings, or dates as strings (ISO).

    Examples
    --------
    >>> times, codes = Times.read(["spring", "summer", "spring", "autumn"], 4)
    >>> times.values
    ['spring', 'summer', 'autumn']
    >>> codes
    array([0, 1, 0, 2])
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)
        self._code = {value: code for code, value in enumerate(self.values)}

    def __len__(self) -> int:
        return len(self.values)

    @property
    def array(self) -> NDArray[Any]:
        """The times as an array (T,): dates as datetime64 where all are."""
        if self.values and all(isinstance(value, datetime.date) for value in self.values):
            return np.array(self.values, dtype="datetime64[us]")
        return np.array(self.values)

    @classmethod
    def read(cls, times: Any, n: int) -> tuple["Times", NDArray[np.int64]]:
        """Return the times that n rows have, and the code 0..T-1 of each row's, (n,)."""
        given = plain_times(times, n)
        categories = getattr(getattr(times, "dtype", None), "categories", None)  # of pandas
        if categories is not None:
            used = set(given)
            values = [value for value in np.asarray(categories).tolist() if value in used]
        elif isinstance(given[0], str):
            values = _in_order(list(dict.fromkeys(given)))
        else:
            values = sorted(set(given))
        known = cls(values)
        return known, known.codes(times, n)

    def codes(self, times: Any, n: int) -> NDArray[np.int64]:
        """Return the code (n,) of the time of each row, or raise ValueError if one is unknown."""
        given = plain_times(times, n)
        unknown = list(dict.fromkeys(t for t in given if t not in self._code))
        if unknown:
            raise ValueError(
                f"there were no rows at the time {_shown(unknown)} in the fit, so nothing is known "
                f"of it. Times of the fit: {_shown(self.values)}. Leave such rows out, or "
                "fit again with rows of that time."
            )
        return np.array([self._code[t] for t in given], dtype=np.int64)

    def codes_so_far(self, times: Any, n: int) -> NDArray[np.int64]:
        """Return the same, where an unknown time has the code of the last one before it.

        Warns of such times; raises ValueError for those before all known ones.
        """
        unknown = self._unknown(plain_times(times, n))
        code = dict(zip(unknown, self._before(unknown), strict=True))
        if not unknown or min(code.values()) < 0:
            return self.codes(times, n)
        known = [self.values[i] for i in dict.fromkeys(code.values())]
        warn(
            f"there were no rows at the time {_shown(unknown)} yet: what is known of the last one "
            f"before it, {_shown(known)}, is used.",
        )
        code |= self._code
        return np.array([code[t] for t in plain_times(times, n)], dtype=np.int64)

    def extended(self, times: Any, n: int) -> tuple["Times", NDArray[np.int64]]:
        """Return these times and, after them, those that n more rows bring; and codes (n,).

        Raises ValueError if an unknown time is not after all known ones.
        """
        unknown = self._unknown(plain_times(times, n))
        codes = zip(unknown, self._before(unknown), strict=True)
        late = [time for time, code in codes if code != len(self) - 1]
        if late:
            raise ValueError(
                f"new times must come after those that are known, the last of which is "
                f"{_shown(self.values[-1:])}, got {_shown(late)}, where nothing was learnt. Fit "
                "all rows again, or join these with a time that is known."
            )
        later = Times.read(times, n)[0].values
        both = Times([*self.values, *(t for t in later if t not in self._code)])
        return both, both.codes(times, n)

    def _unknown(self, given: list[Any]) -> list[Any]:
        """Return the times that are unknown, each once, or raise TypeError for another kind."""
        kinds = {_kind(value) for value in (*given, *self.values)}
        if len(kinds) > 1:
            raise TypeError(
                f"times must be {_kind(self.values[0])}, like those of the fit "
                f"({_shown(self.values)}), got {_shown(given)}."
            )
        return list(dict.fromkeys(t for t in given if t not in self._code))

    def _before(self, unknown: list[Any]) -> list[int]:
        """Return the code of the last known time before each; of the last one without an order."""
        read = _reader([*self.values, *unknown])
        order = None if read is None else [read(value) for value in self.values]
        if read is None or order is None or order != sorted(order):
            return [len(self) - 1] * len(unknown)
        return [bisect.bisect_right(order, read(value)) - 1 for value in unknown]

    def to_spec(self) -> dict[str, Any]:
        """Return the times as a JSON-ready dict."""
        dates = [isinstance(value, datetime.date) for value in self.values]
        if any(dates):
            return {"kind": "dates", "values": [value.isoformat() for value in self.values]}
        return {"kind": "plain", "values": self.values}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> "Times":
        """Return the times that :meth:`to_spec` described."""
        if spec["kind"] == "dates":
            return cls([datetime.datetime.fromisoformat(value) for value in spec["values"]])
        return cls(spec["values"])


def check_times_given(times: Any, y: Any) -> None:
    """Raise ValueError if there is a y but no times, which may have been meant by it.

    ``y`` is what pipelines hand on to every step, labels of a classifier most often.
    """
    if times is None and y is not None:
        raise ValueError(
            "times are missing: y, the second argument, is ignored. Give times by name: "
            "times=years."
        )


def plain_times(times: Any, n: int) -> list[Any]:
    """Return n times as numbers, dates or strings, or raise ValueError or TypeError."""
    if times is None:
        raise ValueError(
            "times are missing: the model is one over time. Give a number, date or label for each "
            "row by name: times=years."
        )
    array = np.asarray(times)
    if array.shape != (n,):
        raise ValueError(f"times must have one entry per row, ({n},), got shape {array.shape}.")
    if array.dtype.kind == "M":
        _refuse(np.isnat(array))
        return array.astype("datetime64[us]").tolist()
    if array.dtype.kind in "biuf":
        _refuse(~np.isfinite(array))
        return array.tolist()
    if array.dtype.kind == "U":
        return array.tolist()
    if array.dtype.kind == "O":
        return _of_objects(array.tolist())
    raise TypeError(f"times must be numbers, dates or labels, got the type {array.dtype}.")


def _of_objects(values: list[Any]) -> list[Any]:
    _refuse(np.array([value is None or value != value for value in values], dtype=bool))
    if all(isinstance(value, str) for value in values):
        return values
    if all(isinstance(value, datetime.date) for value in values):
        return np.array([_naive(value) for value in values], dtype="datetime64[us]").tolist()
    if all(hasattr(value, "to_timestamp") for value in values):
        return _of_periods(values)
    if all(isinstance(value, int | float | np.number) for value in values):
        return plain_times(np.array(values, dtype=np.float64), len(values))
    kinds = ", ".join(sorted({type(value).__name__ for value in values}))
    raise TypeError(f"times must be all numbers, all dates or all labels, got {kinds}.")


def _of_periods(values: list[Any]) -> list[str]:
    """Return periods of pandas as labels such as "2007" and "2007-05"."""
    other = next((one for one in values if one.freqstr.split("-")[0] not in PERIODS), None)
    if other is None:
        return [str(value) for value in values]
    raise ValueError(
        f"times must be periods of a year, a month or a day, got {other} ({other.freqstr}). Give "
        "such periods, or labels: times.astype(str)."
    )


def _naive(date: datetime.date) -> datetime.date:
    """Return a date without a time zone, in UTC if it had one."""
    if isinstance(date, datetime.datetime) and date.tzinfo is not None:
        return date.astimezone(datetime.UTC).replace(tzinfo=None)
    return date


def _refuse(missing: NDArray[np.bool]) -> None:
    if np.any(missing):
        row = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"times has a missing or infinite value in row {row}. Every row needs a time: leave "
            "out rows without one."
        )


def _in_order(labels: list[str]) -> list[str]:
    """Sort labels that read as numbers or dates; leave others in their order."""
    read = _reader(labels)
    return labels if read is None else sorted(labels, key=read)


def _reader(values: list[Any]) -> Callable[[Any], Any] | None:
    """Return what reads times as values that have an order; None for labels without one."""
    if not all(isinstance(value, str) for value in values):
        return lambda value: value
    if not all(re.match(r"[-+]?\.?\d", label) for label in values):  # "now" would be a date
        return None
    for read in (float, _date):
        try:
            sorted(values, key=read)
        except ValueError:
            continue
        return read
    return None


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "labels"
    return "dates" if isinstance(value, datetime.date) else "numbers"


def _date(label: str) -> int:
    """Microseconds since 1970 of an ISO date."""
    return int(np.datetime64(label).astype("datetime64[us]").astype(np.int64))


def _shown(values: list[Any]) -> str:
    shown = ", ".join(str(shown_label(value)) for value in values[:SHOWN])
    return f"{shown}, ... ({len(values)} of them)" if len(values) > SHOWN else shown


# ---- times of models that forget ------------------------------------------------------------


def prepare_times(
    times: Any, n: int, forgetting: Exponential | None, since: float | None = None
) -> NDArray[np.float64] | None:
    """Return one time per row (n,) for a model that forgets, dates as seconds.

    Raises TypeError or ValueError if they do not fit. ``since`` is the time of the row before.
    """
    if forgetting is None and times is not None:
        raise ValueError(
            "times were given, but the model forgets nothing. Set "
            "forgetting=em.Exponential(half_life=...), or leave times out."
        )
    if times is None:
        if forgetting is not None and forgetting.dated:
            raise ValueError("half_life is a timedelta, so every row needs a date: give times.")
        return None
    assert forgetting is not None
    why = f"half_life is {'a timedelta' if forgetting.dated else 'a number'}"
    stamps = _stamps(times, n, forgetting.dated, why)
    back = np.flatnonzero(np.diff(stamps, prepend=stamps[0] if since is None else since) < 0)
    if len(back):
        row = int(back[0])
        before = f"row {row - 1}" if row else "the last row that was learnt"
        raise ValueError(
            f"times must not go back: row {row} ({np.asarray(times)[row]}) comes before {before}. "
            "Sort the rows by time."
        )
    return np.ascontiguousarray(stamps)


def noted_times(times: Any, n: int, dated: bool | None) -> NDArray[np.float64] | None:
    """Return one time per row (n,) for a stream that only notes them, dates as seconds.

    ``dated``: whether those before were dates; None if there were none.
    """
    if times is None:
        return None
    return _stamps(times, n, are_dates(times) if dated is None else dated, "those before were so")


def are_dates(times: Any) -> bool:
    """Whether times are dates rather than numbers, by the first of them."""
    array = np.asarray(times)
    return array.dtype.kind == "M" or isinstance(next(array.flat, None), datetime.date | str)


def _stamps(times: Any, n: int, dated: bool, why: str) -> NDArray[np.float64]:
    """Return one time per row (n,) as float64; ``why`` they must be dates, or numbers."""
    stamps = np.asarray(times)
    if stamps.shape != (n,):
        raise ValueError(f"times must have one entry per row, ({n},), got shape {stamps.shape}.")
    numbers = _as_numbers(stamps, dated, why)
    if not np.all(np.isfinite(numbers)):
        row = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(f"times must be finite, got {stamps[row]} in row {row}.")
    return numbers


def _as_numbers(stamps: NDArray[Any], dated: bool, why: str) -> NDArray[np.float64]:
    """Return times (n,) as float64, in seconds where they are dates, or raise TypeError."""
    if isinstance(next(stamps.flat, None), str):
        stamps = _in_utc(_from_iso(stamps))
    if stamps.dtype.kind == "O":  # dates of the standard library, or of a data frame
        try:
            stamps = _in_utc(stamps) if dated else stamps.astype(np.float64)
        except (TypeError, ValueError) as error:
            wanted = "dates" if dated else "numbers"
            raise TypeError(f"times must be {wanted}, got {stamps[0]!r}: {error}.") from error
    if dated != (stamps.dtype.kind == "M"):
        raise TypeError(
            f"{why}, so times must be {'dates' if dated else 'numbers'}, got {stamps.dtype}. To "
            "forget by dates use em.Exponential(half_life=timedelta(days=7))."
        )
    if not dated:
        if stamps.dtype.kind not in "iuf":
            raise TypeError(f"times must be numbers or dates, got {stamps.dtype}.")
        return stamps.astype(np.float64)
    seconds = (stamps - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    return np.asarray(seconds, dtype=np.float64)


def _from_iso(texts: NDArray[Any]) -> NDArray[Any]:
    """Return dates (n,) that are written as in ISO 8601, or raise TypeError."""
    dates = np.empty(len(texts), dtype=object)
    for row, text in enumerate(texts.tolist()):
        try:
            dates[row] = datetime.datetime.fromisoformat(text)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"times must be numbers or dates, got {text!r} in row {row}. Dates may be strings "
                "such as '2025-01-31T18:30'. Convert others with pandas.to_datetime(times), or "
                "with np.array(times, dtype=float)."
            ) from error
    return dates


def _in_utc(dates: NDArray[Any]) -> NDArray[Any]:
    """Return dates (n,), perhaps with time zones, as datetime64 of UTC."""

    def plain(when: Any) -> Any:  # NumPy would warn that it keeps no zones
        zoned = isinstance(when, datetime.datetime) and when.tzinfo is not None
        return when.astimezone(datetime.UTC).replace(tzinfo=None) if zoned else when

    return np.array([plain(when) for when in dates], dtype="datetime64[us]")


def shown_label(time: Any) -> Any:
    """Return a time as it stood in the source: whole numbers without a point, dates in ISO 8601."""
    if isinstance(time, datetime.date):
        return time.isoformat().removesuffix("T00:00:00")
    return int(time) if isinstance(time, float) and time.is_integer() else time
