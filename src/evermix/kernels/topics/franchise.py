r"""The franchise: words of hierarchical topic models choose tables, and tables dishes.

A word of document d joins a table of n words with weight :math:`(n - \sigma) / (1 + u_d)` times the
probability of the word in the dish of the table, or opens one, with weight
:math:`a (1 + u_d)^{\sigma - 1}` times that of one more table for each dish [teh2006]_. The
tables of a dish are weighed together: a word looks at dishes, and then at the tables of one.

References
----------
.. [teh2006] Y. W. Teh, M. Jordan, M. Beal and D. Blei. Hierarchical Dirichlet processes. Journal
   of the American Statistical Association, 2006.
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
    Dishes,
    DishWeights,
    NewDishes,
    Position,
    Words,
    add_dish,
    close_table,
    popularity,
)
from evermix.kernels.topics.sparse import (
    choose_sparse,
    count_in,
    count_out,
    recount,
    sum_weights,
    weigh,
)

STRETCH = 16  # words of a table whose probabilities are multiplied before the log is taken


class DocumentTables(NamedTuple):
    """Where the words of documents sit, and scratch for one document.   # INOUT."""

    dish: NDArray[np.int32]  # (N,) int32 slot of each word, -1 for none yet
    table: NDArray[np.int32]  # (N,) int32 number of its table in the document
    opens: Bools  # (N,) bool, whether it is the first word at its table
    n: Ints  # (L + 1,) int64 words at each table of the document
    order: Ints  # (L + 1,) int64 its dish
    block: Ints  # (L + 1,) int64
    member: Ints  # (L,) int64, words of the document by table
    words: Ints  # (C,) int64 words of each dish in the document
    tables: Ints  # (C,) int64 tables of each dish in the document
    worth: DishWeights
    below: Floats  # (C,)


@lean
def _refresh(
    words: Words, dishes: Dishes, tables: DocumentTables, sigma: float, t: int, k: int
) -> None:
    """Write the weights of dish k in this document."""
    inverse = 1.0 / (words.size * words.beta + dishes.totals[k])
    old = (tables.words[k] - sigma * tables.tables[k]) * inverse
    weigh(tables.worth, k, old, popularity(dishes, t, k) * inverse)


@lean
def enter(words: Words, tables: DocumentTables, d: int) -> int:
    """Count the words at the tables of document d, and return how many numbers are in use."""
    slots = 0
    tables.n[: words.start[d + 1] - words.start[d]] = 0
    for w in range(words.start[d], words.start[d + 1]):
        k = tables.dish[w]
        if k >= 0:
            table = tables.table[w]
            tables.n[table] += 1
            tables.order[table] = k
            slots = max(slots, table + 1)
    return slots


@lean
def _weigh_all(
    words: Words, dishes: Dishes, tables: DocumentTables, sigma: float, t: int, K: int
) -> None:
    """Write the weights of all dishes in a document of time t that has no words yet."""
    tables.words[:K] = 0
    tables.tables[:K] = 0
    for k in range(K):
        _refresh(words, dishes, tables, sigma, t, k)
    sum_weights(tables.worth, K)


@lean
def _weigh_document(
    words: Words, dishes: Dishes, tables: DocumentTables, sigma: float, t: int, slots: int
) -> None:
    """Write the weights of the dishes that the document has entered with, where all others are."""
    for table in range(slots):
        if tables.n[table] > 0:
            k = tables.order[table]
            tables.words[k] += tables.n[table]
            tables.tables[k] += 1
    for table in range(slots):
        if tables.n[table] > 0:
            _refresh(words, dishes, tables, sigma, t, tables.order[table])


@lean
def _forget_document(
    words: Words, dishes: Dishes, tables: DocumentTables, sigma: float, t: int, slots: int
) -> None:
    """Write the weights that the dishes of the document have without it."""
    for table in range(slots):
        if tables.n[table] > 0:
            k = tables.order[table]
            tables.words[k] = tables.tables[k] = 0
            _refresh(words, dishes, tables, sigma, t, k)
    tables.worth.sums[0] = 0.0


