"""Topics of documents that were not learnt, where every document is a time."""

import numpy as np
import pytest

from evermix.kernels.topics.dishes import Words
from evermix.kernels.topics.evaluation import NewTime, fold_mixed, fold_thinned

V, BETA = 3, 0.5
COUNTS = np.array(
    [[5.0, 0, 0, 0], [1, 4, 0, 0], [0, 3, 0, 0]]
)  # two topics, two regions of new ones
JUMP, REGION = np.array([2.0, 1.0, 0.3, 0.5]), np.array([0, 1, 0, 1])
INVERSE = 1.0 / (V * BETA + COUNTS.sum(axis=0))
DRAWS, SWEEPS = 200_000, 100_000


def shares(fold, law, word):
    """Return the shares of topics that sweeps over a document lead to."""
    first = np.zeros(1, int)
    words = Words(np.array(word, dtype=np.int32), np.array([0, len(word)]), first, first, V, BETA)
    time, theta = NewTime(COUNTS, INVERSE, JUMP, REGION, *law, -1.0), np.empty(4)
    rng, there = np.random.default_rng(1), np.empty(4)
    if fold is fold_mixed:
        scratch = np.empty(2), there, np.zeros(4, int), np.empty(4), np.zeros(5, int)
    else:
        scratch = there, np.empty(len(word) + 1)
    fold(words, time, SWEEPS, 100, 0, *scratch, theta, rng)
    return theta


def expected(weights, word):
    """Return shares under weights (M, 4) from their law, given the words."""
    theta = weights / weights.sum(axis=1, keepdims=True)
    p = (BETA + COUNTS) * INVERSE
    likelihood = np.prod([theta @ p[x] for x in word], axis=0) * np.ones(len(theta))
    return likelihood @ theta / likelihood.sum()


@pytest.mark.parametrize("word", [[], [0], [0, 1, 1]], ids=str)
def test_mixed_shares_are_those_of_the_posterior(word):
    """Also of a document without words, whose weights of regions are then those of the prior."""
    q = np.random.default_rng(0).gamma(0.4, 1 / 0.4, size=(DRAWS, 2))
    np.testing.assert_allclose(
        shares(fold_mixed, (0.4, 0.4), word), expected(q[:, REGION] * JUMP, word), atol=0.01
    )


@pytest.mark.parametrize("word", [[], [0], [0, 1, 1]], ids=str)
def test_thinned_shares_are_those_of_the_posterior(word):
    rng = np.random.default_rng(0)
    q = rng.beta(0.5, 0.5, size=(DRAWS, 2))
    on = rng.random((DRAWS, 2)) < q
    np.testing.assert_allclose(
        shares(fold_thinned, (0.5, 0.5), word), expected(np.hstack([on, q]) * JUMP, word), atol=0.01
    )
