"""What a user would take for texts and sentence embeddings instead."""

import warnings

from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from benchmarks.quality.methods.base import Answer, Method, NotThere
from benchmarks.quality.methods.batch import clustered_by_density
from benchmarks.quality.methods.gsdmm import gsdmm
from benchmarks.quality.sets.base import LabelledSet

__all__ = ["METHODS"]

SWEEPS, ALPHA, BETA = 30, 0.1, 0.1
COMPONENTS = 100  # of the SVD
STARTS = 10
NEIGHBOURS, DIMENSIONS, SMALLEST = 15, 5, 10  # as in BERTopic


def collapsed_gibbs(one: LabelledSet, seed: int) -> Answer:
    """GSDMM with room for 100 clusters, or for twice as many as there are."""
    return Answer(gsdmm(one.X, max(100, 2 * one.K), ALPHA, BETA, SWEEPS, seed))


def svd_kmeans_given_k(one: LabelledSet, seed: int) -> Answer:
    """k-means with the true K on tf-idf after an SVD, rows of unit length."""
    weighted = TfidfTransformer().fit_transform(one.X)
    components = min(COMPONENTS, one.d - 1)
    X = normalize(TruncatedSVD(components, random_state=seed).fit_transform(weighted))
    return Answer(KMeans(one.K, n_init=STARTS, random_state=seed).fit_predict(X))


def umap_hdbscan(one: LabelledSet, seed: int) -> Answer:
    """UMAP to 5 dimensions, then HDBSCAN, with the settings of BERTopic."""
    try:
        from umap import UMAP
    except ImportError as error:
        raise NotThere("umap-learn is not installed: pip install 'evermix[bench]'.") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own: a seed means one thread
        reduced = UMAP(
            n_neighbors=NEIGHBOURS,
            n_components=DIMENSIONS,
            min_dist=0.0,
            metric="cosine",
            random_state=seed,
        ).fit_transform(one.X)
    return clustered_by_density(reduced, SMALLEST)


METHODS = (
    Method("gsdmm", "peers", ("texts",), collapsed_gibbs, warm=True),
    Method("svd_kmeans_given_k", "peers", ("texts",), svd_kmeans_given_k),
    Method("umap_hdbscan", "peers", ("embeddings",), umap_hdbscan, warm=True),
)
