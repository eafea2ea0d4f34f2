"""A unit of processor time, so that costs measured on different days and machines compare.

One yardstick is one iteration of scikit-learn's BayesianGaussianMixture with 25 components and full
covariances on the edges, on one thread.
"""

import time
import warnings
from functools import cache
from statistics import median

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

from experiments.memoized.data import edges

__all__ = ["yardstick"]

ITERATIONS, REPEATS = 3, 3


@cache
def yardstick() -> float:
    """Return the seconds of processor time that one yardstick takes here and now."""
    X, _ = edges()
    with threadpool_limits(1):
        _seconds(X, 1)  # warm
        longer = [_seconds(X, 1 + ITERATIONS) - _seconds(X, 1) for _ in range(REPEATS)]
    return median(longer) / ITERATIONS


def _seconds(X: np.ndarray, iterations: int) -> float:
    model = BayesianGaussianMixture(
        n_components=25,
        max_iter=iterations,
        tol=0.0,
        init_params="random_from_data",
        random_state=0,
    )
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is not asked to converge
        model.fit(X)
    return time.process_time() - began
