"""Rows per second and agreement with the truth, where rows come one at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np
from river import base, cluster
from sklearn.metrics import adjusted_rand_score

import evermix as em
from benchmarks.common import interleaved, target
from evermix.adapters.river import RiverMixture

__all__ = ["blobs", "single_rows"]

ROWS = 20_000
SETTLED = 3_000  # rows after which most reviews are behind a stream
LEARN, PREDICT = 5_000, 3_000  # rows per second that are promised: learnt; predicted, then learnt

MODELS: dict[str, Callable[[], base.Clusterer]] = {
    "RiverMixture": lambda: RiverMixture(seed=0),
    "KMeans given K": lambda: cluster.KMeans(n_clusters=4, seed=0),
    "DBSTREAM": lambda: cluster.DBSTREAM(),
}


def blobs(repeats: int) -> dict[str, Any]:
    """Predict and then learn each row of four blobs that lie apart, from the first row on."""
    X, truth = _rows(2)
    rows = [{"x": x, "y": y} for x, y in X.tolist()]
    found: dict[str, list[int]] = {}

    def work(name: str) -> Callable[[], None]:
        def call() -> None:
            model, labels = MODELS[name](), []
            for x in rows:
                labels.append(model.predict_one(x))
                model.learn_one(x)
            found[name] = labels

        return call

    seconds = interleaved({name: work(name) for name in MODELS}, repeats)
    ours = seconds["RiverMixture"]
    agreement = {name: adjusted_rand_score(truth, labels) for name, labels in found.items()}
    return {
        "rows": ROWS,
        "rows per second": {name: round(ROWS / each) for name, each in seconds.items()},
        "ARI of predictions": {name: round(value, 4) for name, value in agreement.items()},
        "time of DBSTREAM over ours": round(seconds["DBSTREAM"] / ours, 2),
        "promise: rows per second": target(ROWS / ours, at_least=PREDICT),
        "promise: ARI": target(agreement["RiverMixture"], at_least=0.95),
    }


def single_rows(repeats: int) -> dict[str, Any]:
    """Learn rows of ten columns, one per call of ``partial_fit``; predict each before."""
    X, _ = _rows(10)
    mixtures: dict[str, em.Mixture] = {}

    def first(name: str) -> Callable[[], None]:
        def call() -> None:
            mixtures[name] = em.Mixture(random_state=0)
            _learn(mixtures[name], X[:SETTLED], name == "predict, then learn")

        return call

    def later(name: str) -> Callable[[], None]:
        return lambda: _learn(mixtures[name], X[SETTLED:], name == "predict, then learn")

    names = ("learn", "predict, then learn")
    work = {(part.__name__, name): part(name) for name in names for part in (first, later)}
    seconds = interleaved(work, repeats)
    whole = {name: seconds["first", name] + seconds["later", name] for name in names}
    n = ROWS - SETTLED
    return {
        "rows": ROWS,
        "rows per second, reviews included": {k: round(ROWS / v) for k, v in whole.items()},
        f"seconds of the first {SETTLED} rows": {k: seconds["first", k] for k in names},
        "promise: rows per second after them, learnt": target(
            n / seconds["later", "learn"], at_least=LEARN
        ),
        "promise: rows per second after them, predicted and learnt": target(
            n / seconds["later", "predict, then learn"], at_least=PREDICT
        ),
    }


def _learn(mix: em.Mixture, X: np.ndarray, predict: bool) -> None:
    known = hasattr(mix, "learner_")
    for i in range(len(X)):
        row = X[i : i + 1]
        if predict and (known or i):
            mix.predict(row)
        mix.partial_fit(row)


def _rows(D: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (ROWS, D) of four Gaussian blobs, and their true labels."""
    rng = np.random.default_rng(0)
    centres = 10.0 * np.eye(4, D) if D > 2 else 10.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    truth = rng.integers(4, size=ROWS)
    return centres[truth] + rng.normal(size=(ROWS, D)), truth
