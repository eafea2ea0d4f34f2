"""The published formulas with their misprints fail the law that the corrected ones obey.

The law: predictive = ratio of partition probabilities. The formulas are those of the NGGP in
the streaming NRM papers, at a = 1, sigma = 1/2, tau = 1 and cluster sizes (3, 1, 1).
"""

import math

import numpy as np
import pytest

from evermix.priors import NGGP
from helpers.oracles import LogU

A, SIGMA, TAU, N, K = 1.0, 0.5, 1.0, 5, 3
SIZES = np.array([3.0, 1.0, 1.0])
PRIOR = NGGP(A, SIGMA, TAU)


def probability_of_new(law):
    """P(new) by omega = sigma K + n E[tau / (U + tau)] / E[U / (U + tau)]."""
    ratio = law.mean(lambda u: TAU / (u + TAU)) / law.mean(lambda u: u / (u + TAU))
    omega = SIGMA * K + N * ratio
    return omega / (N - SIGMA * K + omega)


@pytest.fixture
def exact():
    """P(new) by definition, from partition probabilities."""
    return math.exp(PRIOR.log_eppf(np.append(SIZES, 1.0)) - PRIOR.log_eppf(SIZES))


def test_the_corrected_formula_gives_the_worked_example(exact):
    assert exact == pytest.approx(0.4357, abs=5e-5)
    right = LogU(N, N - SIGMA * K, A, SIGMA, TAU)
    assert probability_of_new(right) == pytest.approx(exact, abs=1e-10)
    assert math.exp(PRIOR.log_weights(SIZES, np.ones(3))[-1]) == pytest.approx(exact, abs=1e-10)


def test_the_misprinted_exponent_breaks_the_law(exact):
    """The exponent is n - sigma K, not n - a K."""
    misprint = LogU(N, N - A * K, A, SIGMA, TAU)
    assert abs(probability_of_new(misprint) - exact) > 0.02


def test_one_more_power_of_u_breaks_the_law(exact):
    """The density of U has u^(n-1), so that of log U has u^n; u^n for U makes it u^(n+1)."""
    misprint = LogU(N + 1, N - SIGMA * K, A, SIGMA, TAU)
    assert abs(probability_of_new(misprint) - exact) > 0.02


def test_averaging_the_normalised_conditional_is_not_the_predictive(exact):
    """The conditional given U holds for the U of n + 1 observations, not for that of n."""
    law = LogU(N, N - SIGMA * K, A, SIGMA, TAU)

    def conditional(u):
        new = A * (u + TAU) ** SIGMA
        return new / (N - SIGMA * K + new)

    averaged = law.mean(conditional)
    assert averaged == pytest.approx(0.4164, abs=5e-5)
    assert abs(averaged - exact) > 0.015


def test_the_mode_is_a_plug_in_not_the_predictive(exact):
    plug_in = math.exp(NGGP(A, SIGMA, TAU, u="mode").log_weights(SIZES, np.ones(3))[-1])
    assert plug_in == pytest.approx(0.4143, abs=5e-5)


def test_misprinted_probabilities_do_not_sum_to_one():
    """Over the five partitions of three items."""
    total = 0.0
    for sizes, count in (((3,), 1), ((2, 1), 3), ((1, 1, 1), 1)):
        blocks = sum(math.lgamma(m - SIGMA) - math.lgamma(1 - SIGMA) for m in sizes)
        law = LogU(3, 3 - A * len(sizes), A, SIGMA, TAU)
        log_v = len(sizes) * math.log(A) - math.lgamma(3) + law.log_integral()
        total += count * math.exp(log_v + blocks)
    assert abs(total - 1) > 0.2
