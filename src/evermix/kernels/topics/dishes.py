r"""What the word loops of topic models share: words in documents, and the dishes they choose.

A dish is a topic. Documents order it at tables, and the weight of a dish for one more table of time
t is :math:`\mathrm{share}_{tk} (m_k - \mathrm{discount})`, where m counts tables; or the share
itself, where dishes have jumps and the discount is negative. Shares hold the factor u_t. For what
one more table at time t does to :math:`u_t^{N_t - 1} / \Gamma(N_t)` they are divided by the number
of tables there: by one if there is none, since then all choices open one and the factor cancels.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Bools, Floats, Ints
from evermix.kernels.base import lean

DONE, MORE_DISHES, BORN, MORE_TABLES = 0, 1, 2, 3
AFRESH = 16  # documents after which all weights are written again, so that no rounding adds up
CHUNK = 8  # dishes that are searched together; capacities are multiples of it


class Words(NamedTuple):
    """A corpus.   # IN."""

    word: NDArray[np.int32]  # (N,) int32, those of a document together and ascending
    start: Ints  # (D + 1,) int64, where documents begin
    time: Ints  # (D,) int64
    order: Ints  # (D,) int64, the order in which documents are visited: those of a time together
    size: int  # of the vocabulary
    beta: float  # of the Dirichlet law of topics


class Position(NamedTuple):
    """Where a loop over words or tables stands."""

    d: int  # place of the document in the order in which they are visited
    i: int  # word of the corpus, or table of the document
    K: int  # slots in use
    n_holes: int  # empty ones among them
    why: int  # DONE; or why it stopped: MORE_DISHES, there is no slot for another dish; BORN, the
    #           last choice is a new dish that needs a jump; MORE_TABLES, see indicator_pass
    born: int = -1  # the newborn dish


class DishWeights(NamedTuple):
    """Weights of dishes for a word of the present document.   # INOUT."""

    old: Floats  # (C,) weight of joining a table, over beta + count
    top: Floats  # (C,) weight of opening one, over beta + count and scale
    weight: Floats  # (C,) scratch: the weight of each for one word
    sums: Floats  # (2,) of old and of top, where words look only at topics that have them


def room_for_weights(C: int) -> DishWeights:
    """Return room for the weights of C dishes in a document."""
    old, top, weight = np.zeros((3, C))
    return DishWeights(old, top, weight, np.zeros(2))


class NewDishes(NamedTuple):
    """New dishes.   # IN."""

    new: Floats  # (T, Q) weight of a new dish of each kind
    total: Floats  # (T,) their sum
    share: Floats  # (T, Q) share of a newborn dish, where jumps are integrated out


class WordTopics(NamedTuple):
    """The topics of every word, those with most words first.   # INOUT."""

    start: Ints  # (V + 1,) int64, where the list of a word begins
    end: Ints  # (V,) int64, and where it ends: there is room for one topic for each such word
    topic: NDArray[np.int32]  # (N,) int32
    n: NDArray[np.int32]  # (N,) int32, words x of the topic


class Dishes(NamedTuple):
    """Dishes; empty slots have no tables.   # INOUT."""

    counts: NDArray[Any]  # (V, C) float32, or float64 for more than 2^24 words: words of each dish;
    #                       (V, 0) where lists are enough
    lists: WordTopics  # the same by word; of no length where words look at all dishes
    totals: Ints  # (C,) int64, their sums
    tables: Ints  # (C,) int64
    share: Floats  # (T, C)
    kind: Ints  # (C,) int64
    holes: Ints  # (C,) int64, a stack of empty slots among 0..K-1
    open: Ints  # (T,) int64, tables of each time
    discount: float


@lean
def split(uniform: float, share: float, whole: float) -> tuple[bool, float]:
    """Return True with probability share / whole, and the uniform number that is left."""
    target = uniform * whole
    if target < share:
        return True, target / share
    return False, (target - share) / (whole - share)


