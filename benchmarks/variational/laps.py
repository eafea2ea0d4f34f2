"""The time of a lap at a fixed number of clusters, beside an iteration of scikit-learn."""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import evermix as em
from benchmarks.common import rounds
from benchmarks.streaming.vectors import rows
from benchmarks.variational.models import K, Point, points, sklearn_points

__all__ = ["FULL", "MEMOIZED", "laps"]

THREADS, LAPS = 2, 3
FULL = em.FullVB(laps=LAPS, truncation=K, start="kmeans++", tol=0.0)
MEMOIZED = em.MemoizedVB(
    laps=LAPS,
    batch_size=1_000,
    truncation=K,
    start="kmeans++",
    births=False,
    merges=False,
    deletes=False,
    tol=0.0,
)


def laps(repeats: int) -> dict[str, Any]:
    """Time laps of FullVB and MemoizedVB and iterations of scikit-learn in turn, on two threads.

    It is wall time, for the sake of the threads; the first lap, and all that comes before, is left
    out.
    """
    X, _ = rows()
    work = {
        "full": lambda: points(FULL, X),
        "memoized": lambda: points(MEMOIZED, X),
        "sklearn": lambda: sklearn_points(X, LAPS),
    }
    with threadpool_limits(THREADS):
        points(FULL, X[:2_000])  # warm
        seconds = rounds({name: _each(call) for name, call in work.items()}, repeats)
    return {
        "rows": X.shape[0],
        "K": K,
        "threads": THREADS,
        "seconds of a lap": {name: round(value, 3) for name, value in seconds.items()},
        "speed-up over an iteration of sklearn": {
            name: round(seconds["sklearn"] / seconds[name], 2) for name in ("full", "memoized")
        },
    }


def _each(call: Any) -> Any:
    def seconds() -> float:
        found: list[Point] = call()
        return float(np.median(np.diff([point.seconds for point in found])))

    return seconds
