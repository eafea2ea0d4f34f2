"""Denoising by the expected patch log likelihood of a mixture (Zoran and Weiss 2011).

All overlapping patches shall be likely and the image near the noisy one. Half-quadratic splitting
takes turns: every patch is cleaned by the Wiener filter of its likeliest cluster, as if it had
noise of variance 1 / beta left; then the image is the weighted mean of the cleaned patches and the
noisy image. beta rises from turn to turn.
"""

from typing import NamedTuple

import numpy as np

from experiments.memoized.bsds import SIDE, basis, patches

__all__ = ["Clusters", "denoise"]

SCHEDULE = (1.0, 4.0, 8.0, 16.0, 32.0)  # beta, in units of 1 / variance of the noise
CHUNK = 4_096  # patches whose products are held at a time


class Clusters(NamedTuple):
    """A mixture of Gaussians of mean zero, in the basis of patches.

    Attributes
    ----------
    weights : array (K,)
    variances : array (K, 63)
        Eigenvalues of the covariance of each cluster.
    directions : array (K, 63, 63)
        Eigenvectors, as columns.
    """

    weights: np.ndarray
    variances: np.ndarray
    directions: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray, covariances: np.ndarray) -> "Clusters":
        """Return clusters with these weights (K,) and covariances (K, 63, 63)."""
        variances, directions = np.linalg.eigh(covariances)
        return cls(weights, np.maximum(variances, 0.0), directions)


def denoise(image: np.ndarray, sd: float, clusters: Clusters) -> np.ndarray:
    """Return an image (H, W) freed from white noise of this standard deviation."""
    estimate = image
    for beta in SCHEDULE:
        # The noisy image counts as often as there are patches over a pixel. At the border there are
        # fewer than 64; a fixed weight of 64 would leave the noise there.
        estimate = (image + beta * _cleaned(estimate, clusters, sd**2 / beta)) / (1.0 + beta)
    return estimate


def _cleaned(image: np.ndarray, clusters: Clusters, variance: float) -> np.ndarray:
    """Return the mean of all cleaned patches over each pixel, (H, W)."""
    views = patches(image)
    flat, directions = views.reshape(-1, SIDE**2), basis()
    X = flat @ directions.T
    clean = _filter(X, clusters, variance) @ directions + flat.mean(axis=1, keepdims=True)
    clean = clean.reshape(views.shape)
    total, count = np.zeros_like(image), np.zeros_like(image)
    H, W = views.shape[:2]
    for i, j in np.ndindex(SIDE, SIDE):
        total[i : i + H, j : j + W] += clean[:, :, i, j]
        count[i : i + H, j : j + W] += 1.0
    return total / count


def _filter(X: np.ndarray, clusters: Clusters, variance: float) -> np.ndarray:
    """Return patches X (N, 63) after the Wiener filter of their likeliest clusters."""
    _, variances, directions = clusters
    gains = variances / (variances + variance)
    filters = (directions * gains[:, None, :]) @ directions.transpose(0, 2, 1)
    offsets = np.log(clusters.weights) - 0.5 * np.log1p(variances / variance).sum(axis=1)
    labels = _likeliest(X / np.sqrt(variance), filters, offsets)
    clean = np.empty_like(X)
    for k in np.unique(labels):
        own = np.flatnonzero(labels == k)
        clean[own] = X[own] @ filters[k]
    return clean


def _likeliest(X: np.ndarray, filters: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the cluster (N,) of largest posterior probability for rows X (N, D) of unit noise.

    With covariance S + I and filter F = S (S + I)^-1, the log density is x^T F x / 2 - x^T x / 2
    and a constant of the cluster; x^T x is the same for all. A quadratic form is the inner product
    of the products x_i x_j, i <= j, with the coefficients, so all are one matrix product.
    """
    D = X.shape[1]
    i, j = np.triu_indices(D)
    coefficients = np.where(i == j, 0.5, 1.0) * filters[:, i, j]
    # Single precision: the answer only depends on which is largest.
    coefficients, x = coefficients.astype(np.float32), X.astype(np.float32)
    labels = np.empty(len(X), dtype=np.int64)
    for start in range(0, len(X), CHUNK):
        rows = x[start : start + CHUNK].T.copy()
        products = np.concatenate([rows[d] * rows[d:] for d in range(D)])
        scores = coefficients @ products
        labels[start : start + CHUNK] = np.argmax(scores + offsets[:, None], axis=0)
    return labels
