"""The data sets: edges, digits, bars, MNIST and tiny images.

Rows are float64. Edges and bars are drawn with fixed seeds, so they are the same everywhere.
"""

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from experiments.common import arrays

__all__ = [
    "FEATURES",
    "GRID",
    "Images",
    "bars",
    "digits",
    "edge_covariances",
    "edges",
    "mnist",
    "tiny_images",
]

SIDE, NOISE, JITTER = 5, 0.005, 1e-5  # of the patches with an edge
GRID, WORDS, BACKGROUND = 10, 100, 0.05  # of the documents of bars
FEATURES = 50  # that PCA keeps of images


def edges(n: int = 100_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return 5 x 5 patches with an edge (n, 25), and which of 8 edges each has (n,).

    Every edge is a Gaussian of mean zero with a covariance of its own (section 4.1).
    """
    covariances = edge_covariances()
    rng = np.random.RandomState(seed)
    labels = rng.randint(len(covariances), size=n)
    X = np.empty((n, SIDE * SIDE))
    for k, covariance in enumerate(covariances):
        own = labels == k
        noise = rng.standard_normal((own.sum(), SIDE * SIDE))
        X[own] = noise @ np.linalg.cholesky(covariance).T
    return X, labels


def edge_covariances() -> np.ndarray:
    """Return the 8 covariances (8, 25, 25): each is that of 2,500 noisy multiples of one edge."""
    D = SIDE * SIDE
    covariances = []
    for k, edge in enumerate(_edges()):
        rng = np.random.RandomState(k)
        noise = NOISE * rng.standard_normal((100 * D, D))
        patches = noise + rng.standard_normal((100 * D, 1)) * edge
        covariances.append(np.cov(patches.T) + JITTER * np.eye(D))
    return np.array(covariances)


def _edges() -> list[np.ndarray]:
    """Return 8 binary patches (25,): a straight edge and three slanted ones, each turned too."""
    i, j = np.indices((SIDE, SIDE))
    shapes = [i < SIDE // 2, j <= i, j <= i + 2, j <= i - 2]
    return [np.rot90(shape, turn).ravel().astype(float) for turn in (0, 1) for shape in shapes]


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's digits projected by PCA (1797, 20), and which digit each is (1797,)."""
    data = load_digits()
    return PCA(20, svd_solver="full").fit_transform(data.data), data.target


def bars(n: int = 20_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return documents of 100 words as counts (n, 100), and the topic of each (n,).

    The words are the cells of a 10 x 10 grid, the 20 topics its rows and columns; one word in 20
    comes from anywhere.
    """
    V = GRID * GRID
    cells = np.eye(GRID)
    rows, columns = np.repeat(cells, GRID, axis=1), np.tile(cells, GRID)
    topics = (1 - BACKGROUND) * np.vstack([rows, columns]) / GRID + BACKGROUND / V
    rng = np.random.RandomState(seed)
    labels = rng.randint(len(topics), size=n)
    X = np.empty((n, V))
    for k, topic in enumerate(topics):
        own = labels == k
        X[own] = rng.multinomial(WORDS, topic, size=own.sum())
    return X, labels


class Images(NamedTuple):
    """Images after PCA, in random order.

    Attributes
    ----------
    X : array (N, 50)
    labels : int array (N,)
    names : array of str (classes,)
        What each label is called.
    centre : array (pixels,) or None
        The mean image; None where only the projection is known.
    directions : array (50, pixels) or None
        The principal directions: an image is about ``centre + x @ directions``.
    """

    X: np.ndarray
    labels: np.ndarray
    names: np.ndarray
    centre: np.ndarray | None = None
    directions: np.ndarray | None = None

    def first(self, n: int) -> "Images":
        """Return the first n images."""
        return self._replace(X=self.X[:n], labels=self.labels[:n])


def mnist() -> Images:
    """Return the 60,000 training images of MNIST, pixels in [0, 1], projected to 50 dimensions."""
    data = arrays("mnist/mnist.npz")
    pixels = data["x_train"].reshape(len(data["x_train"]), -1) / 255.0
    pca = PCA(FEATURES, svd_solver="covariance_eigh").fit(pixels)
    order = np.random.default_rng(0).permutation(len(pixels))
    X, labels = pca.transform(pixels[order]), data["y_train"][order].astype(np.int64)
    return Images(X, labels, np.arange(10).astype(str), pca.mean_, pca.components_)


def tiny_images() -> Images:
    """Return 100,000 images of Tiny ImageNet, projected to 50 dimensions, of 200 classes."""
    data = arrays("tiny_imagenet32/tiny_imagenet_pca50.npz")
    order = np.random.default_rng(0).permutation(len(data["X"]))
    X, labels = data["X"][order].astype(np.float64), data["label"][order].astype(np.int64)
    return Images(X, labels, data["name"])
