r"""Words of hierarchical topic models choose dishes; of tables, only their number is kept.

A document with n words of a dish at t tables has an indicator for t of these words, as if each had
opened a table. Given t, all choices of t words are alike, and the seatings are summed up in
generalised Stirling numbers, so that a word needs no seat [chen2011]_.

References
----------
.. [chen2011] C. Chen, L. Du and W. Buntine. Sampling table configurations for the hierarchical
   Poisson-Dirichlet process. ECML PKDD, 2011.
"""

from typing import Any, NamedTuple

from evermix._xp import Array
from evermix.kernels.base import lean
from evermix.kernels.topics.dishes import (
    BORN,
    DONE,
    MORE_DISHES,
    MORE_TABLES,
    Menu,
    Novelties,
    Place,
    Seats,
    Words,
    Worth,
    appraise,
    choose,
    fresh_slot,
    give_back,
    popularity,
    split,
)


class Card(NamedTuple):
    """Where the words of documents are, and scratch for one document.   # INOUT."""

    dish: Array  # (N,) int32 slot of each word, -1 for none yet
    opens: Array  # (N,) bool, the indicators
    n: Array  # (C,) int64 words of the document
    t: Array  # (C,) int64 tables of the document
    worth: Worth


@lean
def _refresh(words: Words, menu: Menu, card: Card, seats: Seats, t: int, k: int) -> None:
    """Compute what the choice of dish k is worth in this document."""
    inverse = 1.0 / (words.size * words.beta + menu.totals[k])
    appraise(card.worth, seats, k, card.n[k], card.t[k], inverse, popularity(menu, t, k))


@lean
def _enter(words: Words, menu: Menu, card: Card, seats: Seats, d: int, K: int) -> int:
    """Count the words and tables of document d; return the largest number of tables of a dish."""
    card.n[:K] = 0
    card.t[:K] = 0
    for w in range(words.start[d], words.start[d + 1]):
        k = card.dish[w]
        if k >= 0:
            card.n[k] += 1
            card.t[k] += card.opens[w]
    most = 0
    for k in range(K):
        most = max(most, card.t[k])
    if most < seats.ratios.shape[1]:
        for k in range(K):
            _refresh(words, menu, card, seats, words.time[d], k)
    return most


@lean
def _leave(words: Words, card: Card, d: int) -> None:
    """Set indicators of document d to its numbers of tables."""
    for w in range(words.start[d], words.start[d + 1]):
        k = card.dish[w]
        if k >= 0:
            card.opens[w] = card.t[k] > 0
            card.t[k] -= 1


@lean
def _take(menu: Menu, card: Card, t: int, x: int, k: int, opened: bool, n_holes: int) -> int:
    """Take word x out of dish k, with a table that it opened; return the number of empty slots."""
    menu.counts[x, k] -= 1
    menu.totals[k] -= 1
    card.n[k] -= 1
    if opened:
        card.t[k] -= 1
        n_holes = give_back(menu, t, k, n_holes)
    return n_holes


@lean
def _choose(
    words: Words,
    novelties: Novelties,
    menu: Menu,
    card: Card,
    seats: Seats,
    t: int,
    x: int,
    K: int,
    n_holes: int,
    last: int,
    uniform: float,
) -> tuple[int, bool, int, int]:
    """Draw a dish for word x; return its slot, whether a table opens, K and the empty slots."""
    counts, scale = menu.counts[x], 1.0 / max(menu.open[t], 1)
    novel = scale * seats.open * novelties.total[t] / words.size
    k, target = choose(counts, words.beta, scale, card.worth, K, novel, last, uniform)
    if k < K:
        return k, target >= (words.beta + counts[k]) * card.worth.old[k], K, n_holes
    target *= novelties.total[t] / novel
    k, K, n_holes = fresh_slot(menu, novelties, t, target, K, n_holes)
    card.n[k] = card.t[k] = 0
    return k, True, K, n_holes


@lean
def _put(menu: Menu, card: Card, t: int, w: int, x: int, k: int, opened: bool) -> None:
    """Put word w, which is x, into dish k, and open a table for it or not."""
    card.dish[w] = k
    menu.counts[x, k] += 1
    menu.totals[k] += 1
    card.n[k] += 1
    if opened:
        card.t[k] += 1
        menu.tables[k] += 1
        menu.open[t] += 1


@lean
def indicator_pass(
    words: Words,
    novelties: Novelties,
    menu: Menu,
    card: Card,
    ratios: Array,  # IN (n_max + 1, t_max + 1, 2)
    u: Array,  # IN (D,)
    a: float,
    sigma: float,
    at: Place,
    rng: Any,
) -> Place:
    """Let words choose dishes. Returns where it stopped.

    It stops with MORE_TABLES where a document has more tables of a dish than ``ratios`` knows.
    """
    d, w, K, n_holes, why, born = at.d, at.i, at.K, at.n_holes, DONE, -1
    capacity, t_max = menu.totals.size, ratios.shape[1] - 1
    while d < words.time.size:
        t = words.time[d]
        seats = Seats(ratios, 1.0 / (1.0 + u[d]), a * (1.0 + u[d]) ** (sigma - 1.0))
        if _enter(words, menu, card, seats, d, K) > t_max:
            return Place(d, w, K, n_holes, MORE_TABLES, born)
        while w < words.start[d + 1] and why == DONE:
            if K == capacity and n_holes == 0:
                why = MORE_DISHES
                break
            x, k, uniform = words.word[w], card.dish[w], rng.random()
            if k >= 0:
                opened, uniform = split(uniform, card.t[k], card.n[k])
                if opened and card.t[k] == 1 and card.n[k] > 1:
                    w += 1  # it cannot go: others of its dish sit at the only table
                    continue
                n_holes = _take(menu, card, t, x, k, opened, n_holes)
                _refresh(words, menu, card, seats, t, k)

            k, opened, K, n_holes = _choose(
                words, novelties, menu, card, seats, t, x, K, n_holes, k, uniform
            )
            if menu.discount < 0.0 and menu.tables[k] == 0:
                why, born = BORN, k
            _put(menu, card, t, w, x, k, opened)
            w += 1
            if card.t[k] > t_max:
                why = MORE_TABLES
                break
            _refresh(words, menu, card, seats, t, k)
        _leave(words, card, d)
        if why != DONE:
            return Place(d, w, K, n_holes, why, born)
        d += 1
    return Place(d, w, K, n_holes, why, born)


@lean
def count_portions(
    words: Words,
    dish: Array,  # IN (N,) int32
    opens: Array,  # IN (N,) bool
    n: Array,  # scratch (K,) int64, zeros
    t: Array,  # scratch (K,) int64, zeros
    out: Array,  # OUT (n_max + 1, t_max + 1) int64, zeros
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
