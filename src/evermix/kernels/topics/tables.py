r"""Topics that come and go: where they are on is drawn together with what tables there order.

A topic of jump J that no table of time t orders is on there with odds
:math:`q e^{-u_t J} / (1 - q)` only, so a large one that is off would hardly ever come back. Here
the orders of the tables of one time are summed out. With the words of topics given, tables with
weights :math:`W_{k \tau} = J_k \prod_{x \in \tau} \phi_k(x)` multiply these odds by

.. math::

    \prod_\tau \Big(1 + W_{k \tau} \Big/ \sum_{j \ne k} z_j W_{j \tau}\Big).

When all topics have been switched, every table orders one of those that are on. Topics that only
this time has keep their tables, since a topic without tables would be gone.
"""

from math import exp, inf, log, log1p
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.kernels.base import kernel

STRETCH = 16  # words of a block whose probabilities are multiplied before the log is taken
LEAST = 1e-200  # of weights of a block, of which the largest is one
LARGE = 230.0  # of the log of a product that can take one more factor, of 1 / LEAST at most
TILE = 8  # blocks that are weighed together
CANCELLED = 1e-6  # what is left of a sum where it is added up anew, since it is mostly rounding


class Blocks(NamedTuple):
    """Words that order a topic together, sorted by time; ``dish`` is   # INOUT."""

    word: Array  # (N,) int32, those of a block together
    begin: Array  # (M + 1,) int64, where blocks begin
    first: Array  # (T + 1,) int64, the first block of each time
    dish: Array  # (M,) int64, the topic of each block


class Topics(NamedTuple):
    """Topics; ``counts`` and ``on`` are   # INOUT."""

    phi: Array  # (V, K) probabilities of words
    log_jump: Array  # (K,)
    log_odds: Array  # (T, K) of being on, where a time has no blocks
    counts: Array  # (T, K) int64, blocks of each topic at each time
    on: Array  # (T, K) bool


@kernel
def switch_pass(blocks: Blocks, topics: Topics, rng: Any) -> None:
    """Draw where topics are on and the topics of blocks, one time after another."""
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
        _order(blocks, topics.on[t], safe[:n_safe], free[:n_free], weight, rng)
        for i in range(n_free):
            topics.counts[t, blocks.dish[free[i]]] += 1
            sizes[blocks.dish[free[i]]] += 1


@kernel
def _weigh(
    blocks: Blocks, topics: Topics, jump: Array, some: Array, safe: Array, tile: Array, out: Array
) -> None:
    """Write the weight of each safe topic for some blocks, over the largest of the block."""
    for b in range(some.size):
        _weigh_one(blocks, topics, jump, some[b], safe, tile[b])
    for i in range(safe.size):
        for b in range(some.size):
            out[i, b] = tile[b, safe[i]]


@kernel
def _weigh_one(
    blocks: Blocks, topics: Topics, jump: Array, b: int, safe: Array, out: Array
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
    blocks: Blocks, topics: Topics, b: int, safe: Array, stretch: int, out: Array
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
def _switch(topics: Topics, t: int, safe: Array, weight: Array, rng: Any) -> None:
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
def _invert(x: Array, out: Array) -> None:
    for b in range(x.size):
        out[b] = 1.0 / x[b]


@kernel
def _comes(weight: Array, share: Array, enough: float) -> bool:
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
def _stays(on: Array, safe: Array, weight: Array, share: Array, i: int, enough: float) -> bool:
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
def _others(on: Array, safe: Array, weight: Array, b: int, without: int) -> float:
    """Sum of the weights of all topics but one that are on, for a block."""
    total = 0.0
    for i in range(safe.size):
        if i != without and on[safe[i]]:
            total += weight[i, b]
    return total


@kernel
def _order(blocks: Blocks, on: Array, safe: Array, free: Array, weight: Array, rng: Any) -> None:
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
