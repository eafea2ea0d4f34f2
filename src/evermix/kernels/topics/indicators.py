r"""Words that choose dishes without a seat at a table: table indicators, or no tables at all.

A document with n words of a dish at t tables has an indicator for t of these words, as if each had
opened a table. Given t, all choices of t words are equally probable, and seatings are summed up in
generalised Stirling numbers, so that a word needs no seat [chen2011]_.

References
----------
.. [chen2011] C. Chen, L. Du and W. Buntine. Sampling table configurations for the hierarchical
   Poisson-Dirichlet process. ECML PKDD, 2011.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Bools, Floats, Ints
from evermix.kernels.base import lean
from evermix.kernels.topics.dishes import (
    AFRESH,
    BORN,
    DONE,
    MORE_DISHES,
    MORE_TABLES,
    Dishes,
    DishWeights,
    NewDishes,
    Position,
    Words,
    add_dish,
    choose,
    close_table,
    popularity,
    split,
)
from evermix.kernels.topics.sparse import choose_sparse, recount, sum_weights, weigh


class DocumentCounts(NamedTuple):
    """Where the words of documents are, and scratch for one document.   # INOUT."""

    dish: NDArray[np.int32]  # (N,) int32 slot of each word, -1 for none yet
    opens: Bools  # (N,) bool, the indicators
    n: Ints  # (C,) int64 words of the document
    t: Ints  # (C,) int64 tables of the document
    worth: DishWeights


@lean
def _refresh(
    words: Words, dishes: Dishes, counted: DocumentCounts, ratios: Floats, t: int, k: int
) -> None:
    """Write the weights of dish k in this document."""
    some = ratios[counted.n[k], counted.t[k]]
    inverse = 1.0 / (words.size * words.beta + dishes.totals[k])
    weigh(counted.worth, k, some[0] * inverse, some[1] * inverse * popularity(dishes, t, k))


@lean
def _weigh_all(
    words: Words, dishes: Dishes, counted: DocumentCounts, ratios: Floats, t: int, K: int
) -> None:
    """Write the weights of all dishes in a document of time t that has no words yet."""
    counted.n[:K] = 0
    counted.t[:K] = 0
    for k in range(K):
        _refresh(words, dishes, counted, ratios, t, k)
    sum_weights(counted.worth, K)


@lean
def _enter(words: Words, dishes: Dishes, counted: DocumentCounts, ratios: Floats, d: int) -> int:
    """Count the words and tables of document d; return the largest number of tables of a dish."""
    most = 0
    for w in range(words.start[d], words.start[d + 1]):
        k = counted.dish[w]
        if k >= 0:
            counted.n[k] += 1
            counted.t[k] += counted.opens[w]
            most = max(most, counted.t[k])
    if most < ratios.shape[1]:
        for w in range(words.start[d], words.start[d + 1]):
            if counted.dish[w] >= 0:
                _refresh(words, dishes, counted, ratios, words.time[d], counted.dish[w])
    return most


@lean
def _leave(words: Words, counted: DocumentCounts, d: int) -> None:
    """Set indicators of document d to its numbers of tables."""
    for w in range(words.start[d], words.start[d + 1]):
        k = counted.dish[w]
        if k >= 0:
            counted.opens[w] = counted.t[k] > 0
            counted.t[k] -= 1


@lean
def _forget(words: Words, dishes: Dishes, counted: DocumentCounts, ratios: Floats, d: int) -> None:
    """Write the weights that the dishes of document d have without it."""
    for w in range(words.start[d], words.start[d + 1]):
        k = counted.dish[w]
        if k >= 0 and counted.n[k] > 0:
            counted.n[k] = counted.t[k] = 0
            _refresh(words, dishes, counted, ratios, words.time[d], k)
    counted.worth.sums[0] = 0.0


@lean
def _take(
    dishes: Dishes, counted: DocumentCounts, t: int, k: int, opened: bool, n_holes: int
) -> int:
    """Take a word out of dish k, with a table that it opened; return the number of empty slots.

    It is still among those of its kind in the dish.
    """
    dishes.totals[k] -= 1
    counted.n[k] -= 1
    if opened:
        counted.t[k] -= 1
        n_holes = close_table(dishes, t, k, n_holes)
    return n_holes


@lean
def _choose(
    words: Words,
    new_dishes: NewDishes,
    dishes: Dishes,
    counted: DocumentCounts,
    open_one: float,
    t: int,
    x: int,
    K: int,
    n_holes: int,
    own: int,
    uniform: float,
) -> tuple[int, bool, int, int]:
    """Draw a dish for word x; return its slot, whether a table opens, K and the empty slots."""
    scale = open_one / max(dishes.open[t], 1)
    novel = scale * new_dishes.total[t] / words.size
    k, target = choose_sparse(
        dishes.lists, x, words.beta, scale, counted.worth, K, novel, own, 1, uniform
    )
    if k < K:
        return k, target >= counted.worth.old[k], K, n_holes
    target *= new_dishes.total[t] / novel
    k, K, n_holes = add_dish(dishes, new_dishes, t, target, K, n_holes)
    counted.n[k] = counted.t[k] = 0
    return k, True, K, n_holes


@lean
def _put(
    dishes: Dishes, counted: DocumentCounts, t: int, w: int, x: int, k: int, opened: bool
) -> None:
    """Put word w, which is x, into dish k, and open a table for it or not."""
    if k != counted.dish[w]:
        recount(dishes, x, counted.dish[w], k)
    counted.dish[w] = k
    dishes.totals[k] += 1
    counted.n[k] += 1
    if opened:
        counted.t[k] += 1
        dishes.tables[k] += 1
        dishes.open[t] += 1


