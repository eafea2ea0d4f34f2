"""Documents with times, to learn and to foretell: abstracts, and drawn ones."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.common import arrays, counts

__all__ = ["Documents", "abstracts", "drifting"]

TIMES, EACH, LENGTH = 5, 400, 100  # of the drawn documents
WORDS, TOPICS, BETA = 5000, 50, 0.05
STEP = 1.0  # of the log share of a topic from time to time


class Documents(NamedTuple):
    """Counts (D, V) of words and times (D,) of documents, those to learn and those held out."""

    train: sparse.csr_array
    times: np.ndarray
    test: sparse.csr_array
    test_times: np.ndarray


def abstracts() -> Documents:
    """Return the abstracts of NeurIPS 2007 to 2011, a fifth of them held out."""
    path = "neurips_abstracts/neurips2007_2011"
    return _split(counts(f"{path}.npz"), arrays(f"{path}_meta.npz")["year"])


def drifting() -> Documents:
    """Return documents of 50 topics whose shares walk at random over time."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(WORDS, BETA), size=TOPICS)
    shares = np.cumsum(STEP * rng.standard_normal((TIMES, TOPICS)), axis=0)
    rows = []
    for share in np.exp(shares):
        for theta in rng.dirichlet(3.0 * share / share.sum(), size=EACH):
            rows.append(rng.multinomial(LENGTH, theta @ topics))
    X = sparse.csr_array(np.array(rows, dtype=np.float64))
    return _split(X, np.repeat(np.arange(TIMES), EACH))


def _split(X: sparse.csr_array, times: np.ndarray) -> Documents:
    """Hold out a fifth, and leave out words that are in no other document: some peers must."""
    order, fifth = np.random.default_rng(0).permutation(X.shape[0]), X.shape[0] // 5
    train, test = np.sort(order[fifth:]), np.sort(order[:fifth])
    known = np.flatnonzero(X[train].sum(axis=0))
    X = X[:, known]
    return Documents(X[train], times[train], X[test], times[test])
