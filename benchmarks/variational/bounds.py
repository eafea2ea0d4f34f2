"""The bound against time: how soon evermix reaches what scikit-learn reaches.

Both have the same model and prior. After every iteration of scikit-learn its responsibilities are
scored with our exact bound (constants and all), so that the two compare.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import evermix as em
from benchmarks.streaming.vectors import rows
from benchmarks.variational.laps import FULL, MEMOIZED, THREADS
from benchmarks.variational.models import ALPHA, Point, family, points, sklearn_points
from experiments.memoized.textbook import bound, summary

__all__ = ["bounds"]

ITERATIONS, LAPS = 20, 50
TOLERANCE = 1e-6  # of the bound, within which it counts as reached
ENGINES = {
    "full": replace(FULL, laps=LAPS, tol=1.0),
    "memoized": replace(MEMOIZED, laps=LAPS, tol=1.0),
    "births and merges": em.MemoizedVB(laps=LAPS, batch_size=1_000, tol=1.0),
}


def bounds(repeats: int) -> dict[str, Any]:
    """Fit once with everything, on two threads, and say when each reached scikit-learn's bound."""
    del repeats  # one round takes minutes, and the times differ by factors
    X, _ = rows()
    ours = family().candidates(X)[0]
    with threadpool_limits(THREADS):
        points(replace(FULL, laps=1), X[:2_000])  # warm
        peer = sklearn_points(X, ITERATIONS, lambda r: bound(ours, ALPHA, summary(ours, X, r)))
        found = {name: points(engine, X) for name, engine in ENGINES.items()}
    reached = {name: _reached(of, peer[-1].bound) for name, of in found.items()}
    return {
        "rows": X.shape[0],
        "threads": THREADS,
        "prior": {"alpha": ALPHA, "kappa": ours.kappa, "nu": ours.nu, "scale": "identity"},
        "last bound": {name: round(of[-1].bound, 1) for name, of in _all(found, peer).items()},
        "K": {name: of[-1].K for name, of in _all(found, peer).items()},
        "laps": {name: len(of) for name, of in _all(found, peer).items()},
        "seconds": {name: round(of[-1].seconds, 2) for name, of in _all(found, peer).items()},
        "seconds to sklearn's last bound": reached,
        "speed-up to sklearn's last bound": {
            name: None if value is None else round(peer[-1].seconds / value, 2)
            for name, value in reached.items()
        },
        "bound by seconds": {
            name: [[round(point.seconds, 3), round(point.bound, 1)] for point in of]
            for name, of in _all(found, peer).items()
        },
    }


def _all(found: dict[str, list[Point]], peer: list[Point]) -> dict[str, list[Point]]:
    return {**found, "sklearn": peer}


def _reached(found: list[Point], value: float) -> float | None:
    """Return the seconds after which a fit has reached a bound, None if it never has."""
    enough = value - TOLERANCE * abs(value)
    times = [point.seconds for point in found if point.bound >= enough]
    return float(np.round(times[0], 3)) if times else None
