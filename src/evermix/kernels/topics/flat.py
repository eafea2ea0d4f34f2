r"""Words of topic models without hierarchy: every document is a time, and its words choose topics.

A document that was not seen is a new time; jumps w of topics stay as they are. With mixed measures,
topics of words, weights q of regions and u are drawn in turn: q of a region of mass S and n words
is Gamma(a + n, b + u S), and u of a document of N words Gamma(N, sum of q S). With thinned ones, a
topic is there with odds q / (1 - q) times how much likelier it makes the words.
"""

from math import exp, log, log1p
from typing import Any, NamedTuple

from evermix._xp import Array
from evermix.kernels.base import kernel, lean
from evermix.kernels.topics.dishes import (
    BORN,
    DONE,
    MORE_DISHES,
    Menu,
    Novelties,
    Place,
    Words,
    Worth,
    choose,
    fresh_slot,
    give_back,
    popularity,
)
from evermix.kernels.topics.measures import RAREST, SUREST
from evermix.kernels.topics.tables import CANCELLED


class Choices(NamedTuple):
    """Where words are, and scratch for one document.   # INOUT."""

    dish: Array  # (N,) int32 slot of each word, -1 for none yet
    worth: Worth  # no table is joined, so that old is zero


@lean
def _refresh(words: Words, menu: Menu, choices: Choices, t: int, k: int) -> None:
    inverse = 1.0 / (words.size * words.beta + menu.totals[k])
    choices.worth.top[k] = popularity(menu, t, k) * inverse


@lean
def flat_pass(
    words: Words,
    novelties: Novelties,
    menu: Menu,
    choices: Choices,
    at: Place,
    rng: Any,
) -> Place:
    """Let words choose topics; every word is a table of its own. Returns where it stopped."""
    d, w, K, n_holes, why, born = at.d, at.i, at.K, at.n_holes, DONE, -1
    capacity = menu.totals.size
    while d < words.time.size:
        t = words.time[d]
        for k in range(K):
            _refresh(words, menu, choices, t, k)
        while w < words.start[d + 1] and why == DONE:
            if K == capacity and n_holes == 0:
                return Place(d, w, K, n_holes, MORE_DISHES, born)
            x, k = words.word[w], choices.dish[w]
            if k >= 0:
                menu.counts[x, k] -= 1
                menu.totals[k] -= 1
                n_holes = give_back(menu, t, k, n_holes)
                _refresh(words, menu, choices, t, k)
            counts, novel = menu.counts[x], novelties.total[t] / words.size
            k, target = choose(counts, words.beta, 1.0, choices.worth, K, novel, k, rng.random())
            if k == K:
                target *= words.size
                k, K, n_holes = fresh_slot(menu, novelties, t, target, K, n_holes)
                if menu.discount < 0.0:
                    why, born = BORN, k
            choices.dish[w] = k
            menu.counts[x, k] += 1
            menu.totals[k] += 1
            menu.tables[k] += 1
            menu.open[t] += 1
            _refresh(words, menu, choices, t, k)
            w += 1
        if why != DONE:
            return Place(d, w, K, n_holes, why, born)
        d += 1
    return Place(d, w, K, n_holes, why, born)


class NewTime(NamedTuple):
    """Topics as they are; the last R stand for new ones of each region.   # IN."""

    counts: Array  # (V, K + R) words of each topic
    inverse: Array  # (K + R,) 1 / (V beta + total)
    jump: Array  # (K + R,)
    region: Array  # (K + R,) int64
    first: float  # of the law of q: shape, or weight of one
    second: float  # rate, or weight of zero
    fixed: float  # q itself where it is not learnt; negative otherwise


@kernel
def _probability(words: Words, time: NewTime, x: int, k: int) -> float:
    return (words.beta + time.counts[x, k]) * time.inverse[k]


@kernel
def _add_share(time: NewTime, there: Array, sweeps: int, theta: Array) -> None:
    """Add what one more word chooses, over the number of sweeps."""
    total = (there * time.jump).sum()
    for k in range(there.size):
        theta[k] += there[k] * time.jump[k] / (total * sweeps)


@kernel
def _draw_q(time: NewTime, n: Array, q: Array, there: Array, u: float, rng: Any) -> float:
    """Draw q of the regions and then u, given how many words n each topic has."""
    total = 0.0
    for r in range(q.size):
        mass, words = 0.0, 0.0
        for k in range(n.size):
            if time.region[k] == r:
                mass += time.jump[k]
                words += n[k]
        if time.fixed >= 0.0:
            q[r] = time.fixed
        else:
            q[r] = max(rng.standard_gamma(time.first + words), 1e-280)  # never all zero
            q[r] /= time.second + u * mass
        total += q[r] * mass
    for k in range(n.size):
        there[k] = q[time.region[k]]
    return rng.standard_gamma(n.sum()) / max(total, 1e-280)


