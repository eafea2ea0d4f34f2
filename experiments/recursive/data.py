"""The data sets: mixtures of Gaussians and of unigrams, drawn anew for every seed.

The paper gives their laws (sections 4.2 and 4.4), and its public code the numbers.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import evermix as em
from evermix.families.base import Family

__all__ = ["CLUSTERS", "TOPICS", "Data", "gaussians", "public_gaussians", "unigrams"]

ROWS, CLUSTERS, FEATURES = 100, 3, 2  # of the Gaussians
VARIANCE, MEAN_VARIANCE = 0.3, 6.0
DOCUMENTS, TOPICS, WORDS, LENGTH = 150, 7, 8, 120  # of the unigrams
BETA, STICKS = 0.3, 4.6


class Data(NamedTuple):
    """Rows in the order in which they arrive, their true clusters, and the family to learn with.

    Attributes
    ----------
    X : array (N, D) or CSR matrix (N, V)
    labels : int array (N,)
    family : Family
    """

    X: Any
    labels: np.ndarray
    family: Family


def gaussians(seed: int) -> Data:
    """Return rows of 3 round Gaussians of one variance, all as likely, and their true family."""
    rng = np.random.default_rng(seed)
    means = np.sqrt(MEAN_VARIANCE) * rng.standard_normal((CLUSTERS, FEATURES))
    labels = rng.integers(CLUSTERS, size=ROWS)
    X = means[labels] + np.sqrt(VARIANCE) * rng.standard_normal((ROWS, FEATURES))
    return Data(X, labels, em.FixedGaussian(variance=VARIANCE, mean_variance=MEAN_VARIANCE))


def public_gaussians(n: int = 10) -> list[Data]:
    """Return the same from the generator and the seed of the paper's public code: its data sets."""
    rng, found = np.random.RandomState(1), []
    for _ in range(n):
        labels = rng.choice(CLUSTERS, size=ROWS)
        spread = MEAN_VARIANCE * np.eye(FEATURES)
        means = rng.multivariate_normal(np.zeros(FEATURES), spread, size=CLUSTERS)
        noise = VARIANCE * np.eye(FEATURES)
        X = np.array([rng.multivariate_normal(means[k], noise) for k in labels])
        found.append(Data(X, labels, em.FixedGaussian(VARIANCE, MEAN_VARIANCE)))
    return found


def unigrams(seed: int) -> Data:
    """Return documents of 7 topics as counts, and their true family.

    Topics are as likely as the first sticks of a Dirichlet process make them, the last has all that
    is left; and every topic has a document.
    """
    rng = np.random.default_rng(seed)
    broken = np.append(rng.beta(1.0, STICKS, size=TOPICS - 1), 1.0)
    shares = broken * np.cumprod(np.append(1.0, 1.0 - broken[:-1]))
    topics = rng.dirichlet(np.full(WORDS, BETA), size=TOPICS)
    labels = np.zeros(DOCUMENTS, dtype=np.int64)
    while len(np.unique(labels)) < TOPICS:
        labels = rng.choice(TOPICS, p=shares, size=DOCUMENTS)
    X = np.array([rng.multinomial(LENGTH, topics[z]) for z in labels], dtype=np.float64)
    return Data(sparse.csr_array(X), labels, em.Multinomial(alpha=BETA))
