"""Rows for mixtures, and comparisons of mixtures to the last bit."""

import numpy as np
from scipy import sparse


def blobs(n=600, D=2, groups=4, spread=12.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=n)
    return rng.normal(scale=spread, size=(groups, D))[y] + rng.normal(size=(n, D)), y


def texts(n=400, V=40, groups=5, words=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=n)
    topics = rng.dirichlet(np.full(V, 0.1), size=groups)
    X = np.array([rng.multinomial(words, topics[k]) for k in y])
    return sparse.csr_matrix(X), y


def arrays_of(mix):
    return mix.state_.to_arrays()[0]


def assert_same_model(a, b):
    ours, theirs = arrays_of(a), arrays_of(b)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
