"""Factors, inverses and rank-one updates of small matrices against LAPACK."""

import numpy as np
import pytest

from evermix.kernels.linear_algebra import (
    factor,
    gram,
    half_log_det,
    invert,
    squared_length,
    update,
)


def factors(B):
    L, ok = np.zeros_like(B), np.empty(len(B), dtype=np.bool_)
    factor(B, L, ok)
    return L, ok


@pytest.fixture(params=[1, 2, 3, 4, 5, 8, 11, 30])
def B(request):
    """Matrices whose columns have very different scales."""
    D = request.param
    rng = np.random.default_rng(D)
    A = rng.normal(size=(6, 2 * D + 2, D)) * 10.0 ** rng.integers(-4, 5, size=D)
    return A.transpose(0, 2, 1) @ A


def test_factors_equal_those_of_lapack(B):
    L, ok = factors(B)
    assert ok.all()
    size = np.sqrt(np.diagonal(B, axis1=1, axis2=2))[:, :, None]  # each row in its own units
    np.testing.assert_allclose(L / size, np.linalg.cholesky(B) / size, rtol=0, atol=1e-13)


def test_inverses_undo_the_factors(B):
    L, _ = factors(B)
    W = L.copy()
    invert(W)
    np.testing.assert_array_equal(W, np.tril(W))
    np.testing.assert_allclose(W @ L, np.broadcast_to(np.eye(B.shape[1]), B.shape), atol=1e-11)


def test_grams_are_products_of_factors(B):
    W, _ = factors(B)
    scale, got = np.linspace(-1.0, 2.0, len(W)), np.full(W.shape, np.nan)
    gram(W, scale, got)
    size = np.sqrt(np.diagonal(B, axis1=1, axis2=2))
    units = size[:, :, None] * size[:, None, :]
    want = scale[:, None, None] * (W.transpose(0, 2, 1) @ W)
    np.testing.assert_array_equal(got, got.transpose(0, 2, 1))
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-13 * units.max())


def test_only_the_lower_triangles_are_read(B):
    np.testing.assert_array_equal(factors(np.tril(B))[0], factors(B)[0])


@pytest.mark.parametrize("bad", [-1.0, 0.0, np.nan, np.inf])
def test_what_has_no_factor_is_reported_and_does_not_touch_the_others(bad):
    B = np.stack([np.diag([4.0, 9.0]), np.diag([1.0, bad]), np.diag([bad, 1.0])])
    L, ok = factors(B)
    np.testing.assert_array_equal(ok, [True, False, False])
    np.testing.assert_array_equal(L[0], np.diag([2.0, 3.0]))


def test_no_matrices_are_no_work():
    L, ok = factors(np.empty((0, 3, 3)))
    invert(L)
    assert len(ok) == 0


# ---- whiteners ------------------------------------------------------------------------------


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