@kernel
def fold_mixed(
    words: Words,
    time: NewTime,
    sweeps: int,
    skip: int,
    d: int,
    q: Array,  # scratch (R,)
    there: Array,  # scratch (K + R,)
    n: Array,  # scratch (K + R,) int64
    weight: Array,  # scratch (K + R,)
    dish: Array,  # scratch (L,) int64
    theta: Array,  # OUT (K + R,)
    rng: Any,
) -> None:
    """Write the probability of each topic for one more word of document d: mixed measures."""
    C, length = n.size, words.start[d + 1] - words.start[d]
    mean = time.fixed if time.fixed >= 0.0 else time.first / time.second
    q[:], there[:], n[:], theta[:] = mean, mean, 0, 0.0
    u = length / max((there * time.jump).sum(), 1e-280)
    for sweep in range(skip + sweeps):
        if sweep > 0:
            u = _draw_q(time, n, q, there, u, rng)
        for i in range(length):
            x = words.word[words.start[d] + i]
            if sweep > 0:
                n[dish[i]] -= 1
            total = 0.0
            for k in range(C):
                weight[k] = there[k] * time.jump[k] * _probability(words, time, x, k)
                total += weight[k]
            target, k = rng.random() * total, 0
            while k < C - 1 and target >= weight[k]:
                target -= weight[k]
                k += 1
            while k > 0 and weight[k] == 0.0:  # rounding ran over the last one that has weight
                k -= 1
            dish[i] = k
            n[k] += 1
        if sweep >= skip:
            _add_share(time, there, sweeps, theta)


@kernel
def _log_gain(words: Words, time: NewTime, p: Array, d: int, k: int, mass: float) -> float:
    """Log of how much likelier the words are with some mass added to topic k.

    ``p`` are their weights now, and last the mass of all topics.
    """
    n = words.start[d + 1] - words.start[d]
    total, product = -n * log(1.0 + mass / p[n]), 1.0
    for i in range(n):
        x = words.word[words.start[d] + i]
        product *= 1.0 + mass * _probability(words, time, x, k) / p[i]
        if product > 1e100 or product < 1e-100:
            total += log(product)
            product = 1.0
    return total + log(product)


@kernel
def _add_mass(words: Words, time: NewTime, p: Array, d: int, k: int, mass: float) -> None:
    n = words.start[d + 1] - words.start[d]
    for i in range(n):
        p[i] += mass * _probability(words, time, words.word[words.start[d] + i], k)
    p[n] += mass


@kernel
def _sum_up(words: Words, time: NewTime, p: Array, d: int, there: Array) -> None:
    """Write the weights of the words, and the mass of all topics."""
    p[: words.start[d + 1] - words.start[d] + 1] = 0.0
    for k in range(there.size):
        if there[k] > 0.0:
            _add_mass(words, time, p, d, k, there[k] * time.jump[k])


@kernel
def _draw_probability(
    words: Words, time: NewTime, p: Array, d: int, r: int, there: Array, rng: Any
) -> None:
    """Move q of region r: proposed as if there were no new topics, accepted for what there are."""
    on, off, K = 0.0, 0.0, there.size - 1 - time.region[-1]
    for k in range(K):
        if time.region[k] == r:
            on += there[k]
            off += 1.0 - there[k]
    a, b = rng.standard_gamma(time.first + on), rng.standard_gamma(time.second + off)
    q = min(max(a / max(a + b, 1e-280), RAREST), SUREST)
    mass = (q - there[K + r]) * time.jump[K + r]
    if log(max(rng.random(), 1e-300)) < _log_gain(words, time, p, d, K + r, mass):
        there[K + r] = q
        _add_mass(words, time, p, d, K + r, mass)


@kernel
def fold_thinned(
    words: Words,
    time: NewTime,
    sweeps: int,
    skip: int,
    d: int,
    there: Array,  # scratch (K + R,)
    p: Array,  # scratch (L + 1,)
    theta: Array,  # OUT (K + R,)
    rng: Any,
) -> None:
    """Write the probability of each topic for one more word of document d: thinned measures.

    The topics of words and u are summed out, so that topics come and go freely.
    """
    R = time.region[-1] + 1
    K, n = there.size - R, words.start[d + 1] - words.start[d]
    theta[:], there[:K] = 0.0, 1.0
    there[K:] = time.fixed if time.fixed >= 0.0 else time.first / (time.first + time.second)
    for sweep in range(skip + sweeps):
        _sum_up(words, time, p, d, there)
        for k in range(K):
            q, mass = there[K + time.region[k]], p[n]
            if there[k] > 0.0:
                there[k] = 0.0
                _add_mass(words, time, p, d, k, -time.jump[k])
                if p[n] < CANCELLED * mass:
                    _sum_up(words, time, p, d, there)
            odds = log(q) - log1p(-q) + _log_gain(words, time, p, d, k, time.jump[k])
            there[k] = 1.0 if rng.random() < 1.0 / (1.0 + exp(min(-odds, 700.0))) else 0.0
            if there[k] > 0.0:
                _add_mass(words, time, p, d, k, time.jump[k])
        if time.fixed < 0.0:
            for r in range(R):
                _draw_probability(words, time, p, d, r, there, rng)
        if sweep >= skip:
            _add_share(time, there, sweeps, theta)
