"""Laws of weights that are broken off a stick."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, digamma, gammaln

from evermix.priors import DP, PitmanYor

PRIORS = [
    DP(1.0),
    DP(0.3),
    DP(20.0),
    PitmanYor(1.0, 0.25),
    PitmanYor(-0.3, 0.5),
    PitmanYor(0.0, 0.7),
    PitmanYor(2.0, 0.0),
]
MASSES = [np.array(m) for m in ([0.0, 0.0], [3.0, 1.0], [0.4, 7.3], [25.0, 0.01], [5.0, 5.0])]
STEP = 0.25

every_prior = pytest.mark.parametrize("prior", PRIORS, ids=repr)


def discount(prior):
    return prior.discount if isinstance(prior, PitmanYor) else 0.0


class TwoFractions:
    """The joint density of the first two fractions given soft counts (2,), on a fine grid.

    Fractions are v = expit(z), and the grid is over z: sums over it are exact to rounding.
    """

    def __init__(self, prior, mass):
        z = np.arange(-100.0, 200.0, STEP)
        log_v, log_rest = -np.logaddexp(0.0, -z), -np.logaddexp(0.0, z)
        d = discount(prior)
        first, second = (
            (1 - d) * log_v
            + (prior.alpha + k * d) * log_rest
            - betaln(1 - d, prior.alpha + k * d)
            + math.log(STEP)
            for k in (1, 2)
        )
        self.log_w = np.stack(np.broadcast_arrays(log_v[:, None], log_rest[:, None] + log_v))
        log_p = first[:, None] + second + np.tensordot(mass, self.log_w, axes=1)
        self.log_evidence = np.logaddexp.reduce(log_p, axis=None)
        self.p = np.exp(log_p - self.log_evidence)

    def mean(self, values):
        """Expectations (2,) of values (2, Q, Q)."""
        return np.sum(self.p * values, axis=(1, 2))


@every_prior
def test_evidence_and_expectations_equal_brute_force_integrals(prior):
    """Over both fractions at once, from w_1 = v_1 and w_2 = (1 - v_1) v_2 alone."""
    for mass in MASSES:
        law = TwoFractions(prior, mass)
        assert prior.log_stick_evidence(mass) == pytest.approx(law.log_evidence, abs=1e-9)
        np.testing.assert_allclose(prior.expected_log_weights(mass), law.mean(law.log_w), rtol=1e-9)
        weights = law.mean(np.exp(law.log_w))
        np.testing.assert_allclose(np.exp(prior.log_stick_weights(mass))[:2], weights, rtol=1e-9)


@every_prior
def test_expected_weights_are_products_of_expected_fractions(prior):
    """The fractions are independent Beta variables."""
    mass = np.array([2.5, 0.3, 6.0, 1.0])
    v = stats.beta(*prior.broken(mass)).mean()
    want = np.append(v, 1.0) * np.append(1.0, np.cumprod(1 - v))
    np.testing.assert_allclose(np.exp(prior.log_stick_weights(mass)), want, rtol=1e-12)


@every_prior
def test_the_first_fraction_falls_out_of_expected_logs(prior):
    """What is left of the stick is broken like a whole one, with alpha + discount for alpha."""
    mass = np.array([2.5, 0.3, 6.0, 1.0])
    behind = PitmanYor(prior.alpha + discount(prior), discount(prior))
    a, b = (values[0] for values in prior.broken(mass))
    want = digamma(b) - digamma(a + b) + behind.expected_log_weights(mass[1:])
    np.testing.assert_allclose(prior.expected_log_weights(mass)[1:], want, rtol=1e-12)


@every_prior
def test_expected_weights_sum_to_one(prior):
    for mass in (*MASSES, np.empty(0), np.zeros(30), np.linspace(50.0, 0.0, 30)):
        log_w = prior.log_stick_weights(mass)
        assert log_w.shape == (len(mass) + 1,)
        assert np.exp(log_w).sum() == pytest.approx(1.0, abs=1e-12)


@every_prior
def test_an_appended_empty_cluster_changes_nothing(prior):
    """Truncations are nested: it only takes its share of what lies behind the others."""
    mass = np.array([4.0, 0.7, 2.2])
    more = np.append(mass, 0.0)
    assert prior.log_stick_evidence(more) == prior.log_stick_evidence(mass)
    assert prior.log_stick_evidence(np.zeros(5)) == 0.0
    np.testing.assert_array_equal(
        prior.expected_log_weights(more)[:3], prior.expected_log_weights(mass)
    )
    few, many = prior.log_stick_weights(mass), prior.log_stick_weights(more)
    np.testing.assert_array_equal(many[:3], few[:3])
    assert np.logaddexp(*many[3:]) == pytest.approx(few[3], abs=1e-13)


@every_prior
def test_evidence_of_many_counts_at_once(prior):
    mass = np.random.default_rng(0).gamma(1.0, size=(2, 5, 3))
    want = [[prior.log_stick_evidence(row) for row in rows] for rows in mass]
    np.testing.assert_array_equal(prior.log_stick_evidence(mass), want)


@every_prior
def test_small_clusters_behind_a_large_one_keep_their_digits(prior):
    small, smaller = 2.0**-20, 2.0**-30
    _, b = prior.broken(np.array([2.0**40, small, smaller]))
    want = prior.sticks(3)[1] + np.array([small + smaller, smaller, 0.0])
    np.testing.assert_array_equal(b, want)


# ---- sticks and partitions -------------------------------------------------------------------


def placed(sizes, T):
    """Counts (P, T) of clusters when blocks take different positions, in all P ways."""
    ways = list(permutations(range(T), len(sizes)))
    mass = np.zeros((len(ways), T))
    for block, size in enumerate(sizes):
        mass[np.arange(len(ways)), [places[block] for places in ways]] = size
    return mass


@every_prior
@pytest.mark.parametrize("sizes", [(1,), (4,), (1, 1), (3, 1), (5, 2), (2, 1, 1)])
@pytest.mark.parametrize("T", [1, 2, 4])
def test_evidence_summed_over_positions_is_the_partition_probability(prior, sizes, T):
    """A partition does not say which stick each block has: sum over the first T, and those behind.

    What is left behind T sticks is broken like a whole one, with alpha + T discount for alpha.
    """
    behind = PitmanYor(prior.alpha + T * discount(prior), discount(prior))
    a, b = (values[-1] for values in prior.sticks(T + 1))
    found = 0.0
    for chosen in product([True, False], repeat=len(sizes)):
        mass = placed(np.compress(chosen, sizes), T + 1)
        mass = mass[mass[:, T] == 0]
        rest = np.compress(np.logical_not(chosen), sizes).astype(float)
        mass[:, T] = rest.sum()  # all in the next stick, which must be divided out again
        divided = betaln(a + rest.sum(), b) - betaln(a, b)
        log_p = prior.log_stick_evidence(mass) - divided + behind.log_eppf(rest)
        found += np.exp(log_p).sum()
    assert found == pytest.approx(math.exp(prior.log_eppf(np.array(sizes, float))), rel=1e-11)


@every_prior
@pytest.mark.parametrize("sizes", [(4,), (3, 1), (2, 1, 1)])
def test_the_first_sticks_hold_nearly_all_of_the_partition_probability(prior, sizes):
    """At most n times the expected length of what is left behind them is missing."""
    for T in (12, 24):
        found = np.exp(prior.log_stick_evidence(placed(sizes, T))).sum()
        missing = math.exp(prior.log_eppf(np.array(sizes, float))) - found
        assert -1e-12 < missing < sum(sizes) * math.exp(prior.log_stick_weights(np.zeros(T))[-1])


@pytest.mark.parametrize("alpha", [0.1, 0.3, 1.0])
def test_the_partition_probability_is_reached_where_sticks_are_short(alpha):
    """For a Dirichlet process, what is left shrinks by alpha / (1 + alpha) at every stick."""
    prior = DP(alpha)
    for sizes in ([6.0, 1.0], [3.0, 3.0], [2.0, 1.0, 1.0]):
        found = np.exp(prior.log_stick_evidence(placed(sizes, 40))).sum()
        assert found == pytest.approx(math.exp(prior.log_eppf(np.array(sizes))), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 1.0, 20.0])
def test_evidence_depends_on_the_order_and_is_highest_for_descending_counts(alpha):
    r"""It is :math:`\prod_k \Gamma(1 + n_k) \alpha / (\alpha + \sum_{l \ge k} n_l)`, times
    :math:`\Gamma(\alpha) / \Gamma(\alpha + n)`.
    """
    prior, mass = DP(alpha), np.array([6.0, 3.5, 1.0, 0.2])
    orders = np.array(list(permutations(mass)))
    got = prior.log_stick_evidence(orders)
    left = np.cumsum(orders[:, ::-1], axis=1)
    each = gammaln(1 + orders) + math.log(alpha) - np.log(alpha + left)
    want = each.sum(axis=1) + gammaln(alpha) - gammaln(alpha + mass.sum())
    np.testing.assert_allclose(got, want, atol=1e-11)
    np.testing.assert_array_equal(orders[np.argmax(got)], mass)
    assert np.sum(got >= got.max() - 1e-9) == 1