@lean
def _weigh(counts: NDArray[Any], beta: float, scale: float, worth: DishWeights, K: int) -> float:
    """Write the weights of all dishes for a word, and return their sum."""
    total = 0.0
    for k in range(CHUNK * ((K + CHUNK - 1) // CHUNK)):
        weight = (beta + counts[k]) * (worth.old[k] + scale * worth.top[k])
        worth.weight[k] = weight
        total += weight
    return total


@lean
def _search(weight: Floats, K: int, target: float) -> tuple[int, float]:
    """Return the first dish whose weights up to it exceed the target, or K; and what is left."""
    k, part = 0, 0.0
    while k < K:
        part = 0.0
        for i in range(CHUNK):
            part += weight[k + i]
        if target < part:
            break
        target -= part
        k += CHUNK
    k = min(k, K)
    while k < K and target >= weight[k]:
        target -= weight[k]
        k += 1
    return k, target


@lean
def choose(
    counts: NDArray[Any],  # IN (C,) words of its kind in each dish
    beta: float,
    scale: float,
    worth: DishWeights,
    K: int,
    novel: float,
    last: int,
    uniform: float,
) -> tuple[int, float]:
    """Draw a dish for a word that had ``last``, or none if that is negative.

    Returns the dish, K for a new one, of weight ``novel``; and a uniform number below its weight.
    Most words choose what they had, so that comes first, and needs no search.
    """
    target = uniform * (_weigh(counts, beta, scale, worth, K) + novel)
    if last < 0:
        k, target = _search(worth.weight, K, target)
    else:
        own = worth.weight[last]
        if target < own:
            return last, target
        worth.weight[last] = 0.0
        k, target = _search(worth.weight, K, target - own)
        worth.weight[last] = own
    while k == K and novel == 0.0 or 0 < k < K and worth.weight[k] == 0.0:
        k -= 1  # rounding ran over the last one that has weight
    return k, target


@lean
def popularity(dishes: Dishes, t: int, k: int) -> float:
    """Weight of dish k for one more table of time t, but for the number of its tables."""
    m = dishes.tables[k]
    if m == 0:
        return 0.0
    return (
        dishes.share[t, k] if dishes.discount < 0.0 else dishes.share[t, k] * (m - dishes.discount)
    )


@lean
def close_table(dishes: Dishes, t: int, k: int, n_holes: int) -> int:
    """Close a table of dish k at time t, and return how many empty slots there are."""
    dishes.open[t] -= 1
    dishes.tables[k] -= 1
    if dishes.tables[k] == 0:
        dishes.holes[n_holes] = k
        n_holes += 1
    return n_holes


@lean
def add_dish(
    dishes: Dishes, new_dishes: NewDishes, t: int, target: float, K: int, n_holes: int
) -> tuple[int, int, int]:
    """Give a new dish a slot; return it, K and the number of empty slots.

    Parameters
    ----------
    target : float
        A uniform number below the sum of the weights of all kinds, which chooses one.
    """
    kind = 0
    while kind < new_dishes.new.shape[1] - 1 and target >= new_dishes.new[t, kind]:
        target -= new_dishes.new[t, kind]
        kind += 1
    while kind > 0 and new_dishes.new[t, kind] == 0.0:
        kind -= 1
    if n_holes > 0:
        n_holes -= 1
        k = dishes.holes[n_holes]
    else:
        k = K
        K += 1
    dishes.kind[k] = kind
    for s in range(dishes.share.shape[0]):
        dishes.share[s, k] = new_dishes.share[s, kind]
    return k, K, n_holes


@lean
def count_tables(
    words: Words,
    dish: NDArray[np.int32],  # IN (N,) int32
    opens: Bools,  # IN (N,) bool
    by_time: Ints,  # OUT (T, K) int64, zeros
    by_document: Ints,  # OUT (D,) int64, zeros
) -> None:
    """Count the tables of each dish at each time, and of each document."""
    for d in range(words.time.size):
        t = words.time[d]
        for w in range(words.start[d], words.start[d + 1]):
            if opens[w]:
                by_time[t, dish[w]] += 1
                by_document[d] += 1


@lean
def count_words(
    words: Words,
    dish: NDArray[np.int32],  # IN (N,) int32
    out: NDArray[Any],  # OUT (V, C), zeros
) -> None:
    """Count the words of each dish."""
    for w in range(dish.size):
        out[words.word[w], dish[w]] += 1
