"""Shares, sums over them and products of columns, against array maths."""

import numpy as np
import pytest

from evermix.engines.refine.problem import xlogx
from evermix.kernels.engines.local import (
    LEAST,
    add_entropy,
    add_rows,
    softmax_rows,
    write_fused_entropy,
)
from evermix.kernels.linear_algebra import write_products


@pytest.mark.parametrize("scale", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("K", [1, 2, 9])
def test_shares_and_their_sums(K, scale):
    rng = np.random.default_rng(K)
    scores, weights = rng.normal(scale=scale, size=(40, K)), rng.random(40)
    below = scores - scores.max(axis=1, keepdims=True)
    r = np.where(below < LEAST, 0.0, np.exp(below))
    want = r / r.sum(axis=1, keepdims=True)
    entropy = weights @ -(want * np.log(np.where(want > 0, want, 1.0)))
    log_norm = np.logaddexp.reduce(scores, axis=1)
    mass, entropies, owner = np.full(K, 3.0), np.full(K, 5.0), np.empty(40, dtype=np.int64)
    best, norms, got = np.empty(40), np.empty(40), scores.copy()
    count = softmax_rows(got, weights, mass, entropies, owner, best, norms)
    assert count == np.count_nonzero(want)
    np.testing.assert_allclose(got, want, rtol=1e-13)
    np.testing.assert_allclose(mass, 3.0 + weights @ want, rtol=1e-13)
    np.testing.assert_allclose(entropies, 5.0 + entropy, rtol=1e-12)
    np.testing.assert_array_equal(owner, want.argmax(axis=1))
    np.testing.assert_allclose(best, want.max(axis=1), rtol=1e-13)
    np.testing.assert_allclose(norms, log_norm, rtol=1e-13)


def test_sums_of_shared_rows():
    rng = np.random.default_rng(0)
    r = np.where(rng.random((30, 8)) < 0.2, rng.random((30, 8)), 0.0)
    weights, rows = rng.random(30), rng.normal(size=(30, 5))
    sums = np.ones((8, 5))
    add_rows(r, weights, rows, sums)
    np.testing.assert_allclose(sums, 1.0 + (weights[:, None] * r).T @ rows, rtol=1e-12)


def test_entropies_of_shares_and_of_pairs_that_are_fused():
    rng = np.random.default_rng(1)
    r = np.where(rng.random((30, 6)) < 0.4, rng.random((30, 6)), 0.0)
    weights, entropy = rng.random(30), np.ones(6)
    add_entropy(r, weights, entropy)
    np.testing.assert_allclose(entropy, 1.0 - weights @ xlogx(r), rtol=1e-12)
    owners, rows = np.nonzero(r.T)
    starts, pairs = np.searchsorted(owners, np.arange(7)), np.stack(np.triu_indices(6, 1), axis=1)
    change = np.empty(len(pairs))
    write_fused_entropy(r.T.copy(), weights, rows, starts, pairs, change)
    a, b = r[:, pairs[:, 0]], r[:, pairs[:, 1]]
    np.testing.assert_allclose(change, weights @ (xlogx(a) + xlogx(b) - xlogx(a + b)), atol=1e-12)


@pytest.mark.parametrize("D", [1, 2, 7])
def test_products_of_columns(D):
    x = np.random.default_rng(D).normal(size=(11, D))
    first, second = np.triu_indices(D)
    for lead in (0, D):
        out = np.ones((11, lead + D * (D + 1) // 2))
        write_products(x, out)
        np.testing.assert_array_equal(out[:, lead:], x[:, first] * x[:, second])
        assert np.all(out[:, :lead] == 1)
