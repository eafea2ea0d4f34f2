"""Sums of log rising factorials: the blocks must not show."""

import numpy as np
import pytest
from scipy import special

from evermix.kernels.base import kernel
from evermix.kernels.rising import add_log_rising, factors


@kernel
def add_all(waiting, stats, prior, index, x, slots, out):
    add_log_rising(waiting, stats, prior, index, x, slots, out)


def total(prior, stats, x, slots):
    out = np.full(stats.shape[1], 0.5)
    index = np.arange(len(x))
    add_all(factors(prior, stats.shape[1]), stats, prior, index, x, slots, out)
    return out


@pytest.mark.parametrize("scale", [1e-40, 1e-13, 0.1, 1e3, 1e11])
@pytest.mark.parametrize("n", [0, 1, 3, 23, 24, 25, 60])
def test_blocks_do_not_show(n, scale):
    """Any number of factors, tiny or large, gives the sum of log gamma differences."""
    rng = np.random.default_rng(n)
    prior = scale * rng.uniform(0.5, 2, n + 1)
    stats = rng.gamma(0.3, 5, size=(n + 1, 7)) * (rng.random((n + 1, 7)) < 0.5)
    x = rng.choice([0, 1, 1, 2, 7, 32, 33, 2.5], size=n + 1).astype(float)
    a = prior[:, None] + stats
    want = 0.5 + (special.gammaln(a + x[:, None]) - special.gammaln(a)).sum(axis=0)
    got = total(prior, stats, x, slots=7)
    cancelled = 1e-15 * np.abs(special.gammaln(a + x[:, None])).sum(axis=0)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12 + 10 * cancelled.max())


def test_only_the_wanted_slots_are_written():
    prior, stats, x = np.ones(3), np.zeros((3, 4)), np.array([1.0, 2.0, 0.5])
    got = total(prior, stats, x, slots=2)
    np.testing.assert_array_equal(got[2:], 0.5)
    assert np.all(got[:2] != 0.5)


def test_products_that_overflow_are_summed_as_logs():
    prior, stats = np.ones(24), np.array([[1e13, 1e20, 3.0]] * 24)
    want = 0.5 + 24 * np.log1p(stats[0])
    np.testing.assert_allclose(total(prior, stats, np.ones(24), slots=3), want, rtol=1e-14)
