"""How far a fit is: lines on standard error, and whether chains still climb."""

import sys
import time
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.topics.words.snapshots import TopicSweep

LINES = 20  # of a fit, at most
BATCHES, FEWEST = 10, 20  # of draws, and draws at least
SURE = 2.9  # Student's t with 8 degrees of freedom exceeds it in 1% of cases


class ProgressLines:
    """Tells of some of the sweeps of a fit, evenly spaced.

    Parameters
    ----------
    total : int
        Number of sweeps, at most.
    """

    def __init__(self, total: int) -> None:
        self.total, self.every = total, max(total // LINES, 1)
        self.start = time.perf_counter()

    def __call__(self, model: Any, sweep: TopicSweep) -> None:
        """Write a line, if it is time for one."""
        if sweep.number % self.every and sweep.number != self.total:
            return
        topics, joint = ", ".join(map(str, sweep.n_topics)), max(sweep.log_joint)
        place = f"sweep {sweep.number:,} of at most {self.total:,}"
        print(
            f"{place}{'' if sweep.kept else ' (burn-in)'}: "
            f"{topics} topics, log joint {joint:,.1f}, {time.perf_counter() - self.start:.1f} s",
            file=sys.stderr,
        )


def climb(trace: Array) -> float:
    """Return by how much the trace (M,) of a chain rises beyond chance; 0 if it does not.

    The slope over means of ten batches of draws, from the first to the last; it counts if a chain
    at rest, whose batches are independent, would have it in one case of a hundred. NaN for fewer
    than 20 draws.

    Examples
    --------
    >>> climb(np.arange(100.0))
    90.0
    >>> climb(np.tile([1.0, 2.0], 50))
    0.0
    """
    if len(trace) < FEWEST:
        return float("nan")
    n = len(trace) // BATCHES
    means = np.asarray(trace[-n * BATCHES :], dtype=np.float64).reshape(BATCHES, n).mean(axis=1)
    place = np.arange(BATCHES) - (BATCHES - 1) / 2
    slope = place @ means / (place @ place)
    left = means - means.mean() - slope * place
    error = np.sqrt(left @ left / (BATCHES - 2) / (place @ place))
    return float(slope * (BATCHES - 1)) if slope > SURE * error else 0.0
