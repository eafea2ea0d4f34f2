"""Coherence of words, against its definition."""

from itertools import combinations
from math import log

import numpy as np
import pytest
from scipy import sparse

import evermix as em

X = np.random.default_rng(0).poisson(0.7, size=(50, 8))


def by_definition(words):
    there, pairs = X > 0, []
    for v, w in combinations(words, 2):
        both = np.mean(there[:, v] & there[:, w])
        p, q = there[:, v].mean(), there[:, w].mean()
        pairs.append(-1.0 if both == 0 else log(both / (p * q)) / -log(both))
    return np.mean(pairs)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_it_is_the_mean_over_pairs(form):
    topics = [[0, 1, 2], [7, 3], [4, 5, 6, 0]]
    found = em.coherence(topics, form(X))
    assert np.allclose(found, [by_definition(words) for words in topics])


def test_bounds():
    always = np.ones((5, 2))
    assert em.coherence([[0, 1]], always)[0] == 1
    assert np.isnan(em.coherence([[0], []], always)).all()
    apart = np.array([[1, 0], [0, 1]])
    assert em.coherence([[0, 1]], apart)[0] == -1


def test_words_by_name():
    names = [f"w{v}" for v in range(8)]
    assert em.coherence([["w3", "w5"]], X, names) == em.coherence([[3, 5]], X)
    with pytest.raises(ValueError, match="'sun' is not in the vocabulary"):
        em.coherence([["sun", "w1"]], X, names)
    with pytest.raises(ValueError, match=r"one entry per column, \(8,\), got 2"):
        em.coherence([["w0", "w1"]], X, names[:2])
    with pytest.raises(ValueError, match="no documents"):
        em.coherence([[0, 1]], X[:0])
