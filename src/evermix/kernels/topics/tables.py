r"""Whole tables choose topics: by slices, or while topics are switched on and off."""

from math import exp, inf, log, log1p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Bools, Floats, Ints
from evermix.kernels.base import kernel, lean
from evermix.kernels.topics.dishes import DONE, MORE_DISHES, Dishes, Words, close_table
from evermix.kernels.topics.franchise import (
    DocumentTables,
    choose_dish,
    enter,
    gather,
    put_block,
    take_block,
    weigh_block,
)

STRETCH = 16  # words of a block whose probabilities are multiplied before the log is taken
LEAST = 1e-200  # of weights of a block, of which the largest is one
LARGE = 230.0  # of the log of a product that can take one more factor, of 1 / LEAST at most
TILE = 8  # blocks that are weighed together
CANCELLED = 1e-6  # what is left of a sum where it is added up anew, since it is mostly rounding


# ---- slices --------------------------------------------------------------------------------


class MovingTables(NamedTuple):
    """The tables that move.   # IN."""

    first: Ints  # (J,) int64, the word that opens each table
    document: Ints  # (J,) int64
    level: Floats  # (J,) log level


class DishPool(NamedTuple):
    """All dishes with jumps, the largest jump first.   # INOUT."""

    log_jump: Floats  # (A,)
    presence: Floats  # (T, A) what each time sees of a dish
    slot: Ints  # (A,) int64 its slot of the dishes, -1 without tables
    dish: Ints  # (C,) int64 the number here of the dish in each slot, -1 if it is empty


@lean
def _free_weight(pool: DishPool, t: int, level: float) -> float:
    """Sum what time t sees of the dishes without tables above a level."""
    total, j = 0.0, 0
    while j < pool.log_jump.size and pool.log_jump[j] >= level:
        if pool.slot[j] < 0:
            total += pool.presence[t, j]
        j += 1
    return total


@lean
def _choose_free(pool: DishPool, t: int, level: float, target: float) -> int:
    """Return the dish without tables where the sum of :func:`_free_weight` passes the target."""
    chosen, j = -1, 0
    while j < pool.log_jump.size and pool.log_jump[j] >= level and target >= 0.0:
        if pool.slot[j] < 0 and pool.presence[t, j] > 0.0:
            target -= pool.presence[t, j]
            chosen = j
        j += 1
    return chosen


@lean
def _open_to(pool: DishPool, tables: DocumentTables, t: int, level: float, K: int) -> int:
    """Write what time t sees of each slot above a level; return the number up to the last."""
    last = 1
    for k in range(K):
        tables.worth.weight[k] = 0.0
        j = pool.dish[k]
        if j >= 0 and pool.log_jump[j] >= level and pool.presence[t, j] > 0.0:
            tables.worth.weight[k] = pool.presence[t, j]
            last = k + 1
    return last


@lean
def slice_pass(
    words: Words,
    dishes: Dishes,
    tables: DocumentTables,
    pool: DishPool,
    moving: MovingTables,
    i: int,
    K: int,
    n_holes: int,
    rng: Any,
) -> tuple[int, int, int, int]:
    """Let tables choose among dishes whose jumps lie above a level of their own, from table i on.

    Such a dish has as weight what the time of the table sees of it, times the probability of the
    words of the table. Dishes are there whether they have tables or not; those without have no
    words, so that all of them suit a block equally, and only dishes with tables need a slot.

    Returns
    -------
    i, K, n_holes, why : int
        Where to go on; DONE, or MORE_DISHES if there is no slot for another dish.
    """
    capacity, at = dishes.totals.size, -1
    while i < moving.first.size:
        if K == capacity and n_holes == 0:
            return i, K, n_holes, MORE_DISHES
        d, level = moving.document[i], moving.level[i]
        t, table = words.time[d], tables.table[moving.first[i]]
        if d != at:
            gather(words, tables, d, enter(words, tables, d))
            at = d
        k = tables.order[table]
        n = take_block(words, dishes, tables, table)
        dishes.open[t] += 1  # the table stays open
        n_holes = close_table(dishes, t, k, n_holes)
        if dishes.tables[k] == 0:
            pool.slot[pool.dish[k]] = -1  # it is still there, above the level of its last table
            pool.dish[k] = -1
        free = _free_weight(pool, t, level)
        last = _open_to(pool, tables, t, level, K)
        novel = weigh_block(words, dishes, tables, free, n, last)
        k, share = choose_dish(tables, novel, last, rng)
        if k == last:
            j = _choose_free(pool, t, level, share * free)
            if n_holes > 0:
                n_holes -= 1
                k = dishes.holes[n_holes]
            else:
                k = K
                K += 1
            pool.slot[j], pool.dish[k] = k, j
        put_block(words, dishes, tables, table, k)
        i += 1
    return i, K, n_holes, DONE


