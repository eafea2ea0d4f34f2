"""Documents with times, to learn and to predict: five corpora, and drawn ones."""

import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.common import arrays, counts, find

__all__ = ["CORPORA", "Documents", "abstracts", "drifting", "others"]

TIMES, EACH, LENGTH = 5, 400, 100  # of the drawn documents
WORDS, TOPICS, BETA = 5000, 50, 0.05
STEP = 1.0  # of the log share of a topic from time to time


class Documents(NamedTuple):
    """Counts (D, V) of words and times (D,) of documents, those to learn and those held out."""

    train: sparse.csr_array
    times: np.ndarray
    test: sparse.csr_array
    test_times: np.ndarray

    @property
    def timed(self) -> bool:
        """Whether documents have different times."""
        return len(np.unique(self.times)) > 1


def abstracts() -> Documents:
    """Return the abstracts of NeurIPS 2007 to 2011, a fifth of them held out."""
    return _abstracts("neurips_abstracts/neurips2007_2011")


def _abstracts(path: str) -> Documents:
    return _split(counts(f"{path}.npz"), arrays(f"{path}_meta.npz")["year"])


def _papers() -> Documents:
    meta = json.loads(find("nips0-12/meta.json").read_text(encoding="utf-8"))
    return _split(counts("nips0-12/nips0-12.npz"), np.array(meta["year"]))


def _blogs() -> Documents:
    X = counts("kos/kos.npz")
    return _split(X, np.zeros(X.shape[0], dtype=np.int64))


CORPORA: dict[str, Callable[[], Documents]] = {
    "NeurIPS 2007-2011": abstracts,
    "AISTATS 2007-2012": lambda: _abstracts("pmlr_abstracts/aistats2007_2012"),
    "ICML 2013-2017": lambda: _abstracts("pmlr_abstracts/icml2013_2017"),
    "KOS": _blogs,
    "NIPS 1987-1999": _papers,
}


def others(documents: Documents) -> Documents:
    """Return the documents to learn alone, a fifth of them held out to choose settings by."""
    return _split(documents.train, documents.times, seed=1)


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


def _split(X: sparse.csr_array, times: np.ndarray, seed: int = 0) -> Documents:
    """Hold out a fifth, and leave out words that are in no other document: some peers must."""
    order, fifth = np.random.default_rng(seed).permutation(X.shape[0]), X.shape[0] // 5
    train, test = np.sort(order[fifth:]), np.sort(order[:fifth])
    known = np.flatnonzero(X[train].sum(axis=0))
    X = X[:, known]
    return Documents(X[train], times[train], X[test], times[test])
