"""What is new: the clusters of a stream that began at a time or later."""

from typing import Any

import numpy as np

from evermix.estimators import Mixture
from evermix.estimators.mixture.calendar import Shown
from evermix.io.sources.values import read_time

Described = dict[str, Any]


def began_since(model: Any, clusters: list[Described], time: str) -> tuple[Shown, list[Described]]:
    """Return a time as the model shows it, and the clusters since then, the newest first.

    ``clusters`` are described with the numbers of the rows with which they were born, if these are
    known. ValueError: the model has no times, or others.
    """
    if not isinstance(model, Mixture):
        raise ValueError(
            "--since is for mixtures; of topic models and dependent mixtures the table of `evermix "
            "info` has the first time of each topic or cluster."
        )
    calendar = model.learner_.shown.calendar
    if not calendar:
        raise ValueError(
            "--since needs times, and the model does not know when its rows came. `evermix stream "
            "ROWS --time-field FIELD` learns when clusters begin."
        )
    try:
        read: Any = read_time(time)
    except ValueError as error:
        raise ValueError(f"--since: {error}.") from error
    if isinstance(read, np.datetime64) != bool(calendar.dated):
        wanted = "dates" if calendar.dated else "numbers"
        ends = " to ".join(map(str, calendar.ends or ()))
        raise ValueError(
            f"--since: the times of the model are {wanted}, from {ends}, got {time!r:.60}."
        )
    since = float(read.astype("M8[us]").astype(np.int64)) / 1e6 if calendar.dated else float(read)
    timed = [(calendar.time(each.get("born")), each) for each in clusters]
    some = [(when, each) for when, each in timed if when is not None and when >= since]
    newest = sorted(some, key=lambda pair: pair[0], reverse=True)
    return calendar.shown(since), [each for _, each in newest]
