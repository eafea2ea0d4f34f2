"""Tables that choose among dishes whose jumps lie above a level of their own.

A dish above the level of a table is worth what the time of the table sees of it, times the
probability of the words of the table. Dishes are there whether they have tables or not; those
without have no words, so that all of them are as good for a block of words, and only dishes with
tables need a slot of the menu.
"""

from typing import Any, NamedTuple

from evermix._xp import Array
from evermix.kernels.base import lean
from evermix.kernels.topics.dishes import DONE, MORE_DISHES, Menu, Words, give_back
from evermix.kernels.topics.franchise import (
    Tables,
    choose_dish,
    enter,
    gather,
    put_block,
    take_block,
    weigh_block,
)


class Guests(NamedTuple):
    """The tables that move.   # IN."""

    first: Array  # (J,) int64, the word that opens each table
    document: Array  # (J,) int64
    level: Array  # (J,) log level


class Pool(NamedTuple):
    """All dishes with jumps, the largest jump first.   # INOUT."""

    log_jump: Array  # (A,)
    presence: Array  # (T, A) what each time sees of a dish
    slot: Array  # (A,) int64 its slot of the menu, -1 without tables
    dish: Array  # (C,) int64 the number here of the dish in each slot, -1 if it is empty


@lean
def _free_weight(pool: Pool, t: int, level: float) -> float:
    """Sum what time t sees of the dishes without tables above a level."""
    total, j = 0.0, 0
    while j < pool.log_jump.size and pool.log_jump[j] >= level:
        if pool.slot[j] < 0:
            total += pool.presence[t, j]
        j += 1
    return total


@lean
def _choose_free(pool: Pool, t: int, level: float, target: float) -> int:
    """Return the dish without tables where the sum of :func:`_free_weight` passes the target."""
    chosen, j = -1, 0
    while j < pool.log_jump.size and pool.log_jump[j] >= level and target >= 0.0:
        if pool.slot[j] < 0 and pool.presence[t, j] > 0.0:
            target -= pool.presence[t, j]
            chosen = j
        j += 1
    return chosen


@lean
def _open_to(pool: Pool, tables: Tables, t: int, level: float, K: int) -> int:
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
    menu: Menu,
    tables: Tables,
    pool: Pool,
    guests: Guests,
    i: int,
    K: int,
    n_holes: int,
    rng: Any,
) -> tuple[int, int, int, int]:
    """Let tables choose dishes above their levels, from table i on.

    Returns
    -------
    i, K, n_holes, why : int
        Where to go on; DONE, or MORE_DISHES if there is no slot for another dish.
    """
    capacity, at = menu.totals.size, -1
    while i < guests.first.size:
        if K == capacity and n_holes == 0:
            return i, K, n_holes, MORE_DISHES
        d, level = guests.document[i], guests.level[i]
        t, table = words.time[d], tables.table[guests.first[i]]
        if d != at:
            gather(words, tables, d, enter(words, tables, d, K))
            at = d
        k = tables.order[table]
        n = take_block(words, menu, tables, table)
        menu.open[t] += 1  # the table stays open
        n_holes = give_back(menu, t, k, n_holes)
        if menu.tables[k] == 0:
            pool.slot[pool.dish[k]] = -1  # it is still there, above the level of its last table
            pool.dish[k] = -1
        free = _free_weight(pool, t, level)
        last = _open_to(pool, tables, t, level, K)
        novel = weigh_block(words, menu, tables, free, n, last)
        k, share = choose_dish(tables, novel, last, rng)
        if k == last:
            j = _choose_free(pool, t, level, share * free)
            if n_holes > 0:
                n_holes -= 1
                k = menu.holes[n_holes]
            else:
                k = K
                K += 1
            pool.slot[j], pool.dish[k] = k, j
        put_block(words, menu, tables, table, k)
        i += 1
    return i, K, n_holes, DONE
