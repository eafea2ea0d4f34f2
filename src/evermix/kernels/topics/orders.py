r"""Whole tables choose dishes, which their words propose.

A table of n words orders dish k with the weight of one more table for it, times the probability of
its words. To compute that for all dishes would take most of a sweep. So a word of the table, chosen
at random, proposes a dish as if it were alone, with weights that are known for the dishes that have
the word (``evermix.kernels.topics.sparse``). All but the probability of the other words given this
one cancels in the ratio by which a Metropolis step [hastings1970]_ accepts it.

References
----------
.. [hastings1970] W. K. Hastings. Monte Carlo sampling methods using Markov chains and their
   applications. Biometrika, 1970.
"""

from math import log
from typing import Any, NamedTuple

from evermix.kernels.base import lean
from evermix.kernels.topics.dishes import (
    AFRESH,
    BORN,
    DONE,
    MORE_DISHES,
    Dishes,
    NewDishes,
    Position,
    Words,
    add_dish,
    close_table,
    popularity,
)
from evermix.kernels.topics.franchise import (
    STRETCH,
    DocumentTables,
    enter,
    gather,
)
from evermix.kernels.topics.sparse import choose_sparse, count_of, recount, sum_weights, weigh

PROPOSALS = 2  # that a table considers in a sweep


class Block(NamedTuple):
    """The words of a table, which are still counted in its dish.   # IN."""

    first: int  # of their places in ``DocumentTables.member``, those of a kind together
    n: int
    dish: int
    alone: bool  # whether no other table has the dish


@lean
def _word(words: Words, tables: DocumentTables, block: Block, i: int) -> int:
    return words.word[tables.member[block.first + i]]


@lean
def _log_block(words: Words, dishes: Dishes, tables: DocumentTables, block: Block, k: int) -> float:
    """Log probability of a block in dish k, -1 for a new one."""
    V, product, total = words.size * words.beta, 1.0, 0.0
    size = dishes.totals[k] if k >= 0 else 0
    i = 0
    while i < block.n:
        x, same = _word(words, tables, block, i), 1
        while i + same < block.n and _word(words, tables, block, i + same) == x:
            same += 1
        count = count_of(dishes.lists, x, k) if k >= 0 else 0
        if k == block.dish:
            count -= same
        for j in range(same):
            product *= (words.beta + count + j) / (V + size + i + j)
            if (i + j) % STRETCH == STRETCH - 1:
                total += log(product)
                product = 1.0
        i += same
    return total + log(product)


@lean
def _log_one(words: Words, dishes: Dishes, block: Block, x: int, same: int, k: int) -> float:
    """Log probability of word x, which is in a block as often as ``same``, in dish k."""
    V, count, size = words.size * words.beta, 0, 0
    if k >= 0:
        count, size = count_of(dishes.lists, x, k), dishes.totals[k]
        if k == block.dish:
            count -= same
    return log((words.beta + count) / (V + size))


@lean
def _follow_words(
    words: Words,
    new_dishes: NewDishes,
    dishes: Dishes,
    tables: DocumentTables,
    block: Block,
    t: int,
    K: int,
    rng: Any,
) -> tuple[int, float]:
    """Draw a dish for a block. Returns it, -1 for the one that it has alone.

    K is a new one; then the second is a uniform number. Every block makes as many steps, also one
    that has just accepted a new dish: otherwise it would stay there too often.
    """
    novel, k = new_dishes.total[t] / words.size, -1 if block.alone else block.dish
    here, known, fresh, share = 0.0, False, False, 0.0
    for _ in range(PROPOSALS):
        pivot, same = min(int(rng.random() * block.n), block.n - 1), 0
        x = _word(words, tables, block, pivot)
        for i in range(block.n):
            same += _word(words, tables, block, i) == x
        proposed, left = choose_sparse(
            dishes.lists, x, words.beta, 1.0, tables.worth, K, novel, block.dish, same, rng.random()
        )
        if proposed == k:
            continue
        other = proposed if proposed < K else -1
        if not known:
            here, known = _log_block(words, dishes, tables, block, k), True
        there = _log_block(words, dishes, tables, block, other)
        gain = there - _log_one(words, dishes, block, x, same, other)
        gain -= here - _log_one(words, dishes, block, x, same, k)
        if rng.standard_exponential() > -gain:
            k, here, fresh = other, there, other < 0
            if fresh:
                share = left / novel
    return (K, share) if fresh else (k, 0.0)


@lean
def _weigh_alone(words: Words, dishes: Dishes, tables: DocumentTables, t: int, k: int) -> None:
    """Write the weight of dish k for a word that is alone at its table."""
    inverse = 1.0 / (words.size * words.beta + dishes.totals[k])
    weigh(tables.worth, k, 0.0, popularity(dishes, t, k) * inverse)


@lean
def _serve(words: Words, dishes: Dishes, tables: DocumentTables, block: Block, k: int) -> None:
    """Give a block dish k."""
    if k != block.dish:
        for i in range(block.first, block.first + block.n):
            w = tables.member[i]
            recount(dishes, words.word[w], block.dish, k)
            tables.dish[w] = k
    dishes.totals[k] += block.n
    dishes.tables[k] += 1


@lean
def order_pass(
    words: Words,
    new_dishes: NewDishes,
    dishes: Dishes,
    tables: DocumentTables,
    at: Position,
    rng: Any,
) -> Position:
    """Let whole tables of two words or more choose dishes. Returns where it stopped.

    A table of one word has just moved with that word.
    """
    e, table, K, n_holes = at.d, at.i, at.K, at.n_holes
    capacity, now = dishes.totals.size, -1
    while e < words.time.size:
        d = words.order[e]
        t, slots = words.time[d], enter(words, tables, d)
        gather(words, tables, d, slots)
        if t != now or e % AFRESH == 0:
            for k in range(K):
                _weigh_alone(words, dishes, tables, t, k)
            sum_weights(tables.worth, K)
            now = t
        while table < slots:
            if K == capacity and n_holes == 0:
                return Position(e, table, K, n_holes, MORE_DISHES, -1)
            first = tables.n[table - 1] if table > 0 else 0
            n, k = tables.n[table] - first, tables.order[table]
            table += 1
            if n == 1:
                continue
            dishes.totals[k] -= n
            dishes.open[t] += 1  # the table stays open
            n_holes = close_table(dishes, t, k, n_holes)
            _weigh_alone(words, dishes, tables, t, k)
            block = Block(first, n, k, dishes.tables[k] == 0)
            k, share = _follow_words(words, new_dishes, dishes, tables, block, t, K, rng)
            born = k == K
            if born:
                target = share * new_dishes.total[t]
                k, K, n_holes = add_dish(dishes, new_dishes, t, target, K, n_holes)
            elif k < 0:  # the dish that only this table has: its slot is the last one on the stack
                k = block.dish
                n_holes -= 1
            _serve(words, dishes, tables, block, k)
            _weigh_alone(words, dishes, tables, t, k)
            if born and dishes.discount < 0.0:
                return Position(e, table, K, n_holes, BORN, k)
        e, table = e + 1, 0
    return Position(e, table, K, n_holes, DONE, -1)
