"""Features are the statistic without what is in it twice, and a faster way to the same numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from evermix.families import DiagonalGaussian, FixedGaussian, Gaussian, base
from helpers.family_cases import CASES


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


# Where all was seen, counts are equal, as are rows that are not 0 and those with what is not 0; and
# a level that nobody has is a column of zeros.
REPEATED = {"mixed", "mixed-numbers", "mixed-zeros", "categorical-levels"}


@pytest.mark.parametrize("name", [n for n in CASES if n not in REPEATED])
def test_features_hold_nothing_twice(name):
    """They span what the statistic spans, and none of them follows from the others."""
    family, X = CASES[name]
    features = family.features(X)
    features = features.toarray() if sparse.issparse(features) else features
    rank = np.linalg.matrix_rank(family.statistic(X))
    assert features.shape[1] == np.linalg.matrix_rank(features) == rank


def test_a_row_alone_is_scored_by_what_was_learnt_from_it(case):
    """The definition of self_log_likelihood, one row and its own cluster at a time."""
    family, X = case
    eta = family.posterior(family.statistic(X), np.ones(X.shape[0]))
    want = np.diagonal(family.expected_log_likelihood(X, eta))
    np.testing.assert_allclose(family.self_log_likelihood(X), want, rtol=1e-9, atol=1e-9)


# ---- parts of the rows -----------------------------------------------------------------------


def test_parts_hold_every_row_once_and_in_order(case):
    family, _ = case
    for n in (0, 1, 64, 10_000):
        X = (sparse.csr_array if family.sparse else np.zeros)((n, family.n_features))
        parts = family.chunks(X, K=10**6)  # so many clusters that parts have 64 rows
        rows = [row for part in parts for row in range(n)[part]]
        assert rows == list(range(n))
        assert n == 0 or max(part.stop - part.start for part in parts) <= 64
        assert len(parts) == (1 if n <= 64 else 158)


def test_results_do_not_depend_on_how_rows_are_cut(case, monkeypatch):
    """Five parts or one: the sums differ by rounding alone."""
    family, X = case
    X = sparse.vstack([X] * 10, "csr") if family.sparse else np.tile(X, (10, 1))
    r = np.random.default_rng(3).dirichlet(np.ones(3), size=X.shape[0])
    params = family.mean_params(family.posterior(family.accumulate(X, r), r.sum(axis=0)))
    found = []
    for size in (1, 2**40):
        monkeypatch.setattr(base, "CHUNK", size)
        found.append((family.accumulate(X, r), family.log_likelihood(X, params)))
    assert len(family.chunks(X)) == 1
    for one, other in zip(*found, strict=True):
        scale = np.abs(one).max()
        np.testing.assert_allclose(one / scale, other / scale, rtol=0, atol=1e-13)


def test_no_rows_say_nothing(case):
    family, X = case
    nothing = family.accumulate(X[:0], np.ones((0, 2)))
    np.testing.assert_array_equal(nothing, np.zeros((2, family.n_stats)))
    params = family.mean_params(family.posterior(nothing, np.zeros(2)))
    assert family.log_likelihood(X[:0], params).shape == (0, 2)
    assert family.self_log_likelihood(X[:0]).shape == (0,)


# ---- far from the origin ---------------------------------------------------------------------


@pytest.mark.parametrize("D", [2, 25])
@pytest.mark.parametrize(
    "family",
    [Gaussian(kappa=0.5, scale=1.0), DiagonalGaussian(None, 0.5, 2.0, 1.0), FixedGaussian(1, 9)],
    ids=lambda family: type(family).__name__,
)
def test_ten_thousand_deviations_from_the_origin_leave_six_digits(family, D):
    """The origin is the first row, whose cluster may be far from the others."""
    rng = np.random.default_rng(D)
    place = 1e4 / np.sqrt(D) * rng.choice([-1.0, 1.0], size=D)
    X = place + rng.normal(size=(200, D)) @ rng.normal(size=(D, D)) / np.sqrt(D)
    (near,) = replace(family, mean=place).candidates(X)
    far = replace(near, origin=np.zeros(D))
    scores = []
    for counted in (near, far):
        eta = counted.posterior(counted.accumulate(X, np.ones((200, 1))), np.array([200.0]))
        fit = counted.expected_log_likelihood(X, eta)[:, 0]
        for log_p in (fit, counted.log_predictive(X, eta)[:, 0], counted.self_log_likelihood(X)):
            scores.append(log_p + counted.log_base(X))
    for one, other in zip(scores[:3], scores[3:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
