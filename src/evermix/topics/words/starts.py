"""Where chains of hierarchical topic models begin: at many topics, each of many words.

Topics are easily joined and easily left, but to open one, a word must be alone in it. A chain that
begins without topics opens few, and some never leave a single one. So chains begin with more than
there may be: for N words the square root of N, at most 1,000, at which words arrive one after
another. With more, held-out words are predicted a little better still, but by ever smaller topics.
"""

import math

import numpy as np

from evermix._xp import Floats
from evermix.kernels.topics.starts import first_topics, one_table_each
from evermix.topics.measures import Measure
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise

MOST = 1000
# Sweeps of the burn-in in which sigma of documents stays where it begins. At first every topic has
# one table in a document, which says nothing of sigma, and words open many tables while topics are
# not known yet: sigma would rise with them, and hundreds of sweeps would not bring it back.
HELD_SWEEPS = 20
INSIDE = 5.0  # words that all topics together have in a document before its own


def first_number(n_words: int) -> int:
    """Return the number of topics to begin with."""
    return min(MOST, max(1, round(math.sqrt(n_words))))


def begin(corpus: Corpus, chain: Franchise, rng: np.random.Generator) -> None:
    """Give all words a topic and a table.   Consumes: chain."""
    words, measure = corpus.words(chain.beta), chain.measure
    region = _regions(measure, first_number(len(corpus)), rng)
    allowed: Floats = (measure.q[region].T > 0.0).astype(np.float64)
    K, dtype = len(region), np.float32 if len(corpus) <= 2**24 else np.float64
    counts, totals = np.zeros((corpus.size, K), dtype=dtype), np.zeros(K, dtype=np.int64)
    inside, weight = np.zeros((2, K))
    share = INSIDE / K
    first_topics(words, allowed, share, counts, totals, inside, weight, chain.dish, rng)
    one_table_each(words, chain.dish, np.empty(K, dtype=np.int64), chain.table, chain.opens)
    chain.renumber(totals, region, allowed > 0.0)


def _regions(measure: Measure, K: int, rng: np.random.Generator) -> np.ndarray:
    """Return the region of each topic: all have as many, so that every time sees some."""
    R = measure.n_regions
    if not np.all(measure.q > 0.0):
        K = max(K, R)
    return rng.permutation(R)[np.arange(K) % R]
