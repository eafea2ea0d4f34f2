"""The new-cluster weight and log V equal brute-force integrals and obey their recursions."""

import math
from itertools import product

import numpy as np
import pytest

from evermix.kernels.weights import AFFINE, MODE, QUADRATURE, log_u_mode, log_v, new_weight
from helpers.oracles import LogU, nggp_omega


@pytest.mark.parametrize("n", [1.0, 2.0, 10.0, 101.0, 1000.0])
def test_omega_equals_the_brute_force_integral(n):
    for a, sigma, K in product((0.1, 1.0, 10.0), (0.05, 0.25, 0.5), (1.0, 0.3 * n, n)):
        if K < 1:
            continue
        want = nggp_omega(n, K, a, sigma, 1.0)
        assert new_weight(QUADRATURE, a, sigma, 1.0, n, K) == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize("n", [0.01, 0.3])
def test_omega_is_right_where_less_than_one_observation_is_left(n):
    """The left tail is then so long that it is summed as a series."""
    law = LogU(n, 0.5 * n, 1.0, 0.5, 1.0, v=np.arange(-45.0 / n, 20.0, 0.01))
    want = 0.5 * n + n * law.mean(lambda u: 1 / (1 + u)) / law.mean(lambda u: u / (1 + u))
    assert new_weight(QUADRATURE, 1.0, 0.5, 1.0, n, n) == pytest.approx(want, rel=1e-10)


def test_skewed_densities_with_a_sharp_edge_are_resolved():
    """A fixed number of nodes around the mode is wrong by per cents here."""
    got = new_weight(QUADRATURE, 0.1, 0.05, 1.0, 10.0, 3.0)
    assert got == pytest.approx(nggp_omega(10, 3, 0.1, 0.05, 1.0), rel=1e-12)


@pytest.mark.parametrize("kind", [QUADRATURE, MODE])
def test_limits_are_exact(kind):
    assert new_weight(kind, 1.7, 0.0, 3.0, 50.0, 7.0) == 1.7
    assert new_weight(kind, 1.7, 0.3, 0.0, 50.0, 7.0) == 0.3 * 7.0
    assert new_weight(kind, 1.7, 0.3, 1.0, 0.0, 0.0) == 1.0


def test_the_affine_rule_is_never_negative():
    assert new_weight(AFFINE, 2.0, 0.5, 1.0, 9.0, 4.0) == 4.0
    assert new_weight(AFFINE, -0.2, 0.5, 1.0, 0.3, 0.3) == 0.0


@pytest.mark.parametrize("tau", [0.01, 1.0, 30.0])
def test_the_mode_solves_its_equation(tau):
    """a u (u + tau)^sigma = n tau + sigma K u."""
    for n, a, sigma, share in product(
        (0.5, 1, 10, 1e5), (1e-3, 1, 1e3), (0.05, 0.5, 0.9), (0.1, 1)
    ):
        K = share * n
        u = math.exp(log_u_mode(n, K, a, sigma, tau))
        assert a * u * (u + tau) ** sigma == pytest.approx(n * tau + sigma * K * u, rel=1e-10)


def test_the_mode_survives_where_u_overflows():
    v = log_u_mode(1e6, 1e6, 0.1, 0.01, 1.0)
    assert v > 710
    assert 0.1 * math.exp(0.01 * v) == pytest.approx(0.01 * 1e6)
    assert new_weight(QUADRATURE, 0.1, 0.01, 1.0, 1e6, 1e6) == pytest.approx(1e4)


@pytest.mark.parametrize(("n", "ratio"), [(2, 0.861), (10, 0.931), (100, 0.975), (1e4, 0.9985)])
def test_the_plug_in_of_the_mode_approaches_omega(n, ratio):
    K = float(round(math.sqrt(n)))
    plug_in, exact = (new_weight(kind, 1.0, 0.5, 1.0, float(n), K) for kind in (MODE, QUADRATURE))
    assert plug_in / exact == pytest.approx(ratio, abs=6e-4)


@pytest.mark.parametrize(("a", "sigma", "tau"), [(1, 0.5, 1), (0.1, 0.1, 3), (20, 0.8, 0.2)])
def test_log_v_equals_the_brute_force_integral(a, sigma, tau):
    for n, K in ((1.0, 1.0), (7.0, 3.0), (12.5, 3.7), (300.0, 20.0)):
        law = LogU(n, n - sigma * K, a, sigma, tau)
        want = K * math.log(a) - math.lgamma(n) + law.log_integral()
        assert log_v(a, sigma, tau, n, K) == pytest.approx(want, abs=1e-10 * (1 + abs(want)))


def test_huge_streams_keep_their_digits():
    n, K = 1e9, 3e4
    omega = new_weight(QUADRATURE, 1.0, 0.5, 1.0, n, K)
    assert new_weight(MODE, 1.0, 0.5, 1.0, n, K) == pytest.approx(omega, rel=1e-4)
    assert omega == pytest.approx(nggp_omega(n, K, 1.0, 0.5, 1.0), rel=1e-6)


@pytest.mark.parametrize("n", [1e30, 1e60, 1e120, 1e300])
def test_absurd_masses_neither_hang_nor_lose_omega(n):
    """omega^((1 + sigma) / sigma) grows like n; the integral would drown in rounding."""
    omega = new_weight(QUADRATURE, 1.0, 0.5, 1.0, n, 1000.0)
    assert omega == pytest.approx(n ** (1 / 3), rel=1e-6)
    log_v(1.0, 0.5, 1.0, n, 1000.0)


@pytest.mark.parametrize("sigma", [1e-3, 1e-7, 1e-15])
@pytest.mark.parametrize("a", [1e-2, 1e-6, 1e-100])
def test_tails_of_any_length_are_summed_and_obey_the_recursion(a, sigma):
    """V(n, K) = (n - sigma K) V(n + 1, K) + V(n + 1, K + 1), whose ratio is omega.

    The density of log U is as long as 1 / a or 1 / sigma here; equal steps would never arrive.
    """
    for n, K in ((3.0, 1.0), (50.0, 9.0), (1e4, 300.0)):
        one, same, more = (log_v(a, sigma, 1.0, *at) for at in ((n, K), (n + 1, K), (n + 1, K + 1)))
        total = (n - sigma * K) * math.exp(same - one) + math.exp(more - one)
        tolerance = 1e-12 + 1e-15 * abs(one)
        assert total == pytest.approx(1.0, abs=tolerance)
        omega = new_weight(QUADRATURE, a, sigma, 1.0, n, K)
        assert omega == pytest.approx(math.exp(more - same), rel=tolerance)
