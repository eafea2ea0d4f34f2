"""Hyperparameters: what is open, what the data fill in, and what is refused."""

import numpy as np
import pytest
from scipy import sparse

from evermix.families import (
    Bernoulli,
    DiagonalGaussian,
    FixedGaussian,
    Gaussian,
    LogNormal,
    Multinomial,
    Poisson,
    ZeroMeanGaussian,
)
from evermix.families._hyperparameters import column_variances, expected_variances
from evermix.testing import check_family

OPEN = [Gaussian(), ZeroMeanGaussian(), DiagonalGaussian(), FixedGaussian(), Poisson()]
AWKWARD = {
    "one row": np.array([[1.0, 200.0, 0.0]]),
    "one row of zeros": np.zeros((1, 3)),
    "duplicates": np.ones((20, 3)),
    "a constant column": np.c_[np.arange(9.0), np.full(9, 1e6), np.arange(9.0) ** 2],
    "two rows": np.array([[0.0, 1, 2], [3, 4, 5]]),
    "scales far apart": np.abs(np.random.default_rng(0).normal(size=(50, 3)) * [1e-6, 1, 1e6]),
    "float32 far away": (np.random.default_rng(1).normal(size=(50, 3)) + 1e4).astype(np.float32),
}


@pytest.mark.parametrize("family", OPEN, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("X", AWKWARD.values(), ids=AWKWARD)
def test_open_families_are_filled_from_any_rows(family, X):
    """Every candidate is resolved, keeps what was given, and gives finite densities."""
    assert family.open
    assert not family.resolved
    for candidate in family.candidates(X):
        assert candidate.resolved
        assert not candidate.open
        assert np.all(np.isfinite(candidate.log_predictive(X, candidate.eta0[None])))


@pytest.mark.parametrize("family", OPEN[:4], ids=lambda f: type(f).__name__)
def test_open_scales_give_several_candidates(family):
    """The evidence has something to choose from: the prior spread differs."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    candidates = family.candidates(X)
    eta0 = [tuple(candidate.eta0) for candidate in candidates]
    assert len(set(eta0)) == len(candidates) >= 8


def test_what_is_given_is_kept():
    """Only what is None comes from the data."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    (family,) = Gaussian(scale=2.0).candidates(X)
    assert (family.scale, family.nu) == (2.0, 5.0)
    np.testing.assert_array_equal(family.mean, X.mean(axis=0))
    np.testing.assert_array_equal(family.origin, X[0])
    assert {f.kappa for f in Gaussian(kappa=3.0).candidates(X)} == {3.0}
    (poisson,) = Poisson(shape=2.0).candidates(np.array([[1.0, 0.0], [3.0, 0.0]]))
    np.testing.assert_allclose(poisson.shape / poisson.rate, [2.0, 1.0])


TUNABLE = [
    (Multinomial(0.3), ("alpha",)),
    (Gaussian(kappa=0.3), ("kappa",)),
    (ZeroMeanGaussian(scale=0.3), ("scale",)),
    (DiagonalGaussian(kappa=0.3), ("kappa",)),
    (FixedGaussian(0.2, 0.3), ("mean_variance",)),
    (Bernoulli(0.3, 0.4), ("a", "b")),
    (Poisson(0.3, 0.4), ("shape", "rate")),
]


@pytest.mark.parametrize(("family", "names"), TUNABLE, ids=lambda value: type(value).__name__)
def test_what_can_be_learnt_stays_a_number(family, names):
    """A sampler moves one number, which reaches the data through the prior alone."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    X = sparse.csr_array(X) if family.sparse else X
    resolved = family.candidates(X)[0]
    assert resolved.tunable == names
    assert [getattr(resolved, name) for name in names] == [getattr(family, n) for n in names]
    assert all(isinstance(getattr(resolved, name), float) for name in names)
    check_family(resolved, X)


def test_neighbours_see_the_width_of_well_separated_clusters():
    """Far clusters do not widen the scale that neighbours propose."""
    rng = np.random.default_rng(0)
    X = 1000.0 * rng.integers(0, 5, size=(500, 2)) + rng.normal(size=(500, 2))
    near = expected_variances(X)[-1]
    assert np.all(near < 10)
    assert np.all(column_variances(X) > 1e5)


def test_an_offset_costs_no_accuracy():
    """Statistics are kept in float64 about an origin: variance 1 at 1e4 stays 1 in float32."""
    X = np.random.default_rng(2).normal(size=(2000, 3)) + 1e4
    X32 = X.astype(np.float32)
    family = Gaussian(scale=1.0).candidates(X32)[0]
    eta = family.posterior(family.accumulate(X32, np.ones((2000, 1))), np.array([2000.0]))
    mean, _, nu, B = family._standard(eta)
    np.testing.assert_allclose(np.diag(B[0] / nu[0]), X32.astype(float).var(axis=0), rtol=2e-3)
    np.testing.assert_allclose(mean[0] + family.origin, X.mean(axis=0), atol=1e-3)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (Gaussian(nu=3.0), r"nu must be larger than D \+ 1 = 4"),
        (Gaussian(scale=-1.0), r"scale must be a positive number, \(3,\) variances"),
        (Gaussian(scale=np.ones((2, 2))), r"scale must be"),
        (Gaussian(scale=np.ones((3, 3))), r"scale must be"),
        (Gaussian(kappa=0.0), r"kappa must be a positive number, got 0.0"),
        (Gaussian(mean=np.zeros(2)), r"mean must be a finite number or one per column"),
        (ZeroMeanGaussian(nu=4.0), r"nu must be larger"),
        (DiagonalGaussian(rate=[1.0, 2.0, 0.0]), r"rate must be a positive number or one per"),
        (DiagonalGaussian(shape=0.5), r"shape must be > 1 for a rate from the data"),
        (FixedGaussian(variance=np.nan), r"variance must be a positive number"),
        (Multinomial(alpha=0.0), r"alpha must be a positive number"),
        (Multinomial(alpha=np.ones(9)), r"alpha must be .* got shape \(9,\)"),
        (Bernoulli(b=-2), r"b must be a positive number"),
        (Poisson(rate=np.inf), r"rate must be a positive number"),
    ],
    ids=repr,
)
def test_bad_hyperparameters_are_refused_with_advice(family, message):
    with pytest.raises(ValueError, match=message):
        family.candidates(np.ones((4, 3)))


@pytest.mark.parametrize(
    ("family", "X", "message"),
    [
        (Multinomial(), sparse.csr_array([[0.0, 1], [0, -2]]), r"got -2.0 in row 1, column 1"),
        (Poisson(), np.array([[0.0, -3.0]]), r"got -3.0 in row 0, column 1"),
        (Bernoulli(), np.array([[0.0, 1.0], [0.5, 1.0]]), r"got 0.5 in row 1, column 0"),
    ],
)
def test_rows_outside_the_support_are_refused_with_their_place(family, X, message):
    assert not family.supports(X)
    with pytest.raises(ValueError, match=message):
        family.check(X)
    assert not family.supports(X)


@pytest.mark.parametrize(
    ("family", "X"),
    [
        (Multinomial(), sparse.csr_array((3, 4))),
        (Multinomial(), sparse.csr_array([[0.5, 2.0]])),
        (Poisson(), np.array([[0.5, 2.0]])),
        (Bernoulli(), np.array([[True, False]])),
        (Gaussian(), np.array([[-1e9, 2.0]])),
    ],
)
def test_rows_inside_the_support_have_a_density(family, X):
    """What is checked, what is supported, and what has a density is the same."""
    family.check(X)
    assert family.supports(X)
    resolved = family.candidates(X)[0]
    log_p = resolved.log_base(X) + resolved.log_predictive(X, resolved.eta0[None])[:, 0]
    assert np.all(np.isfinite(log_p))


@pytest.mark.parametrize("knee", [[1.0, 2.0], -1, 0, np.inf])
@pytest.mark.parametrize("method", ["guess", "candidates"])
def test_a_knee_is_one_positive_number(knee, method):
    with pytest.raises(ValueError, match="knee must be a positive number"):
        getattr(LogNormal(knee=knee), method)(np.ones((10, 1)))
