"""Offers to observations that arrive beside a past: weights differ less, and sum to the same."""

import numpy as np
import pytest

from evermix.topics.measures.base import EVEN, Offers


def weights(offers, n):
    sizes = n - offers.discount if offers.discount >= 0.0 else np.ones(len(n))
    return np.exp(offers.atoms) * sizes


@pytest.mark.parametrize("discount", [-1.0, 0.0, 0.4])
def test_evened_weights_are_powers_with_the_same_sum_at_each_time(discount):
    rng = np.random.default_rng(0)
    atoms, n = rng.normal(size=(3, 6)) * 2, rng.integers(1, 500, 6)
    atoms[1, 2], atoms[2] = -np.inf, -np.inf  # a time that does not see an atom, and one without
    offers = Offers(atoms, np.zeros((3, 1)), np.zeros((3, 1)), np.zeros(6, np.int64), discount)
    before, after = weights(offers, n), weights(offers.evened(n), n)
    np.testing.assert_allclose(after.sum(axis=1), before.sum(axis=1))
    powers = before[:2] ** EVEN
    shares = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(after[:2] / after[:2].sum(axis=1, keepdims=True), shares)
    assert np.all(after[:2].max(axis=1) < before[:2].max(axis=1)) and not after[2].any()
