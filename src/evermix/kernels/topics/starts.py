"""Where words begin: topics of a fixed number, which words choose one after another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Bools, Floats, Ints
from evermix.kernels.base import lean
from evermix.kernels.topics.dishes import Words


@lean
def first_topics(
    words: Words,
    allowed: Floats,  # IN (T, K) one for the topics that a time may have, zero for others
    share: float,  # that every topic has in a document before its words, as if of so many words
    counts: NDArray[Any],  # scratch (V, K), zeros
    totals: Ints,  # scratch (K,) int64, zeros
    inside: Floats,  # scratch (K,)
    weight: Floats,  # scratch (K,)
    dish: NDArray[np.int32],  # OUT (N,) int32
    rng: Any,
) -> None:
    """Let each word choose a topic, given the words before it and those of its document."""
    K = totals.size
    for d in range(words.time.size):
        for k in range(K):
            inside[k] = share * allowed[words.time[d], k]
        for w in range(words.start[d], words.start[d + 1]):
            x, total = words.word[w], 0.0
            for k in range(K):
                p = (words.beta + counts[x, k]) / (words.size * words.beta + totals[k])
                weight[k] = inside[k] * p
                total += weight[k]
            target, chosen = rng.random() * total, -1
            for k in range(K):
                if weight[k] > 0.0:
                    chosen = k
                    target -= weight[k]
                    if target < 0.0:
                        break
            dish[w] = chosen
            counts[x, chosen] += 1
            totals[chosen] += 1
            inside[chosen] += 1.0


@lean
def one_table_each(
    words: Words,
    dish: NDArray[np.int32],  # IN (N,) int32
    number: Ints,  # scratch (K,) int64
    table: NDArray[np.int32],  # OUT (N,) int32 number of its table in the document
    opens: Bools,  # OUT (N,) bool
) -> None:
    """Seat all words of a topic in a document at one table."""
    for d in range(words.time.size):
        tables = 0
        for w in range(words.start[d], words.start[d + 1]):
            number[dish[w]] = -1
        for w in range(words.start[d], words.start[d + 1]):
            k = dish[w]
            opens[w] = number[k] < 0
            if opens[w]:
                number[k] = tables
                tables += 1
            table[w] = number[k]
