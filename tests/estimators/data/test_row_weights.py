"""A row of weight w counts like w rows."""

import numpy as np
import pytest

import evermix as em

FAR = 50.0


@pytest.mark.parametrize(
    "family", ["auto", em.DiagonalGaussian(), em.FixedGaussian(), em.Poisson()], ids=str
)
def test_rows_of_weight_zero_are_as_if_absent_even_where_scales_are_open(family):
    rng = np.random.default_rng(0)
    X = rng.poisson(4.0, size=(60, 2)) + rng.choice([0.0, 20.0], size=(60, 1))
    noise = np.vstack([X, FAR + 100 * rng.random((60, 2))])
    order = rng.permutation(120)
    weights = np.repeat([1.0, 0.0], 60)[order]
    kept = order[weights > 0]
    with_zeros = em.Mixture(family).fit(noise[order], sample_weight=weights)
    without = em.Mixture(family).fit(noise[kept])
    assert with_zeros.model_ == without.model_
    np.testing.assert_array_equal(with_zeros.state_.tally.stats, without.state_.tally.stats)


def test_the_first_thousand_rows_that_count_decide_whatever_the_cuts():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2400, 2)) * np.linspace(1, 3, 2400)[:, None]
    weights = np.tile([1.0, 0.0], 1200)
    whole = em.Mixture().partial_fit(X, sample_weight=weights)
    parts = em.Mixture()
    for start in range(0, 2400, 300):
        some = slice(start, start + 300)
        parts.partial_fit(X[some], sample_weight=weights[some])
    assert whole.model_ == parts.model_
    np.testing.assert_array_equal(whole.state_.tally.stats, parts.state_.tally.stats)
