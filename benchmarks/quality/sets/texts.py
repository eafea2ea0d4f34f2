"""Texts as counts of words, and their sentence embeddings.

KOS has no labels, so it is not here. The folder's copy of 20 Newsgroups has counts only, without
subject lines: its short set are the posts of few words.
"""

import json
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from benchmarks.common import arrays, counts, find
from benchmarks.quality.sets.base import LabelledSet, Recipe

__all__ = ["recipes"]

SHORT_TEXTS = ("tweet", "stackoverflow")
WORDS = 5_000  # commonest words of 20 Newsgroups that are kept
LENGTHS = {"short": (5, 30), "long": (31, 10_000)}  # words of a post, both ends included
POSTS = 4_000


def recipes() -> Iterator[Recipe]:
    """Yield the sets of texts, then those of embeddings."""
    for name in SHORT_TEXTS:
        find(f"quality/{name}.jsonl")
        yield Recipe(name, "texts", partial(_texts, name))
    find("newsgroups20/newsgroups20.npz")
    for name, bounds in LENGTHS.items():
        name = f"newsgroups20_{name}"
        yield Recipe(name, "texts", partial(_posts, name, bounds))
    for name in SHORT_TEXTS:
        find(f"quality/{name}_minilm.npy")
        yield Recipe(f"{name}_minilm", "embeddings", partial(_embeddings, name))


def _records(name: str) -> tuple[list[str], np.ndarray]:
    """Return texts and labels; labels are renumbered from 0."""
    lines = find(f"quality/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    labels = [record["label"] for record in records]
    return [record["text"] for record in records], np.unique(labels, return_inverse=True)[1]


def _texts(name: str, seed: int) -> LabelledSet:
    """Words that occur in two texts or more, without stop words; texts left empty are dropped."""
    del seed
    texts, y = _records(name)
    X = CountVectorizer(stop_words="english", min_df=2).fit_transform(texts)
    return _long_enough(LabelledSet(name, "texts", sparse.csr_array(X).astype(np.float64), y))


def _posts(name: str, bounds: tuple[int, int], seed: int) -> LabelledSet:
    """At most 4,000 posts of so many words, counted after choosing the words."""
    X = counts("newsgroups20/newsgroups20.npz")
    words = np.array(find("newsgroups20/vocab.txt").read_text(encoding="utf-8").split())
    y = arrays("newsgroups20/labels.npz")["label"].astype(np.int64)
    telling = ~np.isin(words, list(ENGLISH_STOP_WORDS)) & (np.char.str_len(words) > 2)
    total = np.where(telling, X.sum(axis=0), 0)
    X = X[:, np.sort(np.argsort(-total, kind="stable")[:WORDS])]
    length = X.sum(axis=1)
    some = np.flatnonzero((length >= bounds[0]) & (length <= bounds[1]))
    some = np.random.default_rng(seed).permutation(some)[:POSTS]
    return _long_enough(LabelledSet(name, "texts", sparse.csr_array(X[some]), y[some]))


def _long_enough(one: LabelledSet) -> LabelledSet:
    """Return the set without rows that have no words, and without words that no row has."""
    one = one.rows(np.flatnonzero(one.X.sum(axis=1) > 0))
    used = np.flatnonzero(one.X.sum(axis=0) > 0)
    return LabelledSet(one.name, one.kind, one.X[:, used], one.y)


def _embeddings(name: str, seed: int) -> LabelledSet:
    """One row for every text, also for those that have no words left as counts."""
    del seed
    X = np.load(find(f"quality/{name}_minilm.npy")).astype(np.float64)
    return LabelledSet(f"{name}_minilm", "embeddings", X, _records(name)[1])
