"""Different parameters, the same law: limits, scale, canonical forms, and two functions alone."""

import numpy as np
import pytest

from evermix.priors import DP, NGGP, GeneralizedDirichlet, PitmanYor
from helpers.prior_cases import SIZES, GeneralizedGamma

MASS, OCCUPIED = np.array([5.5, 2.2, 1.0, 0.4]), np.array([1.0, 0.9, 0.7, 0.3])


def assert_same_law(one, other, tolerance):
    np.testing.assert_allclose(
        one.log_weights(MASS, OCCUPIED), other.log_weights(MASS, OCCUPIED), rtol=tolerance
    )
    for sizes in SIZES:
        hard = np.ones(len(sizes))
        got, want = one.log_weights(sizes, hard), other.log_weights(sizes, hard)
        np.testing.assert_allclose(got, want, rtol=tolerance)
        got, want = one.log_eppf(sizes), other.log_eppf(sizes)
        assert got == pytest.approx(want, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("tau", [0.03, 4.0, 500.0])
def test_rescaling_all_jumps_changes_nothing(tau):
    for sigma in (0.1, 0.5, 0.8):
        assert_same_law(NGGP(1.3, sigma, tau), NGGP(1.3 * tau**sigma, sigma, 1.0), 1e-13)


@pytest.mark.parametrize("tau", [0.1, 1.0, 20.0])
def test_sigma_to_zero_is_the_dirichlet_process_for_every_tau(tau):
    assert_same_law(NGGP(1.3, 1e-8, tau), DP(1.3), 1e-6)
    assert_same_law(NGGP(1.3, 0.0, tau), DP(1.3), 1e-14)


def test_without_a_tilt_it_is_pitman_yor():
    assert_same_law(NGGP(0.7, 0.4, 0.0), PitmanYor(0.0, 0.4), 1e-12)
    assert_same_law(NGGP(1.0, 0.4, 1e-30), PitmanYor(0.0, 0.4), 1e-6)


@pytest.mark.parametrize("discount", [1e-6, 1e-12])
def test_discount_to_zero_is_the_dirichlet_process(discount):
    """The gamma functions of huge arguments must not cancel."""
    assert_same_law(PitmanYor(2.0, discount), DP(2.0), 20 * discount + 1e-13)


@pytest.mark.parametrize("a", [0.8, 1e-2, 1e-4, 1e-6])
def test_one_rate_is_the_dirichlet_process(a):
    """Also for tiny concentrations, with which log U goes far beyond the range of numbers."""
    assert_same_law(GeneralizedDirichlet(a, rates=1), DP(a), 1e-10 if a > 1e-3 else 1e-6)


@pytest.mark.parametrize("parameters", [(1, 0.5, 1), (0.1, 0.1, 1), (2, 0.3, 9), (20, 0.8, 0.5)])
def test_two_functions_are_enough_for_the_nggp(parameters):
    general, closed = GeneralizedGamma(*parameters), NGGP(*parameters)
    assert_same_law(general, closed, 1e-9)
    pairs = np.array([[0, 1], [1, 2]])
    mass, hard = np.array([4.0, 2.0, 1.0]), np.ones(3)
    got, want = (prior.log_merge_odds(mass, hard, pairs) for prior in (general, closed))
    np.testing.assert_allclose(got, want, atol=1e-9)


@pytest.mark.parametrize(
    ("prior", "simplest"),
    [
        (DP(2.0), DP(2.0)),
        (NGGP(2.0, 0.5, 4.0), NGGP(4.0, 0.5, 1.0)),
        (NGGP(2.0, 0.5, 4.0, u="mode"), NGGP(4.0, 0.5, 1.0, u="mode")),
        (NGGP(2.0, 0.0, 4.0), DP(2.0)),
        (NGGP(2.0, 0.5, 0.0), PitmanYor(0.0, 0.5)),
        (PitmanYor(2.0, 0.0), DP(2.0)),
        (PitmanYor(2.0, 0.5), PitmanYor(2.0, 0.5)),
        (GeneralizedDirichlet(2.0, 1), DP(2.0)),
        (GeneralizedDirichlet(2.0, 2), GeneralizedDirichlet(2.0, 2)),
    ],
)
def test_the_canonical_form_is_the_same_law_once_and_for_all(prior, simplest):
    assert prior.canonical() == simplest
    assert simplest.canonical() == simplest
    assert_same_law(prior, simplest, 1e-10)