# ---- topics that come and go ---------------------------------------------------------------


class WordBlocks(NamedTuple):
    """Words that order a topic together, sorted by time; ``dish`` is   # INOUT."""

    word: NDArray[np.int32]  # (N,) int32, those of a block together
    begin: Ints  # (M + 1,) int64, where blocks begin
    first: Ints  # (T + 1,) int64, the first block of each time
    dish: Ints  # (M,) int64, the topic of each block


class SwitchedTopics(NamedTuple):
    """SwitchedTopics; ``counts`` and ``on`` are   # INOUT."""

    phi: Floats  # (V, K) probabilities of words
    log_jump: Floats  # (K,)
    log_odds: Floats  # (T, K) of being on, where a time has no blocks
    counts: Ints  # (T, K) int64, blocks of each topic at each time
    on: Bools  # (T, K) bool


@kernel
def switch_pass(blocks: WordBlocks, topics: SwitchedTopics, rng: Any) -> None:
    r"""Draw where topics are on and the topics of blocks, one time after another.

    A topic of jump J that no table of time t orders is on there with odds
    :math:`q e^{-u_t J} / (1 - q)` only, so a large one that is off would hardly ever come back.
    Here the orders of the tables of one time are summed out. With the words of topics given, tables
    with weights :math:`W_{k \tau} = J_k \prod_{x \in \tau} \phi_k(x)` multiply these odds by

    .. math::

        \prod_\tau \Big(1 + W_{k \tau} \Big/ \sum_{j \ne k} z_j W_{j \tau}\Big).

    When all topics have been switched, every table orders one of those that are on. Topics that
    only this time has keep their tables, since a topic without tables would be gone.
    """
    T, K = topics.on.shape
    sizes, jump, tile = np.zeros(K, dtype=np.int64), np.empty(K), np.empty((TILE, K))
    for t in range(T):
        for k in range(K):
            sizes[k] += topics.counts[t, k]
    for k in range(K):
        jump[k] = exp(topics.log_jump[k])
    safe, free = np.empty(K, dtype=np.int64), np.empty(blocks.dish.size, dtype=np.int64)
    for t in range(T):
        n_safe, n_free = 0, 0
        for k in range(K):
            if sizes[k] > topics.counts[t, k]:  # other times have it: it cannot vanish here
                safe[n_safe] = k
                n_safe += 1
        for b in range(blocks.first[t], blocks.first[t + 1]):
            if sizes[blocks.dish[b]] > topics.counts[t, blocks.dish[b]]:
                free[n_free] = b
                n_free += 1
        weight = np.empty((n_safe, n_free))
        for i in range(0, n_free, TILE):
            some = free[i : min(i + TILE, n_free)]
            _weigh(blocks, topics, jump, some, safe[:n_safe], tile, weight[:, i:])
        _switch(topics, t, safe[:n_safe], weight, rng)
        for i in range(n_free):
            topics.counts[t, blocks.dish[free[i]]] -= 1
            sizes[blocks.dish[free[i]]] -= 1
        _order_topics(blocks, topics.on[t], safe[:n_safe], free[:n_free], weight, rng)
        for i in range(n_free):
            topics.counts[t, blocks.dish[free[i]]] += 1
            sizes[blocks.dish[free[i]]] += 1


@kernel
def _weigh(
    blocks: WordBlocks,
    topics: SwitchedTopics,
    jump: Floats,
    some: Ints,
    safe: Ints,
    tile: Floats,
    out: Floats,
) -> None:
    """Write the weight of each safe topic for some blocks, over the largest of the block."""
    for b in range(some.size):
        _weigh_one(blocks, topics, jump, some[b], safe, tile[b])
    for i in range(safe.size):
        for b in range(some.size):
            out[i, b] = tile[b, safe[i]]


@kernel
def _weigh_one(
    blocks: WordBlocks, topics: SwitchedTopics, jump: Floats, b: int, safe: Ints, out: Floats
) -> None:
    """Write the weight of each topic for block b, over the largest of safe ones."""
    begin, end, peak = blocks.begin[b], blocks.begin[b + 1], 0.0
    if end - begin <= STRETCH:
        out[:] = jump
        for w in range(begin, end):
            phi = topics.phi[blocks.word[w]]
            for k in range(out.size):
                out[k] *= phi[k]
        for k in safe:
            if out[k] > peak:
                peak = out[k]
    if peak <= LEAST:  # too many words for a product, or too unlikely ones
        peak, stretch = -inf, STRETCH
        while peak == -inf and stretch > 0:
            peak = _log_weights(blocks, topics, b, safe, stretch, out)
            stretch //= STRETCH
        for k in safe:
            out[k] = exp(out[k] - peak)
        peak = 1.0
    scale = 1.0 / peak
    for k in range(out.size):
        scaled = out[k] * scale
        out[k] = scaled if scaled > LEAST else LEAST


