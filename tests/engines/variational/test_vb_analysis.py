"""Which clusters of a sample are merged: disjoint pairs whose gains sum to the most."""

import numpy as np
import pytest

from evermix.engines.seeding import Sample
from evermix.engines.variational.moves import analysis
from evermix.engines.variational.moves.analysis import _greedy, _matching, valued
from evermix.families import Gaussian
from evermix.model import Model
from evermix.priors import DP


def best_total(gain, left=None):
    """By trying all."""
    left = tuple(range(len(gain))) if left is None else left
    if len(left) < 2:
        return 0.0
    first, rest = left[0], left[1:]
    totals = [best_total(gain, rest)]
    for k, other in enumerate(rest):
        totals.append(gain[first, other] + best_total(gain, rest[:k] + rest[k + 1 :]))
    return max(totals)


def total(gain, pairs):
    return sum(gain[a, b] for a, b in pairs)


@pytest.mark.parametrize("K", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("shift", [-3.0, -1.0, 0.0, 3.0])
def test_pairs_are_disjoint_and_the_best_of_all(K, shift):
    rng = np.random.default_rng(K)
    for _ in range(10):
        gain = rng.normal(shift, size=(K, K))
        gain += gain.T
        pairs = _matching(gain)
        flat = [k for pair in pairs for k in pair]
        assert len(set(flat)) == len(flat)
        assert all(gain[a, b] > 0 for a, b in pairs)
        assert total(gain, pairs) == pytest.approx(best_total(gain))


def test_the_best_pair_is_not_always_part_of_the_best_pairs():
    """Eight clusters of the edges data under a prior that expects far too wide ones."""
    gain = np.full((8, 8), -1.0)
    links = {(3, 4): 6474.0, (5, 7): 4090.0, (1, 2): 3970.0, (5, 6): 3032.0, (0, 7): 1293.0}
    for (a, b), value in links.items():
        gain[a, b] = gain[b, a] = value
    assert total(gain, _matching(gain)) == 6474 + 3970 + 3032 + 1293
    assert total(np.maximum(gain, 0), _greedy(np.maximum(gain, 0.0))) == 6474 + 4090 + 3970


def test_a_pair_that_is_no_gain_after_all_does_not_block_the_next_best(monkeypatch):
    """Three clusters of the same kind; the two that are most alike must not become one."""
    X = np.random.default_rng(0).normal(size=(150, 2))
    model = Model(Gaussian(scale=np.eye(2)).candidates(X)[0], DP(1.0))
    sample = Sample(model.family, X, np.ones(150))
    r = np.zeros((150, 3))
    r[:120, :2], r[120:, 2] = 0.5, 1.0
    found, shares = valued(model, sample, r)

    def lost(sample, found, r, i, j):
        return np.inf if {i, j} == {0, 1} else 0.0

    monkeypatch.setattr(analysis, "_entropy_lost", lost)
    fewer = analysis._merged(model, sample, found, shares)
    np.testing.assert_allclose(np.sort(fewer.mass), [60.0, 90.0])


def test_what_is_not_a_number_is_no_gain():
    assert _matching(np.array([[0.0, np.nan], [np.nan, 0.0]])) == []
    assert _matching(np.full((3, 3), -1.0)) == []