@lean
def _leave(words: Words, tables: DocumentTables, d: int, slots: int) -> int:
    """Number the tables of document d as they appear, and return how many there are."""
    tables.block[:slots] = -1
    seen = 0
    for w in range(words.start[d], words.start[d + 1]):
        if tables.dish[w] >= 0:
            table = tables.table[w]
            tables.opens[w] = tables.block[table] < 0
            if tables.opens[w]:
                tables.block[table] = seen
                seen += 1
            tables.table[w] = tables.block[table]
    return seen


@lean
def _open_table(dishes: Dishes, tables: DocumentTables, t: int, k: int, slots: int) -> int:
    """Open a table of dish k at time t, and return its number: the first that no table has."""
    table = 0
    while table < slots and tables.n[table] > 0:
        table += 1
    tables.n[table] = 0
    tables.order[table] = k
    tables.tables[k] += 1
    dishes.tables[k] += 1
    dishes.open[t] += 1
    return table


@lean
def _table_of(tables: DocumentTables, k: int, sigma: float, slots: int, target: float) -> int:
    """Return the table of dish k where the weights n - sigma up to it exceed the target."""
    last = -1
    for table in range(slots):
        if tables.order[table] == k and tables.n[table] > 0:
            last = table
            target -= tables.n[table] - sigma
            if target < 0.0:
                break
    return last


@lean
def _stand_up(
    words: Words,
    dishes: Dishes,
    tables: DocumentTables,
    sigma: float,
    t: int,
    w: int,
    n_holes: int,
) -> int:
    """Take word w from its table, and close the table if it was the last. Returns the holes."""
    k, table = tables.dish[w], tables.table[w]
    dishes.totals[k] -= 1
    tables.n[table] -= 1
    tables.words[k] -= 1
    if tables.n[table] == 0:
        tables.tables[k] -= 1
        n_holes = close_table(dishes, t, k, n_holes)
    _refresh(words, dishes, tables, sigma, t, k)
    return n_holes


@lean
def _sit_down(
    words: Words,
    dishes: Dishes,
    tables: DocumentTables,
    sigma: float,
    t: int,
    w: int,
    k: int,
    table: int,
    own: int,  # the dish before
) -> None:
    """Put word w at a table of dish k."""
    tables.dish[w], tables.table[w] = k, table
    tables.n[table] += 1
    tables.words[k] += 1
    if k != own:
        recount(dishes, words.word[w], own, k)
    dishes.totals[k] += 1
    _refresh(words, dishes, tables, sigma, t, k)


@lean
def seat_pass(
    words: Words,
    new_dishes: NewDishes,
    dishes: Dishes,
    tables: DocumentTables,
    u: Floats,  # IN (D,)
    a: float,
    sigma: float,
    at: Position,
    rng: Any,
) -> Position:
    """Let words choose tables. Returns where it stopped.

    From one document of a time to the next, only the dishes of either have other weights.
    """
    i, w, K, n_holes, why, born = at.d, at.i, at.K, at.n_holes, DONE, -1
    capacity, now = dishes.totals.size, -1
    while i < words.time.size and why == DONE:
        d = words.order[i]
        t = words.time[d]
        open_one = a * (1.0 + u[d]) ** sigma  # times 1 + u, which all weights have been given
        if t != now or i % AFRESH == 0:
            _weigh_all(words, dishes, tables, sigma, t, K)
            now = t
        slots = enter(words, tables, d)
        _weigh_document(words, dishes, tables, sigma, t, slots)
        w = max(w, words.start[d])
        while w < words.start[d + 1] and why == DONE:
            if K == capacity and n_holes == 0:
                why = MORE_DISHES
                break
            x, k = words.word[w], tables.dish[w]
            if k >= 0:
                n_holes = _stand_up(words, dishes, tables, sigma, t, w, n_holes)
            own, scale = k, open_one / max(dishes.open[t], 1)
            novel = scale * new_dishes.total[t] / words.size
            k, target = choose_sparse(
                dishes.lists, x, words.beta, scale, tables.worth, K, novel, own, 1, rng.random()
            )
            table = -1
            if k < K:
                if target < tables.worth.old[k]:
                    target *= words.size * words.beta + dishes.totals[k]
                    table = _table_of(tables, k, sigma, slots, target)
            else:
                target *= new_dishes.total[t] / novel
                k, K, n_holes = add_dish(dishes, new_dishes, t, target, K, n_holes)
                tables.words[k] = tables.tables[k] = 0
                if dishes.discount < 0.0:
                    why, born = BORN, k
            if table < 0:
                table = _open_table(dishes, tables, t, k, slots)
                slots = max(slots, table + 1)
            _sit_down(words, dishes, tables, sigma, t, w, k, table, own)
            w += 1
        _forget_document(words, dishes, tables, sigma, t, slots)
        _leave(words, tables, d, slots)
        if why == DONE:
            i, w = i + 1, 0
    return Position(i, w, K, n_holes, why, born)


