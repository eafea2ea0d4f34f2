"""A word draws a dish: every dish gets its share of the uniform numbers, whatever comes first."""

import numpy as np
import pytest

from evermix.kernels.topics.dishes import CHUNK, choose, room_for_weights, split

GRID = (np.arange(4000) + 0.5) / 4000
BETA, SCALE = 0.3, 0.7


def table(K, empty=()):
    """Counts and worth of K dishes, some of which weigh nothing; and their weights."""
    rng, C = np.random.default_rng(K), CHUNK * (K // CHUNK + 1)
    counts, worth = np.zeros(C, dtype=np.float32), room_for_weights(C)
    counts[:K] = rng.poisson(2.0, size=K)
    worth.old[:K], worth.top[:K] = rng.random((2, K))
    for k in empty:
        worth.old[k] = worth.top[k] = 0.0
    return counts, worth, ((BETA + counts) * (worth.old + SCALE * worth.top))[:K]


@pytest.mark.parametrize("novel", [0.0, 1.5])
@pytest.mark.parametrize("K", [1, 7, 8, 9, 30])
def test_dishes_are_drawn_by_weight_and_what_is_left_is_uniform(K, novel):
    counts, worth, weight = table(K, empty=[2] if K > 2 else [])
    weights = np.append(weight, novel)
    for last in (-1, 0, K // 2, K - 1):
        drawn = [choose(counts, BETA, SCALE, worth, K, novel, last, u) for u in GRID]
        dish, left = map(np.array, zip(*drawn, strict=True))
        share = np.bincount(dish, minlength=K + 1) / len(GRID)
        assert np.abs(share - weights / weights.sum()).max() <= 1.5 / len(GRID)
        for k in np.unique(dish):
            some = np.sort(left[dish == k]) / weights[k]
            even = (np.arange(len(some)) + 0.5) / len(some)
            assert np.abs(some - even).max() <= 1.0 / len(some)


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1.0, 0.0), 1.0])
@pytest.mark.parametrize("last", [-1, 0, 3, 9])
def test_rounding_never_ends_at_a_dish_without_weight(uniform, last):
    for full in range(10):
        counts, worth, _ = table(10, empty=set(range(10)) - {full})
        assert choose(counts, BETA, SCALE, worth, 10, 0.0, last, uniform)[0] == full


def test_a_uniform_number_decides_and_another_is_left():
    for share, whole in [(1, 1), (1, 4), (3, 7), (299, 300)]:
        yes, left = map(np.array, zip(*(split(u, share, whole) for u in GRID), strict=True))
        assert abs(yes.mean() - share / whole) <= 1.0 / len(GRID)
        for some in (left[yes], left[~yes]):
            even = (np.arange(len(some)) + 0.5) / max(len(some), 1)
            assert np.abs(np.sort(some) - even).max(initial=0.0) <= 1.0 / max(len(some), 1)
