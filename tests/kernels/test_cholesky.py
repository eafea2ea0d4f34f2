"""Stacks of Cholesky factors against LAPACK."""

import numpy as np
import pytest

from evermix.kernels.linear_algebra import factor, gram, invert


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
def test_what_has_no_factor_is_told_and_does_not_touch_the_others(bad):
    B = np.stack([np.diag([4.0, 9.0]), np.diag([1.0, bad]), np.diag([bad, 1.0])])
    L, ok = factors(B)
    np.testing.assert_array_equal(ok, [True, False, False])
    np.testing.assert_array_equal(L[0], np.diag([2.0, 3.0]))


def test_no_matrices_are_no_work():
    L, ok = factors(np.empty((0, 3, 3)))
    invert(L)
    assert len(ok) == 0
