"""Vector-friendly special functions against exact values."""

from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from scipy import special

from evermix.kernels.base import kernel
from evermix.kernels.special import log as fast_log
from evermix.kernels.special import log_rising


@kernel
def logs(x, out):
    for i in range(x.size):
        out[i] = fast_log(x[i])


@kernel
def risings(a, x, out):
    for i in range(a.size):
        out[i] = log_rising(a[i], x[i])


def test_log_is_exact_to_the_last_place():
    """Over the whole range of normal numbers, and around 1, where the result is small."""
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            10 ** rng.uniform(-307, 308, 50_000),
            rng.uniform(0.5, 2.0, 50_000),
            1 + 10 ** rng.uniform(-16, -1, 5_000),
            [np.finfo(float).tiny, np.finfo(float).max, np.sqrt(0.5), 1.0, 2.0],
        ]
    )
    out = np.empty_like(x)
    logs(x, out)
    np.testing.assert_allclose(out, np.log(x), rtol=4.5e-16, atol=0)


@pytest.mark.parametrize("a", [1e-12, 0.001, 0.1, 1.0, 3.7, 49.0, 51.0, 1e3, 1e6, 1e9, 1e15])
def test_log_rising_of_whole_numbers_is_a_sum_of_logs(a):
    """(a)_n = a (a + 1) ... (a + n - 1), summed in exact rationals."""
    n = np.array([0, 1, 2, 5, 31, 130, 500], dtype=np.float64)
    out = np.empty_like(n)
    risings(np.full_like(n, a), n, out)
    want = [sum(log(Fraction(a) + j) for j in range(int(m))) for m in n]
    np.testing.assert_allclose(out, want, rtol=1e-13, atol=3e-14)


def test_log_rising_of_fractions_is_a_difference_of_log_gammas():
    """Where the difference does not cancel, scipy knows the answer."""
    rng = np.random.default_rng(1)
    a, x = 10 ** rng.uniform(-6, 2, 5_000), 10 ** rng.uniform(-6, 3, 5_000)
    out = np.empty_like(a)
    risings(a, x, out)
    want = special.gammaln(a + x) - special.gammaln(a)
    rounding = 1e-15 * (np.abs(special.gammaln(a + x)) + np.abs(special.gammaln(a)) + 10)
    assert np.all(np.abs(out - want) <= 4 * rounding)


def test_log_rising_adds_up():
    """(a)_(x + y) = (a)_x (a + x)_y, also for fractions and for large a."""
    rng = np.random.default_rng(2)
    a, x, y = 10 ** rng.uniform(-6, 12, 5_000), rng.gamma(1, 3, 5_000), rng.gamma(1, 3, 5_000)
    whole, first, second = np.empty_like(a), np.empty_like(a), np.empty_like(a)
    risings(a, x + y, whole)
    risings(a, x, first)
    risings(a + x, y, second)
    # a + x rounds: the last place of a, times the slope y / a, is below 1e-15 y.
    np.testing.assert_allclose(whole, first + second, rtol=1e-13, atol=1e-13)
    assert np.all(whole < inf)
