r"""The franchise: words of hierarchical topic models choose tables, and tables dishes.

A word of document d joins a table of n words with weight :math:`(n - \sigma) / (1 + u_d)` times the
probability of the word in the dish of the table, or opens one, with weight
:math:`a (1 + u_d)^{\sigma - 1}` times that of one more table for each dish [teh2006]_.

References
----------
.. [teh2006] Y. W. Teh, M. Jordan, M. Beal and D. Blei. Hierarchical Dirichlet processes. Journal
   of the American Statistical Association, 2006.
"""

from math import exp, inf, log
from typing import Any, NamedTuple

from evermix._xp import Array
from evermix.kernels.base import kernel
from evermix.kernels.menu import (
    BORN,
    DONE,
    MORE_DISHES,
    Menu,
    Novelties,
    Words,
    fresh_slot,
    give_back,
    popularity,
)

__all__ = ["Tables", "order_pass", "seat_pass"]

STRETCH = 16  # words of a table whose probabilities are multiplied before the log is taken


class Tables(NamedTuple):
    """Where the words of documents sit, and scratch for one document.   # INOUT."""

    dish: Array  # (N,) int32 slot of each word, -1 for none yet
    table: Array  # (N,) int32 number of its table in the document
    opens: Array  # (N,) bool, whether it is the first word at its table
    n: Array  # (L,) int64 words at each table of the document
    order: Array  # (L,) int64 its dish
    join: Array  # (L,) weight of joining it
    block: Array  # (L,) int64
    top: Array  # (C,) weight of a new table, over beta + count
    weight: Array  # (C,)


@kernel
def _refresh(words: Words, menu: Menu, tables: Tables, t: int, k: int) -> None:
    """Compute what one more table of dish k is worth, but for what all dishes share."""
    tables.top[k] = popularity(menu, t, k) / (words.size * words.beta + menu.totals[k])


@kernel
def _enter(words: Words, tables: Tables, d: int) -> int:
    """Count the words at the tables of document d, and return how many numbers are in use."""
    slots = 0
    for w in range(words.start[d], words.start[d + 1]):
        tables.n[w - words.start[d]] = 0
    for w in range(words.start[d], words.start[d + 1]):
        if tables.dish[w] >= 0:
            table = tables.table[w]
            tables.n[table] += 1
            tables.order[table] = tables.dish[w]
            slots = max(slots, table + 1)
    return slots


@kernel
def _leave(words: Words, tables: Tables, d: int, slots: int) -> int:
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


@kernel
def _join(words: Words, menu: Menu, tables: Tables, x: int, sigma: float, slots: int) -> float:
    """Write the weight of joining each table for word x, and return their sum."""
    total = 0.0
    for table in range(slots):
        tables.join[table] = 0.0
        if tables.n[table] > 0:
            k = tables.order[table]
            p = (words.beta + menu.counts[x, k]) / (words.size * words.beta + menu.totals[k])
            tables.join[table] = (tables.n[table] - sigma) * p
            total += tables.join[table]
    return total


@kernel
def _weigh(counts: Array, beta: float, scale: float, tables: Tables, K: int) -> float:
    """Write the weight of a new table of each dish for a word, and return their sum."""
    total = 0.0
    for k in range(K):
        weight = scale * (beta + counts[k]) * tables.top[k]
        tables.weight[k] = weight
        total += weight
    return total


@kernel
def seat_pass(
    words: Words,
    novelties: Novelties,
    menu: Menu,
    tables: Tables,
    u: Array,  # IN (D,)
    a: float,
    sigma: float,
    d: int,
    w: int,
    K: int,
    n_holes: int,
    rng: Any,
) -> tuple[int, int, int, int, int]:
    """Let words choose tables, from word w of document d on.

    Returns
    -------
    d, w, K, n_holes, why : int
        Where to go on; DONE, or why the loop stopped: there is no slot for another dish, or the
        last word has brought a dish that needs a jump, at ``tables.dish[w - 1]``.
    """
    why, capacity = DONE, menu.totals.size
    while d < words.time.size:
        t = words.time[d]
        open_one = a * (1.0 + u[d]) ** sigma  # times 1 + u, which all weights have been given
        slots = _enter(words, tables, d)
        for k in range(K):
            _refresh(words, menu, tables, t, k)
        while w < words.start[d + 1] and why == DONE:
            if K == capacity and n_holes == 0:
                why = MORE_DISHES
                break
            x, k = words.word[w], tables.dish[w]
            if k >= 0:
                menu.counts[x, k] -= 1
                menu.totals[k] -= 1
                tables.n[tables.table[w]] -= 1
                if tables.n[tables.table[w]] == 0:
                    n_holes = give_back(menu, t, k, n_holes)
                _refresh(words, menu, tables, t, k)

            scale = open_one / max(menu.open[t], 1)
            old = _join(words, menu, tables, x, sigma, slots)
            top = _weigh(menu.counts[x], words.beta, scale, tables, K)
            novel = scale * novelties.total[t] / words.size
            target = rng.random() * (old + top + novel)
            table = 0
            while table < slots and target >= tables.join[table]:
                target -= tables.join[table]
                table += 1
            if table < slots:
                k = tables.order[table]
            else:
                table = 0
                while table < slots and tables.n[table] > 0:
                    table += 1
                slots = max(slots, table + 1)
                k = 0
                while k < K and target >= tables.weight[k]:
                    target -= tables.weight[k]
                    k += 1
                while k == K and novel == 0.0 or (0 < k < K and tables.weight[k] == 0.0):
                    k -= 1  # rounding ran over the last one that has weight
                if k == K:
                    target *= novelties.total[t] / novel
                    k, K, n_holes = fresh_slot(menu, novelties, t, target, K, n_holes)
                    if menu.discount < 0.0:
                        why = BORN
                tables.n[table] = 0
                tables.order[table] = k
                menu.tables[k] += 1
                menu.open[t] += 1
            tables.dish[w], tables.table[w] = k, table
            tables.n[table] += 1
            menu.counts[x, k] += 1
            menu.totals[k] += 1
            _refresh(words, menu, tables, t, k)
            w += 1
        _leave(words, tables, d, slots)
        if why != DONE:
            return d, w, K, n_holes, why
        d += 1
    return d, w, K, n_holes, why


