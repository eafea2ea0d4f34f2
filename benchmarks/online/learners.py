"""What learns a stream of Gaussian clusters: our online engines, and those of River, scikit-learn.

Everybody gets the spread of the clusters: radii, penalties and variances come from it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2
from sklearn.cluster import Birch, MiniBatchKMeans

import evermix as em
from evermix.engines import ENGINES, Engine

__all__ = ["CLUSTERS", "MEAN_VARIANCE", "Learner", "learners"]

CLUSTERS = 10
MEAN_VARIANCE = 100.0  # of the centres of clusters, in each column; that within them is 1
RARE = 1e-6  # share of rows that lie farther from their centre than the penalty of DP-means


@dataclass(frozen=True)
class Learner:
    """How to learn a stream, part by part, and to label rows afterwards."""

    start: Callable[[], Any]
    learn: Callable[[Any, Any], None] = lambda model, part: model.partial_fit(part)
    label: Callable[[Any, Any], Any] = lambda model, rows: model.predict(rows)
    prepared: Callable[[np.ndarray], Any] = lambda rows: rows  # as it wants them, untimed
    clusters: Callable[[Any], int] = lambda model: model.n_clusters_
    ours: bool = False


def learners(D: int) -> dict[str, Learner]:
    """Return all that can learn rows of D columns here, by name."""
    return _ours(D) | _of_sklearn(D) | _of_river(D)


def _ours(D: int) -> dict[str, Learner]:
    """Every engine that streams; all but DPMeans with their defaults."""
    settings = {"DPMeans": {"penalty": float(chi2.isf(RARE, D))}}
    engines = {
        name: kind(**settings.get(name, {})) for name, kind in ENGINES.items() if kind.streams
    }
    family = em.FixedGaussian(variance=1.0, mean_variance=MEAN_VARIANCE)

    def start(engine: Engine) -> Callable[[], em.Mixture]:
        return lambda: em.Mixture(family, em.DP(alpha=1.0), engine, random_state=0)

    return {name: Learner(start(engine), ours=True) for name, engine in engines.items()}


def _of_sklearn(D: int) -> dict[str, Learner]:
    """A row lies sqrt(D) from its centre; a subcluster of Birch must have room for that."""
    return {
        "Birch": Learner(
            lambda: Birch(threshold=1.3 * np.sqrt(D), n_clusters=None),
            clusters=lambda model: len(model.subcluster_centers_),
        ),
        "MiniBatchKMeans, given K": Learner(
            lambda: MiniBatchKMeans(CLUSTERS, n_init=1, random_state=0),
            clusters=lambda model: model.n_clusters,
        ),
    }


def _of_river(D: int) -> dict[str, Learner]:
    try:
        from river.cluster import DBSTREAM, DenStream
    except ImportError:
        return {}

    def learn(model: Any, part: list[dict[int, float]]) -> None:
        for row in part:
            model.learn_one(row)

    def label(model: Any, rows: list[dict[int, float]]) -> list[int]:
        return [model.predict_one(row) for row in rows]

    def prepared(rows: np.ndarray) -> list[dict[int, float]]:
        return [dict(enumerate(row)) for row in rows.tolist()]

    def learner(start: Callable[[], Any], clusters: Callable[[Any], int]) -> Learner:
        return Learner(start, learn, label, prepared, clusters)

    return {
        "DBSTREAM": learner(
            lambda: DBSTREAM(
                clustering_threshold=2.0 * np.sqrt(D), fading_factor=1e-4, cleanup_interval=1000
            ),
            lambda model: model.n_clusters,
        ),
        "DenStream": learner(
            lambda: DenStream(
                decaying_factor=1e-3,
                beta=0.5,
                mu=2.5,
                epsilon=1.2 * np.sqrt(D),
                n_samples_init=200,
                stream_speed=100,
            ),
            lambda model: len(model.p_micro_clusters),  # clusters are made of them when asked
        ),
    }
