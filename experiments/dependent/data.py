"""Documents with years: four corpora, and those of a hierarchical Pitman-Yor process."""

import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from experiments.common import arrays, counts, find, vocabulary

__all__ = ["CORPORA", "Corpus", "halved", "pitman_yor", "split"]

WORDS, LENGTH, DOCUMENTS = 100, 100, 24  # of the synthetic data: vocabulary, and for each time
ALPHAS, DISCOUNT, BETA = (1.0, 3.0, 4.0, 5.0), 0.5, 0.1


class Corpus(NamedTuple):
    """Documents.

    Attributes
    ----------
    X : CSR matrix (D, V)
        Counts of words.
    years : int array (D,)
    words : str array (V,)
    """

    X: sparse.csr_array
    years: np.ndarray
    words: np.ndarray

    def some(self, rows: np.ndarray) -> "Corpus":
        """Return these documents alone."""
        return Corpus(self.X[rows], self.years[rows], self.words)


def _abstracts(path: str) -> Corpus:
    meta = arrays(f"{path}_meta.npz")
    return Corpus(counts(f"{path}.npz"), meta["year"].astype(int), meta["vocab"])


def _nips() -> Corpus:
    meta = json.loads(find("nips0-12/meta.json").read_text(encoding="utf-8"))
    X, words = counts("nips0-12/nips0-12.npz"), vocabulary("nips0-12/vocab.txt")
    return Corpus(X, np.array(meta["year"]), words)


CORPORA: dict[str, Callable[[], Corpus]] = {
    "aistats2007_2012": lambda: _abstracts("pmlr_abstracts/aistats2007_2012"),
    "neurips2007_2011": lambda: _abstracts("neurips_abstracts/neurips2007_2011"),
    "icml2013_2017": lambda: _abstracts("pmlr_abstracts/icml2013_2017"),
    "nips0-12": _nips,
}


def split(corpus: Corpus) -> tuple[Corpus, Corpus]:
    """Return the documents to learn, and a fifth that is held out: the same ones every time."""
    D = corpus.X.shape[0]
    order = np.random.default_rng(0).permutation(D)
    return corpus.some(np.sort(order[D // 5 :])), corpus.some(np.sort(order[: D // 5]))


def halved(corpus: Corpus) -> Corpus:
    """Return a corpus that has two times, its first and its second half, in place of years."""
    later = np.argsort(np.argsort(corpus.years, kind="stable"), kind="stable")
    return corpus._replace(years=(later >= len(later) // 2).astype(int))


def pitman_yor(seed: int, held_out: int) -> tuple[Corpus, Corpus]:
    """Return three times of 24 documents of 100 words each to learn, and others (section 5.1).

    The paper has 30 documents for each time, and holds out 6 of them.

    The words of a time are drawn from a Pitman-Yor process of its own, whose base measure is one
    that all times share, and cut into documents. The paper speaks of 3000 observations, and of 30
    documents of 100 words at each of three times, which is what we draw.

    Parameters
    ----------
    seed : int
    held_out : int
        Documents of each time that are held out.
    """
    rng = np.random.default_rng(seed)
    above, topics = _Restaurant(ALPHAS[0], rng), []
    rows, times = [], []
    for t, alpha in enumerate(ALPHAS[1:]):
        below, dishes = _Restaurant(alpha, rng), []
        for _ in range(DOCUMENTS + held_out):
            row = np.zeros(WORDS)
            for _ in range(LENGTH):
                table = below.seat()
                if table == len(dishes):
                    dishes.append(above.seat())
                if dishes[table] == len(topics):
                    topics.append(rng.dirichlet(np.full(WORDS, BETA)))
                row[rng.choice(WORDS, p=topics[dishes[table]])] += 1
            rows.append(row)
            times.append(t)
    X, words = sparse.csr_array(np.array(rows)), np.arange(WORDS).astype(str)
    corpus, place = Corpus(X, np.array(times), words), np.arange(len(times))
    learnt = place % (DOCUMENTS + held_out) < DOCUMENTS
    return corpus.some(place[learnt]), corpus.some(place[~learnt])


class _Restaurant:
    """Seats customers as a Pitman-Yor process does."""

    def __init__(self, alpha: float, rng: np.random.Generator) -> None:
        self.alpha, self.rng, self.sizes = alpha, rng, [0]  # the last table is empty

    def seat(self) -> int:
        """Return the table of one more customer."""
        weights = np.array(self.sizes) - DISCOUNT
        weights[-1] = self.alpha + DISCOUNT * (len(self.sizes) - 1)
        table = int(self.rng.choice(len(weights), p=weights / weights.sum()))
        if table == len(self.sizes) - 1:
            self.sizes.append(0)
        self.sizes[table] += 1
        return table