@kernel
def _take_block(words: Words, menu: Menu, tables: Tables, d: int, table: int) -> int:
    """Take the words of a table out of its dish, and return how many they are."""
    n = 0
    for w in range(words.start[d], words.start[d + 1]):
        if tables.table[w] == table:
            x = words.word[w]
            tables.block[n] = x
            n += 1
            menu.counts[x, tables.dish[w]] -= 1
            menu.totals[tables.dish[w]] -= 1
    return n


@kernel
def _weigh_block(words: Words, menu: Menu, tables: Tables, n: int, K: int) -> float:
    """Add log probabilities of a block of words to ``tables.top``; return that in a new dish."""
    log_new, again = 0.0, 0
    tables.weight[:K] = 1.0
    for i in range(n):
        x = tables.block[i]
        again = again + 1 if i > 0 and tables.block[i - 1] == x else 0
        least, total = words.beta + again, words.size * words.beta + i
        for k in range(K):
            tables.weight[k] *= (least + menu.counts[x, k]) / (total + menu.totals[k])
        log_new += log(least / total)
        if i % STRETCH == STRETCH - 1 or i == n - 1:
            for k in range(K):
                tables.top[k] += log(tables.weight[k])
                tables.weight[k] = 1.0
    return log_new


@kernel
def _put_block(words: Words, menu: Menu, tables: Tables, d: int, table: int, k: int) -> None:
    """Put the words of a table into dish k."""
    for w in range(words.start[d], words.start[d + 1]):
        if tables.table[w] == table:
            tables.dish[w] = k
            menu.counts[words.word[w], k] += 1
            menu.totals[k] += 1
    tables.order[table] = k
    menu.tables[k] += 1


@kernel
def order_pass(
    words: Words,
    novelties: Novelties,
    menu: Menu,
    tables: Tables,
    d: int,
    table: int,
    K: int,
    n_holes: int,
    rng: Any,
) -> tuple[int, int, int, int, int, int]:
    """Let whole tables choose dishes, from one table of document d on.

    Returns
    -------
    d, table, K, n_holes, why, k : int
        Where to go on, why the loop stopped (see :func:`seat_pass`), and the newborn dish.
    """
    capacity = menu.totals.size
    while d < words.time.size:
        t, slots = words.time[d], _enter(words, tables, d)
        while table < slots:
            if K == capacity and n_holes == 0:
                return d, table, K, n_holes, MORE_DISHES, -1
            n = _take_block(words, menu, tables, d, table)
            menu.open[t] += 1  # the table stays open
            n_holes = give_back(menu, t, tables.order[table], n_holes)
            for k in range(K):
                weight = popularity(menu, t, k)
                tables.top[k] = log(weight) if weight > 0.0 else -inf
            log_new = _weigh_block(words, menu, tables, n, K) + log(novelties.total[t])
            peak, total = log_new, 0.0
            for k in range(K):
                peak = max(peak, tables.top[k])
            for k in range(K):
                tables.weight[k] = exp(tables.top[k] - peak)
                total += tables.weight[k]
            novel = exp(log_new - peak)
            target = rng.random() * (total + novel)
            k = 0
            while k < K and target >= tables.weight[k]:
                target -= tables.weight[k]
                k += 1
            born = k == K
            if born:
                target *= novelties.total[t] / novel
                k, K, n_holes = fresh_slot(menu, novelties, t, target, K, n_holes)
            _put_block(words, menu, tables, d, table, k)
            table += 1
            if born and menu.discount < 0.0:
                return d, table, K, n_holes, BORN, k
        d, table = d + 1, 0
    return d, table, K, n_holes, DONE, -1
