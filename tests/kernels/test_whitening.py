"""Whiteners against dense linear algebra."""

import numpy as np
import pytest

from evermix.kernels.linear_algebra import half_log_det, squared_length, update


def whitener(B):
    return np.tril(np.linalg.inv(np.linalg.cholesky(B)))


@pytest.fixture(params=[1, 2, 4, 5, 11])
def problem(request):
    """A matrix and vectors whose columns have very different scales."""
    D = request.param
    rng = np.random.default_rng(D)
    scale = 10.0 ** rng.integers(-4, 5, size=D)
    A = rng.normal(size=(2 * D + 2, D)) * scale
    return A.T @ A, rng.normal(size=(200, D)) * scale


def test_squared_length_is_the_mahalanobis_distance(problem):
    B, X = problem
    got = [squared_length(whitener(B), x) for x in X]
    np.testing.assert_allclose(got, np.sum(X * np.linalg.solve(B, X.T).T, axis=1), rtol=1e-8)


def test_log_determinant(problem):
    B, _ = problem
    assert 2 * half_log_det(whitener(B)) == pytest.approx(np.linalg.slogdet(B)[1], rel=1e-10)


def test_updates_follow_the_matrix(problem):
    """Hundreds of rank-one changes, up and down, equal a fresh factorisation."""
    B, X = problem
    weight = np.random.default_rng(0).uniform(0.1, 2.0, size=len(X))
    W, scratch = whitener(B), np.empty(len(B))
    for x, w in zip(X, weight, strict=True):
        update(W, x, w, scratch)
    full = B + (weight[:, None] * X).T @ X
    _assert_close(W, whitener(full))
    for x, w in zip(X[::2], weight[::2], strict=True):
        update(W, x, -w, scratch)
    _assert_close(W, whitener(full - (weight[::2, None] * X[::2]).T @ X[::2]))
    np.testing.assert_array_equal(W, np.tril(W))


@pytest.mark.parametrize("far", [1e8, 1e12, 1e99])
def test_what_cancels_all_digits_is_not_taken_out(far):
    """The matrix then stays too wide, instead of becoming no matrix at all."""
    for seed in range(20):
        v, scratch = far * np.random.default_rng(seed).normal(size=3), np.empty(3)
        W = np.eye(3)
        update(W, v, 0.9, scratch)
        wide = W.copy()
        update(W, v, -0.9, scratch)
        np.testing.assert_array_equal(W, wide)


def _assert_close(got, want):
    # Each column in its own units.
    np.testing.assert_allclose(
        got / np.abs(want).max(axis=0), want / np.abs(want).max(axis=0), 0, 1e-9
    )
