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

from math import exp, inf, log
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.kernels.base import kernel

__all__ = ["Blocks", "Topics", "switch_pass"]

STRETCH = 16  # words of a block whose probabilities are multiplied before the log is taken
LEAST = 1e-200  # of weights of a block, of which the largest is one
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
    sizes, jump, product = np.zeros(K, dtype=np.int64), np.empty(K), np.empty(K)
    for k in range(K):
        jump[k] = exp(topics.log_jump[k])
        for t in range(T):
            sizes[k] += topics.counts[t, k]
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
        for i in range(n_free):
            _weigh(blocks, topics, jump, free[i], safe[:n_safe], product, weight[:, i])
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
    blocks: Blocks, topics: Topics, jump: Array, b: int, safe: Array, product: Array, out: Array
) -> None:
    """Write the weight of each safe topic for block b, over the largest."""
    begin, end, peak = blocks.begin[b], blocks.begin[b + 1], 0.0
    if end - begin <= STRETCH:
        product[:] = jump
        for w in range(begin, end):
            for k in range(product.size):
                product[k] *= topics.phi[blocks.word[w], k]
        for k in safe:
            peak = max(peak, product[k])
    if peak <= LEAST:  # too many words for a product, or too unlikely ones
        peak, stretch = -inf, STRETCH
        while peak == -inf and stretch > 0:
            peak = _log_weights(blocks, topics, b, safe, stretch, product)
            stretch //= STRETCH
        for k in safe:
            product[k] = exp(product[k] - peak)
        peak = 1.0
    for i in range(safe.size):
        out[i] = max(product[safe[i]] / peak, LEAST)


@kernel
def _log_weights(
    blocks: Blocks, topics: Topics, b: int, safe: Array, stretch: int, out: Array
) -> float:
    """Write log weights of all topics for block b, and return the largest of safe ones."""
    begin, end, product, peak = blocks.begin[b], blocks.begin[b + 1], np.ones(out.size), -inf
    out[:] = topics.log_jump
    for w in range(begin, end):
        for k in range(out.size):
            product[k] *= topics.phi[blocks.word[w], k]
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
    n_safe, n_free = weight.shape
    on, total, rest = topics.on[t], np.zeros(n_free), np.empty(n_free)
    for i in range(n_safe):
        if on[safe[i]]:
            for b in range(n_free):
                total[b] += weight[i, b]
    for i in range(n_safe):
        k, needed = safe[i], False
        if on[k]:
            for b in range(n_free):
                rest[b] = total[b] - weight[i, b]
                if rest[b] < CANCELLED * total[b]:
                    rest[b] = _others(on, safe, weight, b, i)
                    needed = needed or rest[b] == 0.0
        else:
            rest[:] = total
        if needed:
            continue
        odds = topics.log_odds[t, k] + _log_gain(weight[i], rest)
        on[k] = rng.random() < 1.0 / (1.0 + exp(min(-odds, 700.0)))
        for b in range(n_free):
            total[b] = rest[b] + weight[i, b] if on[k] else rest[b]


@kernel
def _others(on: Array, safe: Array, weight: Array, b: int, without: int) -> float:
    """Sum of the weights of all topics but one that are on, for a block."""
    total = 0.0
    for i in range(safe.size):
        if i != without and on[safe[i]]:
            total += weight[i, b]
    return total


@kernel
def _log_gain(weight: Array, rest: Array) -> float:
    """Log of the product over blocks of 1 + weight / rest."""
    total, product = 0.0, 1.0
    for b in range(weight.size):
        product *= 1.0 + weight[b] / rest[b]
        if product > 1e100:
            total += log(product)
            product = 1.0
    return total + log(product)


@kernel
def _order(blocks: Blocks, on: Array, safe: Array, free: Array, weight: Array, rng: Any) -> None:
    """Draw the topics of free blocks among those that are on."""
    for b in range(free.size):
        total = 0.0
        for i in range(safe.size):
            if on[safe[i]]:
                total += weight[i, b]
        target = rng.random() * total
        for i in range(safe.size):
            if on[safe[i]]:
                blocks.dish[free[b]] = safe[i]  # the last one, if rounding runs over
                target -= weight[i, b]
                if target < 0.0:
                    break
