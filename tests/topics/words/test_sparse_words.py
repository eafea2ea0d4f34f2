"""A word that looks only at the topics that have it draws as one that looks at all of them."""

import numpy as np
import pytest
from scipy import sparse

from evermix.kernels.topics.dishes import room_for_weights
from evermix.kernels.topics.sparse import (
    choose_sparse,
    count_in,
    count_out,
    sum_weights,
    weigh,
)
from evermix.topics.words.sweeps import topics_of_words

GRID = (np.arange(4000) + 0.5) / 4000
BETA, SCALE = 0.3, 0.7


def lists_of(counts, room=3):
    """Return the lists of counts (V, K), with room for some more topics of each word."""
    start = np.append(0, np.cumsum((counts > 0).sum(axis=1) + room))
    return topics_of_words(sparse.csr_matrix(counts.astype(np.int32)), start)


def held(lists, x):
    some = slice(lists.start[x], lists.end[x])
    return dict(zip(lists.topic[some].tolist(), lists.n[some].tolist(), strict=True))


@pytest.mark.parametrize("mean", [0.0, 0.3, 5.0])
def test_lists_have_the_topics_with_most_words_first(mean):
    """Those that have a word equally often are in order; words without topics have none."""
    counts = np.random.default_rng(0).poisson(mean, size=(40, 30)).astype(np.int32)
    counts[[3, 39]] = 0
    lists = lists_of(counts)
    for x, row in enumerate(counts):
        some = slice(lists.start[x], lists.end[x])
        order = [k for k in np.argsort(-row, kind="stable") if row[k] > 0]
        assert lists.topic[some].tolist() == order
        assert lists.n[some].tolist() == row[order].tolist()


@pytest.mark.parametrize("novel", [0.0, 1.5])
@pytest.mark.parametrize("K", [1, 2, 9, 30, 70])
@pytest.mark.parametrize("less", [0, 2])
def test_topics_are_drawn_by_weight_and_what_is_left_is_uniform(K, novel, less):
    rng = np.random.default_rng(K)
    counts = rng.poisson(0.5, size=(2, K))
    counts[1, K // 2] = 3
    worth, own = room_for_weights(K), K // 2
    worth.old[:] = rng.random(K) * (rng.random(K) < 0.3)
    worth.top[:] = rng.random(K)
    if K > 2:
        worth.old[1] = worth.top[1] = 0.0
    sum_weights(worth, K)
    lists, left_out = lists_of(counts), np.where(np.arange(K) == own, less, 0)
    whole = worth.old + SCALE * worth.top
    weight = np.append((BETA + counts[1] - left_out) * whole, novel)
    drawn = [choose_sparse(lists, 1, BETA, SCALE, worth, K, novel, own, less, u) for u in GRID]
    dish, left = map(np.array, zip(*drawn, strict=True))
    share = np.bincount(dish, minlength=K + 1) / len(GRID)
    assert np.abs(share - weight / weight.sum()).max() <= 3.0 / len(GRID)
    for k in np.unique(dish):
        some = np.sort(left[dish == k]) / (novel if k == K else whole[k])
        even = (np.arange(len(some)) + 0.5) / len(some)
        assert np.abs(some - even).max() <= 3.0 / len(some)


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1.0, 0.0), 1.0])
def test_rounding_never_ends_at_a_topic_without_weight(uniform):
    counts = np.ones((1, 6), dtype=int)
    for full in range(6):
        worth = room_for_weights(6)
        worth.top[full] = 1.0
        sum_weights(worth, 6)
        got, left = choose_sparse(lists_of(counts), 0, BETA, SCALE, worth, 6, 0.0, full, 1, uniform)
        assert got == full
        assert left <= SCALE


def test_lists_hold_the_counts_and_stay_sorted():
    rng, counts = np.random.default_rng(0), np.random.default_rng(1).poisson(0.7, size=(4, 6))
    lists = lists_of(counts, room=6)
    for _ in range(2000):
        x, k = rng.integers(4), rng.integers(6)
        if counts[x, k] and rng.random() < 0.55:
            count_out(lists, x, k)
            counts[x, k] -= 1
        else:
            count_in(lists, x, k)
            counts[x, k] += 1
        assert held(lists, x) == {k: n for k, n in enumerate(counts[x]) if n}
        assert np.all(np.diff(lists.n[lists.start[x] : lists.end[x]]) <= 0)


def test_sums_of_weights_follow_changes():
    rng, worth = np.random.default_rng(0), room_for_weights(5)
    sum_weights(worth, 5)
    for _ in range(100):
        weigh(worth, int(rng.integers(5)), *rng.random(2))
    np.testing.assert_allclose(worth.sums, [worth.old.sum(), worth.top.sum()], rtol=1e-12)
