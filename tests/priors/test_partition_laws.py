"""Laws of random partitions that every prior obeys."""

import math

import numpy as np
import pytest

from helpers.oracles import grown, partition_shapes
from helpers.prior_cases import EVERY, GIBBS, SIZES

every_prior = pytest.mark.parametrize("prior", EVERY, ids=repr)


@every_prior
def test_partition_probabilities_sum_to_one(prior):
    shapes = partition_shapes(6)
    total = sum(count * math.exp(prior.log_eppf(np.array(s, float))) for s, count in shapes.items())
    assert total == pytest.approx(1.0, abs=1e-11)


@every_prior
def test_the_predictive_is_the_ratio_of_partition_probabilities(prior):
    for sizes in SIZES:
        want = np.array([prior.log_eppf(s) for s in grown(sizes)]) - prior.log_eppf(sizes)
        got = prior.log_weights(sizes, np.ones(len(sizes)))
        np.testing.assert_allclose(np.exp(got), np.exp(want), rtol=1e-10, err_msg=str(sizes))


@every_prior
def test_merge_odds_are_the_difference_of_log_probabilities(prior):
    sizes = np.array([5.0, 3.0, 2.0, 1.0])
    pairs = np.array([[0, 1], [0, 3], [2, 3]])
    got = prior.log_merge_odds(sizes, np.ones(4), pairs)
    for (a, b), odds in zip(pairs, got, strict=True):
        fused = np.append(np.delete(sizes, [a, b]), sizes[a] + sizes[b])
        assert odds == pytest.approx(prior.log_eppf(fused) - prior.log_eppf(sizes), abs=1e-10)


@every_prior
def test_merge_odds_of_soft_clusters_are_finite(prior):
    """Soft K may be below 2, but never less than one cluster is left."""
    mass, pairs = np.array([2.0, 1.2]), np.array([[0, 1]])
    fused = prior.log_merge_odds(mass, np.ones(2), pairs)
    soft = prior.log_merge_odds(mass, np.array([1.0, 0.7]), pairs)
    assert soft == pytest.approx(fused, abs=3.0)


@every_prior
def test_the_first_observation_opens_a_cluster(prior):
    nothing = np.empty(0)
    assert prior.log_weights(nothing, nothing).tolist() == [0.0]
    assert prior.log_eppf(nothing) == 0.0
    assert prior.log_eppf(np.ones(1)) == pytest.approx(0.0, abs=1e-12)


@every_prior
def test_an_empty_cluster_changes_nothing(prior):
    bare = prior.log_weights(np.array([3.0, 1.5]), np.array([1.0, 0.9]))
    with_empty = prior.log_weights(np.array([3.0, 0.0, 1.5]), np.array([1.0, 0.0, 0.9]))
    np.testing.assert_allclose(with_empty[[0, 2, 3]], bare, rtol=1e-12)
    assert with_empty[1] == -np.inf


@every_prior
def test_soft_weights_are_probabilities(prior):
    mass, occupied = np.array([3.2, 0.7, 0.02, 1.9]), np.array([0.99, 0.6, 0.02, 0.8])
    weights = np.exp(prior.log_weights(mass, occupied))
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (weights > 0).all()


@pytest.mark.parametrize("prior", GIBBS, ids=repr)
def test_v_obeys_the_gibbs_recursion_for_real_sizes(prior):
    """V(n, K) = (n - sigma K) V(n + 1, K) + V(n + 1, K + 1)."""
    sigma = prior.scalars().sigma
    for n, K in ((1.0, 1.0), (6.0, 2.0), (17.3, 4.6), (1000.0, 31.5)):
        stay, new = prior.log_v(n + 1, K), prior.log_v(n + 1, K + 1)
        want = np.logaddexp(math.log(n - sigma * K) + stay, new)
        assert prior.log_v(n, K) == pytest.approx(want, abs=1e-9)