@kernel
def _log_weights(
    blocks: WordBlocks, topics: SwitchedTopics, b: int, safe: Ints, stretch: int, out: Floats
) -> float:
    """Write log weights of all topics for block b, and return the largest of safe ones."""
    begin, end, product, peak = blocks.begin[b], blocks.begin[b + 1], np.ones(out.size), -inf
    out[:] = topics.log_jump
    for w in range(begin, end):
        phi = topics.phi[blocks.word[w]]
        for k in range(out.size):
            product[k] *= phi[k]
        if (w - begin) % stretch == stretch - 1 or w == end - 1:
            for k in range(out.size):
                out[k] += log(product[k])
                product[k] = 1.0
    for k in safe:
        peak = max(peak, out[k])
    return peak


@kernel
def _switch(topics: SwitchedTopics, t: int, safe: Ints, weight: Floats, rng: Any) -> None:
    """Draw which topics are on at time t, the topics of blocks summed out."""
    on, n_free = topics.on[t], weight.shape[1]
    total, share = np.zeros(n_free), np.empty(n_free)  # of weights that are on, and one over it
    for i in range(safe.size):
        if on[safe[i]]:
            total += weight[i]
    _invert(total, share)
    for i in range(safe.size):
        k, uniform = safe[i], rng.random()
        enough = log(uniform) - log1p(-uniform) - topics.log_odds[t, k]
        if on[k] and not _stays(on, safe, weight, share, i, enough):
            on[k] = False
            for b in range(n_free):
                rest = total[b] - weight[i, b]
                cancelled = rest < CANCELLED * total[b]
                total[b] = _others(on, safe, weight, b, i) if cancelled else rest
            _invert(total, share)
        elif not on[k] and _comes(weight[i], share, enough):
            on[k] = True
            total += weight[i]
            _invert(total, share)


@kernel
def _invert(x: Floats, out: Floats) -> None:
    for b in range(x.size):
        out[b] = 1.0 / x[b]


@kernel
def _comes(weight: Floats, share: Floats, enough: float) -> bool:
    """Whether blocks gain enough by a topic: the log of the product of 1 + weight / total."""
    total, product, limit = 0.0, 1.0, exp(min(enough, LARGE))
    if enough < 0.0:
        return True
    for b in range(weight.size):
        product *= 1.0 + weight[b] * share[b]
        if product > limit:
            total += log(product)
            if total > enough:
                return True
            product, limit = 1.0, exp(min(enough - total, LARGE))
    return total + log(product) > enough


@kernel
def _stays(on: Bools, safe: Ints, weight: Floats, share: Floats, i: int, enough: float) -> bool:
    """Whether blocks gain enough by a topic that is on: 1 + weight / rest is total / rest."""
    total, product, limit = 0.0, 1.0, exp(-min(enough, LARGE))
    if enough < 0.0:
        return True
    for b in range(weight.shape[1]):
        left = 1.0 - weight[i, b] * share[b]
        if left < CANCELLED:
            if total - log(product * CANCELLED) > enough:  # however little is left
                return True
            rest = _others(on, safe, weight, b, i)
            if rest == 0.0:
                return True
            left = rest / (rest + weight[i, b])
        product *= left
        if product < limit:
            total -= log(product)
            if total > enough:
                return True
            product, limit = 1.0, exp(-min(enough - total, LARGE))
    return total - log(product) > enough


@kernel
def _others(on: Bools, safe: Ints, weight: Floats, b: int, without: int) -> float:
    """Sum of the weights of all topics but one that are on, for a block."""
    total = 0.0
    for i in range(safe.size):
        if i != without and on[safe[i]]:
            total += weight[i, b]
    return total


@kernel
def _order_topics(
    blocks: WordBlocks, on: Bools, safe: Ints, free: Ints, weight: Floats, rng: Any
) -> None:
    """Draw the topics of free blocks among those that are on."""
    left, passed = np.zeros(free.size), np.zeros(free.size, dtype=np.int64)
    chosen = np.empty(safe.size, dtype=np.int64)
    n_on = 0
    for i in range(safe.size):
        if on[safe[i]]:
            chosen[n_on] = i
            n_on += 1
            left += weight[i]
    for b in range(free.size):
        left[b] *= rng.random()
    for i in chosen[:n_on]:
        for b in range(free.size):
            left[b] -= weight[i, b]
            passed[b] += left[b] >= 0.0
    for b in range(free.size):  # the last one, if rounding runs over
        blocks.dish[free[b]] = safe[chosen[min(passed[b], n_on - 1)]]