@lean
def gather(words: Words, tables: DocumentTables, d: int, slots: int) -> None:
    """Write the words of document d by table; those of a table end at ``tables.n[table]``."""
    end = 0
    for table in range(slots):
        end += tables.n[table]
        tables.n[table] = end
    for w in range(words.start[d + 1] - 1, words.start[d] - 1, -1):
        table = tables.table[w]
        tables.n[table] -= 1
        tables.member[tables.n[table]] = w
    for table in range(slots):
        tables.n[table] = tables.n[table + 1] if table < slots - 1 else end


@lean
def take_block(words: Words, dishes: Dishes, tables: DocumentTables, table: int) -> int:
    """Take the words of a table out of its dish, and return how many they are."""
    first = tables.n[table - 1] if table > 0 else 0
    n = tables.n[table] - first
    k = tables.order[table]
    for i in range(n):
        x = words.word[tables.member[first + i]]
        tables.block[i] = x
        dishes.counts[x, k] -= 1
        count_out(dishes.lists, x, k)
    dishes.totals[k] -= n
    return n


@lean
def put_block(words: Words, dishes: Dishes, tables: DocumentTables, table: int, k: int) -> None:
    """Put the words of a table into dish k."""
    first = tables.n[table - 1] if table > 0 else 0
    for i in range(first, tables.n[table]):
        w = tables.member[i]
        tables.dish[w] = k
        dishes.counts[words.word[w], k] += 1
        count_in(dishes.lists, words.word[w], k)
    dishes.totals[k] += tables.n[table] - first
    tables.order[table] = k
    dishes.tables[k] += 1


@lean
def _weigh_words(
    words: Words, dishes: Dishes, tables: DocumentTables, i: int, stop: int, K: int
) -> float:
    """Multiply weights by probabilities of words i.. of a block; return that of a new dish."""
    novel = 1.0
    tables.below[:K] = 1.0
    while i < stop:
        x, again = tables.block[i], 0
        while i > again and tables.block[i - again - 1] == x:
            again += 1
        least, total = words.beta + again, words.size * words.beta + i
        counts = dishes.counts[x]
        for k in range(K):
            tables.worth.weight[k] *= least + counts[k]
            tables.below[k] *= total + dishes.totals[k]
        novel *= least / total
        i += 1
    for k in range(K):
        tables.worth.weight[k] /= tables.below[k]
    return novel


@lean
def weigh_block(
    words: Words, dishes: Dishes, tables: DocumentTables, novel: float, n: int, K: int
) -> float:
    """Multiply weights of dishes, and of a new one, by the probability of a block of words.

    All have a common factor where the block is long. Returns the weight of a new dish.
    """
    for i in range(0, n, STRETCH):
        novel *= _weigh_words(words, dishes, tables, i, min(n, i + STRETCH), K)
        if n <= STRETCH:
            break
        peak = novel
        for k in range(K):
            peak = max(peak, tables.worth.weight[k])
        novel /= peak
        for k in range(K):
            tables.worth.weight[k] /= peak
    return novel


@lean
def choose_dish(tables: DocumentTables, novel: float, K: int, rng: Any) -> tuple[int, float]:
    """Draw a dish from the weights, or K for a new one and a uniform number."""
    total = novel
    for k in range(K):
        total += tables.worth.weight[k]
    target, k = rng.random() * total, 0
    while k < K and target >= tables.worth.weight[k]:
        target -= tables.worth.weight[k]
        k += 1
    while k == K and novel == 0.0 or 0 < k < K and tables.worth.weight[k] == 0.0:
        k -= 1  # rounding ran over the last one that has weight
    return k, min(max(target / novel, 0.0), 1.0) if k == K else 0.0
