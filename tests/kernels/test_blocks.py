"""A block of words is weighed as the words would be, one after another."""

import numpy as np
import pytest
from scipy.special import gammaln

from evermix.kernels.topics.dishes import Dishes, DishWeights, Words, WordTopics
from evermix.kernels.topics.franchise import STRETCH, DocumentTables, weigh_block

BETA = 0.5
COUNTS = np.array([[5, 0, 1], [2, 3, 0]])  # two words in three dishes
WEIGHTS, NOVEL = np.array([0.2, 1.5, 0.7]), 0.4
BLOCKS = [[0, 0, 0], [0, 0, 0, 1, 1, 1, 1], [1], [0] * (STRETCH + 3) + [1] * (2 * STRETCH)]


def log_probability(block, counts):
    """Dirichlet-multinomial, of the words in this order."""
    parts = BETA + np.atleast_2d(counts.T)
    more = parts + np.bincount(block, minlength=2)
    words = gammaln(more).sum(axis=1) - gammaln(parts).sum(axis=1)
    return words - gammaln(more.sum(axis=1)) + gammaln(parts.sum(axis=1))


@pytest.mark.parametrize("block", BLOCKS, ids=len)
def test_equal_words_of_a_block_make_each_other_likelier(block):
    """Also where a block is so long that probabilities are multiplied in parts."""
    n, whole = len(block), np.zeros(3, dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    words = Words(np.array(block, dtype=np.int32), np.array([0, n]), first, first, 2, BETA)
    share, open_tables = np.ones((1, 3)), np.ones(1, dtype=np.int64)
    totals, none = COUNTS.sum(axis=0), np.empty(0, dtype=np.int32)
    lists = WordTopics(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), none, none)
    dishes = Dishes(
        COUNTS.astype(np.float32), lists, totals, whole, share, whole, whole, open_tables, 0.0
    )
    worth = DishWeights(np.zeros(3), np.zeros(3), WEIGHTS.copy(), np.zeros(2))
    seats = np.zeros((2, n), dtype=np.int32)
    scratch = np.zeros((2, n + 1), dtype=np.int64)
    tables = DocumentTables(
        *seats, np.zeros(n, dtype=bool), *scratch, np.array([*block, 0]), np.arange(n),
        whole, whole, worth, np.ones(3),
    )  # fmt: skip
    novel = weigh_block(words, dishes, tables, NOVEL, n, 3)
    likelier = log_probability(block, COUNTS) - log_probability(block, np.zeros(2))
    want = WEIGHTS / NOVEL * np.exp(likelier)
    np.testing.assert_allclose(worth.weight / novel, want, rtol=1e-12)
