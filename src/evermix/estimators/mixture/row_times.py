"""The times of the rows of a stream, checked where they enter."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix.estimators.data.times import are_dates, noted_times, prepare_times
from evermix.estimators.mixture.learner import Learner


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
    else:
        since = learner.state.now if learner.started else None
        if learner.waiting and learner.waiting[-1].times is not None:
            since = float(learner.waiting[-1].times[-1])
        stamps = prepare_times(times, n, forgetting, since)
    if given:
        learner.calendar.dated = are_dates(times)
    return stamps
