"""The times that observations come with: what they may be, and how rows without one get theirs."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix.estimators import Mixture
from evermix.io.sources.values import read_time
from evermix.service.bodies import DATES, NUMBERS, BodyError, Observations, shown

AHEAD = 86_400.0  # seconds by which a clock may be fast: later dates are mistakes
LARGEST = 1e15  # of times that are numbers


def kind_of_times(mix: Mixture, planned: str | None, imported: bool) -> str | None:
    """Return what the times of a model are, None if it takes none.

    A model that began with a file goes on as it was.
    """
    if not imported or not mix.__sklearn_is_fitted__():
        return planned
    learner = mix.learner_
    forgetting, dated = learner.model.forgetting, learner.calendar.dated
    if forgetting is not None:
        dated = forgetting.dated if learner.timed else None
    return None if dated is None else DATES if dated else NUMBERS


def check_times(given: Observations, kind: str | None, now: float) -> None:
    """Raise BodyError if the times of observations are not what the model takes."""
    if kind is None:
        if given.listed:
            raise BodyError('the model takes no times. Make one with {"times": "dates"}.')
        return
    latest = now + AHEAD
    for i, time in enumerate(given.times or [None] * len(given.ids)):
        try:
            seconds = _checked(time, kind)
            if kind == DATES and seconds is not None and seconds > latest:
                raise BodyError(f"the time {time!r:.60} is in the future.")
        except BodyError as error:
            raise error if given.single else BodyError(f"observation {i}: {error}") from error


def times_of(given: Observations, kind: str | None, came: float, mix: Mixture) -> Any:
    """Return the times (n,) of observations that are learnt next, as a mixture takes them.

    Those without a date have the one at which their request ``came``, in seconds since 1970. In
    a model that forgets, what is before the time of the row before it counts as that time.
    """
    if kind is None:
        return None
    some = [_checked(time, kind) for time in given.times or [None] * len(given.ids)]
    times = np.array([came if time is None else time for time in some], dtype=np.float64)
    if mix.forgetting is not None:
        since = _last_time(mix)
        times = np.maximum.accumulate(times if since is None else np.maximum(times, since))
    return times if kind == NUMBERS else np.round(times * 1e6).astype("M8[us]")


def in_seconds(times: Any, mix: Mixture) -> NDArray[np.float64] | None:
    """Return times (n,) by which words are forgotten, as numbers; None: they are by rows."""
    if times is None or mix.forgetting is None:
        return None
    return times if times.dtype.kind == "f" else times.astype(np.int64) / 1e6


def _checked(time: Any, kind: str) -> float | None:
    """Return a time as a number, dates in seconds since 1970; None if there is none."""
    if kind == NUMBERS:
        if type(time) not in (int, float) or not -LARGEST <= time <= LARGEST:
            raise BodyError(
                f"the model needs a time, a number up to {LARGEST:g}, got {_got(time)}."
            )
        return float(time)
    if time is None:
        return None
    try:
        found = read_time(time) if isinstance(time, str) else None
    except ValueError:
        found = None
    if not isinstance(found, np.datetime64):
        raise BodyError(
            f"a time must be a date such as 2024-05-31T18:30:00Z, in a string, got {_got(time)}."
        )
    return float(found.astype(np.int64)) / 1e6


def _got(time: Any) -> str:
    if isinstance(time, str):
        return f"{time!r:.60}"
    return "none" if time is None else shown(time)


def _last_time(mix: Mixture) -> float | None:
    """Return the time of the last row that a model which forgets has got."""
    if not mix.__sklearn_is_fitted__():
        return None
    learner = mix.learner_
    if learner.waiting and learner.waiting[-1].times is not None:
        return float(learner.waiting[-1].times[-1])
    now = learner.state.now if learner.started else None
    return None if now is None or not math.isfinite(now) else float(now)