@lean
def indicator_pass(
    words: Words,
    new_dishes: NewDishes,
    dishes: Dishes,
    counted: DocumentCounts,
    ratios: Floats,  # IN (n_max + 1, t_max + 1, 2)
    u: Floats,  # IN (D,)
    a: float,
    sigma: float,
    at: Position,
    rng: Any,
) -> Position:
    """Let words choose dishes. Returns where it stopped.

    From one document of a time to the next, only the dishes of either have other weights. The loop
    stops with MORE_TABLES where a document has more tables of a dish than ``ratios`` knows.
    """
    i, w, K, n_holes, why, born = at.d, at.i, at.K, at.n_holes, DONE, -1
    capacity, t_max, now = dishes.totals.size, ratios.shape[1] - 1, -1
    while i < words.time.size:
        d = words.order[i]
        t = words.time[d]
        open_one = a * (1.0 + u[d]) ** sigma  # over the weight of a seat, 1 / (1 + u)
        if t != now or i % AFRESH == 0:
            _weigh_all(words, dishes, counted, ratios, t, K)
            now = t
        if _enter(words, dishes, counted, ratios, d) > t_max:
            return Position(i, w, K, n_holes, MORE_TABLES, born)
        w = max(w, words.start[d])
        while w < words.start[d + 1] and why == DONE:
            if K == capacity and n_holes == 0:
                why = MORE_DISHES
                break
            x, k, uniform = words.word[w], counted.dish[w], rng.random()
            if k >= 0:
                opened, uniform = split(uniform, counted.t[k], counted.n[k])
                if opened and counted.t[k] == 1 and counted.n[k] > 1:
                    w += 1  # it cannot go: others of its dish sit at the only table
                    continue
                n_holes = _take(dishes, counted, t, k, opened, n_holes)
                _refresh(words, dishes, counted, ratios, t, k)

            k, opened, K, n_holes = _choose(
                words, new_dishes, dishes, counted, open_one, t, x, K, n_holes, k, uniform
            )
            if dishes.discount < 0.0 and dishes.tables[k] == 0:
                why, born = BORN, k
            _put(dishes, counted, t, w, x, k, opened)
            w += 1
            if counted.t[k] > t_max:
                why = MORE_TABLES
                break
            _refresh(words, dishes, counted, ratios, t, k)
        _leave(words, counted, d)
        if why != DONE:
            return Position(i, w, K, n_holes, why, born)
        _forget(words, dishes, counted, ratios, d)
        i, w = i + 1, 0
    return Position(i, w, K, n_holes, why, born)


@lean
def count_portions(
    words: Words,
    dish: NDArray[np.int32],  # IN (N,) int32
    opens: Bools,  # IN (N,) bool
    n: Ints,  # scratch (K,) int64, zeros
    t: Ints,  # scratch (K,) int64, zeros
    out: Ints,  # OUT (n_max + 1, t_max + 1) int64, zeros
) -> int:
    """Count how often documents have n words of a dish at t tables; return the largest t.

    Where that is beyond ``out``, its values mean nothing.
    """
    most = 0
    for d in range(words.time.size):
        for w in range(words.start[d], words.start[d + 1]):
            n[dish[w]] += 1
            t[dish[w]] += opens[w]
        for w in range(words.start[d], words.start[d + 1]):
            k = dish[w]
            if n[k] > 0:
                most = max(most, t[k])
                if t[k] < out.shape[1]:
                    out[n[k], t[k]] += 1
            n[k] = t[k] = 0
    return most


# ---- models without hierarchy ---------------------------------------------------------------


class DirectChoices(NamedTuple):
    """Where words are, and scratch for one document.   # INOUT."""

    dish: NDArray[np.int32]  # (N,) int32 slot of each word, -1 for none yet
    worth: DishWeights  # no table is joined, so that old is zero


@lean
def _refresh_direct(words: Words, dishes: Dishes, choices: DirectChoices, t: int, k: int) -> None:
    inverse = 1.0 / (words.size * words.beta + dishes.totals[k])
    choices.worth.top[k] = popularity(dishes, t, k) * inverse


@lean
def direct_pass(
    words: Words,
    new_dishes: NewDishes,
    dishes: Dishes,
    choices: DirectChoices,
    at: Position,
    rng: Any,
) -> Position:
    """Let words choose topics; every word is a table of its own. Returns where it stopped.

    Every document is a time, so that they are visited as they come.
    """
    d, w, K, n_holes, why, born = at.d, at.i, at.K, at.n_holes, DONE, -1
    capacity = dishes.totals.size
    while d < words.time.size:
        t = words.time[d]
        for k in range(K):
            _refresh_direct(words, dishes, choices, t, k)
        while w < words.start[d + 1] and why == DONE:
            if K == capacity and n_holes == 0:
                return Position(d, w, K, n_holes, MORE_DISHES, born)
            x, k = words.word[w], choices.dish[w]
            if k >= 0:
                dishes.counts[x, k] -= 1
                dishes.totals[k] -= 1
                n_holes = close_table(dishes, t, k, n_holes)
                _refresh_direct(words, dishes, choices, t, k)
            counts, novel = dishes.counts[x], new_dishes.total[t] / words.size
            k, target = choose(counts, words.beta, 1.0, choices.worth, K, novel, k, rng.random())
            if k == K:
                target *= words.size
                k, K, n_holes = add_dish(dishes, new_dishes, t, target, K, n_holes)
                if dishes.discount < 0.0:
                    why, born = BORN, k
            choices.dish[w] = k
            dishes.counts[x, k] += 1
            dishes.totals[k] += 1
            dishes.tables[k] += 1
            dishes.open[t] += 1
            _refresh_direct(words, dishes, choices, t, k)
            w += 1
        if why != DONE:
            return Position(d, w, K, n_holes, why, born)
        d += 1
    return Position(d, w, K, n_holes, why, born)
