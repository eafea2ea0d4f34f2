"""Rows so far away that all digits cancel must not end a stream."""

import numpy as np
import pytest

from evermix import (
    EP,
    CapacityWarning,
    FixedGaussian,
    Gaussian,
    Gibbs,
    Mixture,
    Multinomial,
    Poisson,
    Slice,
    ZeroMeanGaussian,
)
from evermix.families._covariance import log_det, mean_params, whiteners


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


@pytest.mark.filterwarnings("ignore::evermix.CapacityWarning")
@pytest.mark.parametrize("engine", [EP(laps=3, tol=0.0), Gibbs(sweeps=4)])
@pytest.mark.parametrize("family", [Gaussian(0.0, 0.1, 6.0, 1.0), ZeroMeanGaussian(6.0, 1.0)])
@pytest.mark.parametrize("far", [1e8, 1e12, 1e38])
def test_rows_at_infinity_can_be_taken_out_of_a_cluster(family, engine, far):
    """A cap makes them share a cluster with others, from which they are taken in every lap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    X[20:24] = far * rng.normal(size=(4, 2))
    for cap in (1, 3):
        mix = Mixture(family, engine=engine, max_clusters=cap, random_state=0).fit(X)
        assert mix.n_clusters_ <= cap
        assert np.isfinite([info.log_predictive for info in mix.history_]).all()
        assert np.isfinite(mix.score_samples(X)).all()


@pytest.mark.parametrize(
    "engine", [Gibbs(sweeps=5), Gibbs(sweeps=5, augmented=True), Slice(sweeps=5, hybrid=True)]
)
def test_the_cap_holds_where_a_new_cluster_is_better_by_far(engine):
    """Beside it, the weights of all clusters there are vanish: they must not be compared with it.

    (They were, and rows went to slots that do not exist.)
    """
    X = np.array([[0.0], [0.1], [1000.0], [1000.2], [-2000.0]])
    mix = Mixture(FixedGaussian(1.0, 1e6), engine=engine, max_clusters=1, random_state=0)
    with pytest.warns(CapacityWarning):
        mix.fit(X)
    assert np.all(mix.posterior_.labels == 0)
    assert np.isfinite(mix.posterior_.scalars["log_joint"]).all()


@pytest.mark.parametrize("spread", [1e20, 1e25, 1e200])
def test_a_vague_prior_of_many_columns_does_not_underflow(spread):
    """The product of sixteen small factors did."""
    X = np.random.default_rng(0).normal(size=(30, 20))
    mix = Mixture(FixedGaussian(1.0, spread)).fit(X)
    assert mix.tally_.mass.sum() == pytest.approx(30)
    first = mix.model_.family
    want = first.log_predictive(X[:1], first.eta0[None]) + first.log_base(X[:1])
    alone = Mixture(FixedGaussian(1.0, spread)).partial_fit(X[:1])
    assert alone.history_[0].log_predictive == pytest.approx(float(want[0, 0]), rel=1e-9)


def test_a_ridge_is_added_only_where_it_is_needed():
    far = np.array([1e20, 3e19, 1.0])
    B = np.stack([np.diag([1.0, 2.0, 4.0]), np.eye(3) + np.outer(far, far)])
    np.testing.assert_array_equal(log_det(B)[0], log_det(B[:1])[0])
    np.testing.assert_array_equal(whiteners(B)[0], whiteners(B[:1])[0])
    np.testing.assert_allclose(-2 * mean_params(np.ones(2), B)[0][0], np.diag([1.0, 0.5, 0.25]))
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
