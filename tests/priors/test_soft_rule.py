"""The predictive rule for soft assignments, against the average over all labellings."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from evermix.priors import DP, NGGP
from helpers.oracles import expected_predictive, occupied
from helpers.prior_cases import ARRAYS, EVERY, GeneralizedGamma


def distance(prior, q):
    """Total variation between the soft rule and the exact average."""
    exact = expected_predictive(lambda sizes: prior.log_weights(sizes, np.ones(len(sizes))), q)
    soft = np.exp(prior.log_weights(q.sum(axis=0), occupied(q)))
    return 0.5 * np.abs(soft - exact).sum()


@pytest.mark.parametrize("sigma", [0.25, 0.5, 0.75])
def test_the_soft_rule_is_nearly_the_exact_average(sigma):
    rng = np.random.default_rng(0)
    prior = NGGP(1.0, sigma, 1.0)
    distances = [distance(prior, rng.dirichlet(np.full(4, 0.5), size=6)) for _ in range(4)]
    assert np.mean(distances) < 0.003


def test_the_soft_rule_is_exact_for_the_dirichlet_process():
    q = np.random.default_rng(1).dirichlet(np.ones(4), size=6)
    assert distance(DP(1.3), q) == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("prior", EVERY, ids=repr)
def test_hard_assignments_give_the_exact_predictive(prior):
    labels = np.array([0, 1, 0, 2, 0, 1])
    q = np.eye(3)[labels]
    sizes = q.sum(axis=0)
    exact = np.array([prior.log_eppf(np.append(sizes, 1.0)) - prior.log_eppf(sizes)])
    got = prior.log_weights(sizes, occupied(q))[-1:]
    np.testing.assert_allclose(np.exp(got), np.exp(exact), rtol=1e-10)


def log_soft_eppf(prior, q):
    """The joint law of the partition and U with soft sizes, integrated over log u on a fine grid.

    A cluster of mass m that is occupied with probability p stands for p clusters of size m / p.
    """
    mass, p = q.sum(axis=0), occupied(q)
    v = np.arange(-60.0, 60.0, 0.01)
    u, n = np.exp(v), mass.sum()
    blocks = p @ prior.log_moment((mass / p)[:, None], u)
    return logsumexp(n * v - prior.laplace_exponent(u) + blocks) + np.log(0.01) - gammaln(n)


@pytest.mark.parametrize("prior", [*ARRAYS, GeneralizedGamma()], ids=repr)
def test_merge_odds_of_soft_clusters_are_those_of_their_rows_together(prior):
    """No row is in doubt between the two clusters, so that one is occupied whatever the other."""
    q = np.array([[0.6, 0.0, 0.4], [0.7, 0.0, 0.3], [0.0, 0.8, 0.2], [0.0, 0.5, 0.5]])
    fused = np.column_stack([q[:, 0] + q[:, 1], q[:, 2]])
    (got,) = prior.log_merge_odds(q.sum(axis=0), occupied(q), np.array([[0, 1]]))
    assert got == pytest.approx(log_soft_eppf(prior, fused) - log_soft_eppf(prior, q), abs=1e-9)


@pytest.mark.parametrize("prior", EVERY, ids=repr)
def test_less_than_one_observation_still_gives_probabilities(prior):
    """Small weights and forgetting may leave n far below 1."""
    mass = np.array([1e-3, 2e-3])
    weights = np.exp(prior.log_weights(mass, mass))
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1.0)
