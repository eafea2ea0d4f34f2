"""Jumps above and below a level."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from evermix.topics.measures.levels import exponent_below, jumps_above, mean_below, number_above
from evermix.topics.rows.chain import RowChain
from evermix.topics.rows.published import T3, log_estimate, threshold
from helpers.dependent_oracles import thinned

SIGMAS = [0.0, 1e-9, 0.05, 0.4, 0.9]


def integral(f, sigma, low, high):
    """Of f against the intensity with a = 1, over log w."""

    def g(x):
        w = math.exp(x)
        return f(w) * math.exp(-sigma * x - w) / math.gamma(1 - sigma)

    return quad(g, low, high, epsabs=0, epsrel=1e-11, limit=500)[0]


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("log_level", [-8.0, -2.0, 0.5])
def test_the_number_of_jumps_above_a_level_is_an_integral(sigma, log_level):
    want = integral(lambda w: 1.0, sigma, log_level, 6.0)
    assert number_above(np.array(log_level), sigma) == pytest.approx(want, rel=1e-7)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("U", [0.01, 3.0, 1e4])
def test_the_exponent_of_jumps_below_a_level_is_an_integral(sigma, U):
    for log_level in (-7.0, -1.0):
        want = integral(lambda w: -math.expm1(-U * w), sigma, -300.0, log_level)
        got = exponent_below(np.array(log_level), np.array(U), sigma)
        assert got == pytest.approx(want, rel=1e-7)
        assert got <= U * mean_below(np.array(log_level), sigma)


@pytest.mark.parametrize("sigma", [0.0, 0.4, 0.8])
def test_jumps_above_a_level_are_a_poisson_process(sigma):
    """Their mean numbers in three intervals, within 4.5 standard errors."""
    rng, edges, tries = np.random.default_rng(0), [-6.0, -3.0, -1.0, 6.0], 2000
    tilt = lambda w: -2.0 * w - np.log1p(w)  # noqa: E731
    seen = np.concatenate([jumps_above(edges[0], 0.7, sigma, tilt, rng) for _ in range(tries)])
    for low, high in zip(edges, edges[1:], strict=False):
        mean = tries * 0.7 * integral(lambda w: math.exp(tilt(w)), sigma, low, high)
        number = np.count_nonzero((seen > low) & (seen < high))
        assert abs(number - mean) < 4.5 * math.sqrt(mean)


@pytest.mark.parametrize("sigma", [0.0, 0.4, 0.7])
def test_estimates_of_small_jumps_are_unbiased(sigma):
    """Their mean is exp(-I), within 4.5 standard errors, and they lie in [0, 1]."""
    q, u, a, log_level = np.array([0.8, 0.3]), np.array([3.0, 9.0]), 0.9, -2.5

    def chosen(w):
        return -np.expm1(np.log1p(q * np.expm1(-u * w)).sum())

    rng = np.random.default_rng(0)
    draws = np.exp([log_estimate(q, u, a, sigma, log_level, rng) for _ in range(4000)])
    want = math.exp(-a * integral(chosen, sigma, -200.0, log_level))
    assert 0.0 <= draws.min() <= draws.max() <= 1.0
    assert abs(draws.mean() - want) < 4.5 * draws.std() / math.sqrt(len(draws))


@pytest.mark.parametrize("scale", [1.0, 60.0, 1e4])
def test_the_error_of_linear_exponents_is_watched(scale):
    """At the threshold that T3 takes, it is below a thousandth of a nat."""
    measure = thinned()
    measure.u = scale * np.array([1.0, 0.6])
    none = np.empty(0, dtype=np.int64)
    level = threshold(RowChain(measure, none, none, none), measure, T3().low_enough)
    for r in range(2):
        q = measure.q[r]
        exact = integral(
            lambda w, q=q: -np.expm1(np.log1p(q * np.expm1(-measure.u * w)).sum()),
            measure.sigma,
            -200.0,
            level[r],
        )
        linear = float(mean_below(level[r], measure.sigma) * (q @ measure.u))
        assert 0.0 <= measure.a[r] * (linear - exact) < 1e-3
