"""Rows so far away that all digits cancel must not end a stream."""

import numpy as np
import pytest

from evermix import Gaussian, Mixture, Multinomial, Poisson, ZeroMeanGaussian
from evermix.families._wishart import inverse, log_det, whiteners


@pytest.mark.parametrize("far", [1e8, 1e15, 3.4e38, 1e99])
@pytest.mark.parametrize("family", [Gaussian(0.0, 0.1, 6.0, 1.0), ZeroMeanGaussian(6.0, 1.0)])
def test_a_stream_survives_rows_at_infinity(family, far):
    """Caches are rebuilt from the statistics every 1,000 rows; sentinels like 1e38 happen."""
    X = np.random.default_rng(0).normal(size=(1010, 3))
    X[500] = [far, -far, 0.3 * far]
    X[501] = [1.01 * far, -far, 0.3 * far]
    mix = Mixture(family).partial_fit(X)
    assert np.isfinite(mix.score_samples(X[:50])).all()
    assert mix.predict(X[:1]) != mix.predict(X[500:501])


def test_a_ridge_is_added_only_where_it_is_needed():
    far = np.array([1e20, 3e19, 1.0])
    B = np.stack([np.diag([1.0, 2.0, 4.0]), np.eye(3) + np.outer(far, far)])
    np.testing.assert_array_equal(log_det(B)[0], log_det(B[:1])[0])
    np.testing.assert_array_equal(whiteners(B)[0], whiteners(B[:1])[0])
    np.testing.assert_allclose(inverse(B)[0], np.diag([1.0, 0.5, 0.25]))
    assert np.isfinite(log_det(B)).all()
    assert np.isfinite(whiteners(np.zeros((1, 2, 2)))).all()


def test_what_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="overflowed"):
        whiteners(np.full((1, 2, 2), -np.inf))


@pytest.mark.parametrize("family", [Multinomial(), Poisson()])
def test_counts_beyond_the_reach_of_gamma_functions_are_refused(family):
    X = np.ones((3, 2))
    X[1] = 1e15
    assert np.all(Mixture(family).fit(X).score_samples(X) < 0)
    X[1] = 1e16
    with pytest.raises(ValueError, match="up to 1e.16; beyond 1e.15"):
        Mixture(family).fit(X)
