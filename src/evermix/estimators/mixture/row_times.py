"""The times of the rows of a stream, checked where they enter."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix._warning import warn
from evermix.estimators.data.times import are_dates, noted_times, prepare_times
from evermix.estimators.mixture.calendar import Calendar
from evermix.estimators.mixture.learner import Learner

MANY = 64  # rows of a call from which on their order is looked at
FAR, OFTEN = 0.05, 0.1  # how far back, in all the time so far, and what share of the rows


def times_after(learner: Learner, times: Any, n: int) -> NDArray[np.float64] | None:
    """Return the times of n rows that follow those learnt, or raise TypeError or ValueError.

    A model that forgets nothing only notes them: rows may have none, and they may go back.
    Consumes: the calendar of the learner, which notes whether they are dates.
    """
    forgetting, given = learner.model.forgetting, times is not None
    if forgetting is not None and learner.timed not in (None, given):
        raise ValueError(
            "all rows of a stream must come with times, or none: it was begun "
            f"{'with' if learner.timed else 'without'} them."
        )
    if forgetting is None:
        stamps = noted_times(times, n, learner.calendar.dated)
        if stamps is not None:
            _warn_of_order(learner.calendar, stamps)
    else:
        since = learner.state.now if learner.started else None
        if learner.waiting and learner.waiting[-1].times is not None:
            since = float(learner.waiting[-1].times[-1])
        stamps = prepare_times(times, n, forgetting, since)
    if given:
        learner.calendar.dated = are_dates(times)
    return stamps


def _warn_of_order(calendar: Calendar, times: NDArray[np.float64]) -> None:
    """Warn, once, if many times (n,) lie far before earlier ones; rows may overtake a little."""
    if len(times) < MANY:
        return
    before = list(calendar.known.values())
    n, known = len(before), np.append(before, times)
    late = np.maximum.accumulate(known) - known > FAR * np.ptp(known)
    said = n > 0 and (late[n - 1] or np.mean(late[:n]) > OFTEN)
    if said or np.mean(late[n:]) <= OFTEN:
        return
    wrong = "are not in order of time"
    if before:
        wrong = f"come from before {calendar.shown(before[-1])}, the time of the row before them"
    warn(
        f"many rows {wrong}. They are learnt in the order in "
        "which they come, so that shares over time and the dates of clusters say little: sort the "
        "rows by time."
    )
