"""Real vectors and well-known toys: Gagolewski's suites, scikit-learn's sets, images after PCA."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from sklearn import datasets
from sklearn.decomposition import PCA

from benchmarks.common import arrays, find
from benchmarks.quality.sets.base import LabelledSet, Recipe

__all__ = ["benchmark", "images", "toys"]

ROWS = 1_000  # of each toy that is drawn
MNIST, MNIST_FEATURES = 3_000, 50
CHARACTERS, DRAWINGS, OMNIGLOT_FEATURES = 60, 1_200, 20


def _recipe(name: str, rows: Callable[[], tuple[np.ndarray, np.ndarray]]) -> Recipe:
    def make(seed: int) -> LabelledSet:
        del seed
        X, y = rows()
        return LabelledSet(name, "vectors", np.asarray(X, np.float64), np.asarray(y, np.int64))

    return Recipe(name, "vectors", make)


def benchmark() -> Iterator[Recipe]:
    """Yield the sets of quality/vectors.npz as they are: columns of some have other scales."""
    data = arrays("quality/vectors.npz")
    for name in sorted({key.rpartition(".")[0] for key in data}):
        pair = data[f"{name}.X"], data[f"{name}.y"]
        yield _recipe(name, lambda pair=pair: pair)


def toys() -> Iterator[Recipe]:
    """Yield the sets that come with scikit-learn, and those of its page that compares clusterers.

    Iris, wine and breast_cancer keep their units, so their columns have other scales.
    """
    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield _recipe(name, partial(getattr(datasets, f"load_{name}"), return_X_y=True))
    yield _recipe("digits_pca16", _digits_pca)
    noisy = {"n_samples": ROWS, "noise": 0.05, "random_state": 30}
    yield _recipe("moons", partial(datasets.make_moons, **noisy))
    yield _recipe("circles", partial(datasets.make_circles, factor=0.5, **noisy))
    yield _recipe("toy_blobs", partial(datasets.make_blobs, n_samples=ROWS, random_state=30))
    yield _recipe("toy_aniso", _aniso)
    spreads = {"cluster_std": [1.0, 2.5, 0.5], "random_state": 170}
    yield _recipe("toy_varied", partial(datasets.make_blobs, n_samples=ROWS, **spreads))


def _digits_pca() -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.load_digits(return_X_y=True)
    return PCA(16, svd_solver="full").fit_transform(X), y


def _aniso() -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.make_blobs(n_samples=ROWS, random_state=170)
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y


def images() -> Iterator[Recipe]:
    """Yield handwritten digits and characters as principal components, learnt without labels."""
    find("mnist/mnist.npz")
    yield _recipe("mnist_pca50", _mnist)
    find("omniglot/omniglot_28x28.npz")
    yield _recipe("omniglot_pca20", _omniglot)


def _mnist() -> tuple[np.ndarray, np.ndarray]:
    """Random training images; the components are those of all 60,000."""
    data = arrays("mnist/mnist.npz")
    pixels = data["x_train"].reshape(len(data["x_train"]), -1) / np.float32(255)
    some = np.random.default_rng(0).permutation(len(pixels))[:MNIST]
    pca = PCA(MNIST_FEATURES, svd_solver="covariance_eigh").fit(pixels)
    return pca.transform(pixels[some]), data["y_train"][some]


def _omniglot() -> tuple[np.ndarray, np.ndarray]:
    """The first 60 characters, 20 drawings each; the components are those of all 32,460."""
    data = arrays("omniglot/omniglot_28x28.npz")
    pixels = data["images"].reshape(len(data["images"]), -1) / np.float32(255)
    pca = PCA(OMNIGLOT_FEATURES, svd_solver="covariance_eigh").fit(pixels)
    return pca.transform(pixels[:DRAWINGS]), data["character"][:DRAWINGS]
