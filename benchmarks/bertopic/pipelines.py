"""The same pipeline of BERTopic with different clusterers, as its online mode wants them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from bertopic import BERTopic
from bertopic.dimensionality import BaseDimensionalityReduction
from bertopic.vectorizers import OnlineCountVectorizer
from river import cluster, stream
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import IncrementalPCA

import evermix as em
from evermix.adapters.bertopic import MixtureBERTopic

__all__ = ["PIPELINES", "Build"]

Build = Callable[[int], Any]
COMPONENTS = 5  # as in the example of BERTopic's documentation
THRESHOLDS = {"none": 1.1, "pca": 0.2}  # of DBSTREAM, the best of several by the labels
FADING = 0.001  # also of DBSTREAM


class RiverClusterer:
    """A clusterer of River, one row at a time, with the methods that BERTopic calls."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def partial_fit(self, X: np.ndarray) -> "RiverClusterer":
        """Learn rows, and label them when all are learnt."""
        for row, _ in stream.iter_array(X):
            self.model.learn_one(row)
        self.labels_ = self.predict(X)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return labels."""
        return np.array([self.model.predict_one(row) for row, _ in stream.iter_array(X)])


def _reduction(name: str) -> Any:
    return BaseDimensionalityReduction() if name == "none" else IncrementalPCA(COMPONENTS)


def _peer(reduction: str, clusterer: Callable[[int], Any]) -> Build:
    def build(seed: int) -> BERTopic:
        return BERTopic(
            umap_model=_reduction(reduction),
            hdbscan_model=clusterer(seed),
            vectorizer_model=OnlineCountVectorizer(stop_words="english"),
        )

    return build


def _ours(reduction: str) -> Build:
    def build(seed: int) -> MixtureBERTopic:
        return MixtureBERTopic(em.Mixture(random_state=seed), umap_model=_reduction(reduction))

    return build


def _kmeans(k: int) -> Callable[[int], Any]:
    return lambda seed: MiniBatchKMeans(k, random_state=seed, n_init=3)


def _dbstream(**settings: float) -> Callable[[int], Any]:
    return lambda seed: RiverClusterer(cluster.DBSTREAM(**settings))


PIPELINES: dict[str, Build] = {}
for _name in ("none", "pca"):
    PIPELINES |= {
        f"evermix, {_name}": _ours(_name),
        f"MiniBatchKMeans 50, {_name}": _peer(_name, _kmeans(50)),
        f"MiniBatchKMeans given K, {_name}": _peer(_name, _kmeans(20)),
        f"DBSTREAM, {_name}": _peer(_name, _dbstream()),
        f"DBSTREAM tuned, {_name}": _peer(
            _name, _dbstream(clustering_threshold=THRESHOLDS[_name], fading_factor=FADING)
        ),
    }
