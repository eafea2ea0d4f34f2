"""Streams that forget, on the command line: half-lives, and the order of rows in time."""

import numpy as np

from evermix._xp import Array
from evermix.forgetting import Exponential
from evermix.io.sources import Chunk, Source

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def parse_half_life(text: str, time_field: str | None) -> Exponential:
    """Return the forgetting that ``--half-life`` asks for: ``1000``, or ``7d`` for rows of dates.

    ``time_field`` is the field with the times of rows, if there is one.
    """
    unit = _SECONDS.get(text[-1:])
    try:
        number = float(text if unit is None else text[:-1])
    except ValueError as error:
        raise ValueError(
            "--half-life wants a number of rows, or a duration such as 45s, 30m, 12h, 7d or 2w, "
            f"got {text!r}."
        ) from error
    if unit is None:
        return Exponential(number)
    if time_field is None:
        raise ValueError(
            f"--half-life {text} is a duration, so every row needs a date: name the field or "
            "column that holds it with --time-field."
        )
    return Exponential(number * unit, dated=True)


def check_times(source: Source, forgetting: Exponential | None) -> None:
    """Refuse a half-life of another kind than the times of rows."""
    if forgetting is None or source.dated is None or source.dated == forgetting.dated:
        return
    if source.dated:
        raise ValueError(
            "the times of the rows are dates, so --half-life must be a duration such as 12h or 7d, "
            f"got {forgetting.half_life:g}. Leave out --time-field to count rows."
        )
    raise ValueError(
        "the times of the rows are numbers, so --half-life must be a number in their unit, got a "
        "duration."
    )


def check_order(source: Source, chunk: Chunk, since: float | None) -> None:
    """Refuse rows that go back in time; ``since`` is the time of the row before the first."""
    assert chunk.times is not None
    times = _as_numbers(chunk.times)
    before = np.append(times[0] if since is None else since, times[:-1])
    back = np.flatnonzero(times < before)
    if len(back):
        row, dated = int(back[0]), bool(source.dated)
        raise ValueError(
            f"{source.place(int(chunk.rows[row]))}: its time, {shown_time(times[row], dated)}, is "
            f"before that of the row before it, {shown_time(before[row], dated)}, and a stream "
            "that forgets must not go back in time. Sort the rows by time and begin anew with "
            "--overwrite, or take this one out and go on."
        )


def shown_time(time: float, dated: bool) -> float | str:
    """Return a time as it may have stood in the source: a number, or a date in UTC."""
    if not dated:
        return float(time)
    shown = str(np.datetime64(round(time * 1e6), "us"))
    return shown.removesuffix(".000000").removesuffix("T00:00:00")


def _as_numbers(times: Array) -> Array:
    """Return times (n,) as a mixture takes them: numbers, or seconds since 1970."""
    if times.dtype.kind != "M":
        return times
    return (times - np.datetime64(0, "s")) / np.timedelta64(1, "s")
