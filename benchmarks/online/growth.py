"""Time per row against the length of the stream, at the same number of clusters."""

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score as ami

from benchmarks.common import rounds, target
from benchmarks.online.learners import CLUSTERS, MEAN_VARIANCE, Learner, learners

__all__ = ["ten_columns", "two_columns"]

LENGTHS = (5_000, 20_000, 100_000)
PART = 1_000  # rows that are learnt at a time; the first part starts the clock
ASKED = 1_000  # rows that are labelled when a stream has ended
GROWTH = 1.3  # of the time per row, from the shortest stream to the longest, at most


def two_columns(repeats: int) -> dict[str, Any]:
    """Learn clusters in the plane, some of which overlap."""
    return _compared(2, repeats)


def ten_columns(repeats: int) -> dict[str, Any]:
    """Learn clusters in ten dimensions, which lie apart."""
    return _compared(10, repeats)


def rows(n: int, D: int) -> tuple[np.ndarray, np.ndarray]:
    """Return shuffled rows (n, D) of equally many clusters each, and their true labels (n,)."""
    rng = np.random.default_rng(0)
    centres = np.sqrt(MEAN_VARIANCE) * rng.normal(size=(CLUSTERS, D))
    labels = rng.integers(CLUSTERS, size=n)
    return centres[labels] + rng.normal(size=(n, D)), labels


def _compared(D: int, repeats: int) -> dict[str, Any]:
    X, truth = rows(LENGTHS[-1] + ASKED, D)
    X, asked, truth = X[:-ASKED], X[-ASKED:], truth[-ASKED:]
    everybody, models = learners(D), {}
    for learner in everybody.values():
        _pass(learner, X[: LENGTHS[0]])  # loads what is compiled

    def timed(name: str, n: int) -> Callable[[], float]:
        def call() -> float:
            models[name, n], seconds = _pass(everybody[name], X[:n])
            return seconds

        return call

    work = {(name, n): timed(name, n) for n, name in product(LENGTHS, everybody)}
    seconds = rounds(work, repeats)
    return {
        "rows": list(LENGTHS),
        "learners": {
            name: _summary(
                learner,
                [models[name, n] for n in LENGTHS],
                [1e6 * seconds[name, n] / (n - PART) for n in LENGTHS],
                seconds[name, LENGTHS[-1]] / seconds["ADF", LENGTHS[-1]],
                asked,
                truth,
            )
            for name, learner in everybody.items()
        },
        "left out": [] if "DBSTREAM" in everybody else ["DBSTREAM, DenStream: no River here"],
    }


def _pass(learner: Learner, X: np.ndarray) -> tuple[Any, float]:
    """Learn a stream part by part; return the model and seconds, but for the first part."""
    model = learner.start()
    parts = [learner.prepared(X[at : at + PART]) for at in range(0, len(X), PART)]
    learner.learn(model, parts[0])
    began = time.process_time()
    for part in parts[1:]:
        learner.learn(model, part)
    return model, time.process_time() - began


def _summary(
    learner: Learner,
    models: list[Any],
    microseconds: list[float],
    ratio: float,
    asked: np.ndarray,
    truth: np.ndarray,
) -> dict[str, Any]:
    growth = microseconds[-1] / microseconds[0]
    labels = learner.label(models[-1], learner.prepared(asked))
    return {
        "microseconds per row": [round(value, 2) for value in microseconds],
        "growth": target(growth, below=GROWTH) if learner.ours else round(growth, 3),
        "over ADF": round(ratio, 2),
        "K": [learner.clusters(model) for model in models],
        "AMI": round(ami(truth, labels), 3),
    }
