"""Timing the laps of a fit one by one."""

import time
from typing import Any, NamedTuple

import numpy as np

import evermix as em

__all__ = ["Lap", "last", "timed_laps"]


class Lap(NamedTuple):
    """Processor time of a lap or sweep in seconds, and the clusters after it."""

    seconds: float
    K: int


def timed_laps(mix: em.Mixture, X: Any) -> list[Lap]:
    """Fit, and return every lap; the checks of the input count to the first."""
    laps: list[Lap] = []
    began = time.process_time()

    def watch(mix: em.Mixture, info: em.Info) -> None:
        nonlocal began
        if info.rows:  # a step; a lap ends with an info of no rows
            return
        now = time.process_time()
        laps.append(Lap(now - began, info.K))
        began = now

    mix.fit(X, observers=[watch])
    return laps


def last(laps: list[Lap], n: int = 3) -> float:
    """Return the median time of the last n laps, when K has come to rest; never of the first."""
    return float(np.median([lap.seconds for lap in laps[1:][-n:]]))
