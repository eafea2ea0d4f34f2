r"""Words of topic models without hierarchy: every document is a time, and its words choose topics.

A document that was not seen is a new time. Its weights of regions q, or the topics that are there
for it, and its u are drawn along with the topics of its words; the jumps w of topics stay as they
are. With mixed measures, q of a region of mass S and n words is Gamma(a + n, b + u S), and u of a
document of N words Gamma(N, sum of q S). With thinned ones, a topic without words is there with
odds :math:`q / (1 - q) \, e^{-u w}`, and q is Beta.
"""

from math import exp
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

__all__ = ["Choices", "NewTime", "flat_fold", "flat_pass"]


class Choices(NamedTuple):
    """Where words are, and scratch for one document.   # INOUT."""

    dish: Array  # (N,) int32 slot of each word, -1 for none yet
    top: Array  # (C,) weight over beta + count
    weight: Array  # (C,)


@kernel
def _refresh(words: Words, menu: Menu, choices: Choices, t: int, k: int) -> None:
    inverse = 1.0 / (words.size * words.beta + menu.totals[k])
    choices.top[k] = popularity(menu, t, k) * inverse


@kernel
def flat_pass(
    words: Words,
    novelties: Novelties,
    menu: Menu,
    choices: Choices,
    d: int,
    w: int,
    K: int,
    n_holes: int,
    rng: Any,
) -> tuple[int, int, int, int, int]:
    """Let words choose topics, from word w of document d on; every word is a table of its own.

    Returns
    -------
    d, w, K, n_holes, why : int
        Where to go on; DONE, or why the loop stopped: there is no slot for another topic, or the
        last word has brought one that needs a jump, at ``choices.dish[w - 1]``.
    """
    why, capacity = DONE, menu.totals.size
    while d < words.time.size:
        t = words.time[d]
        for k in range(K):
            _refresh(words, menu, choices, t, k)
        while w < words.start[d + 1] and why == DONE:
            if K == capacity and n_holes == 0:
                return d, w, K, n_holes, MORE_DISHES
            x, k = words.word[w], choices.dish[w]
            if k >= 0:
                menu.counts[x, k] -= 1
                menu.totals[k] -= 1
                n_holes = give_back(menu, t, k, n_holes)
                _refresh(words, menu, choices, t, k)
            total = 0.0
            for k in range(K):
                choices.weight[k] = (words.beta + menu.counts[x, k]) * choices.top[k]
                total += choices.weight[k]
            novel = novelties.total[t] / words.size
            target = rng.random() * (total + novel)
            k = 0
            while k < K and target >= choices.weight[k]:
                target -= choices.weight[k]
                k += 1
            while k == K and novel == 0.0 or (0 < k < K and choices.weight[k] == 0.0):
                k -= 1  # rounding ran over the last one that has weight
            if k == K:
                target *= words.size
                k, K, n_holes = fresh_slot(menu, novelties, t, target, K, n_holes)
                if menu.discount < 0.0:
                    why = BORN
            choices.dish[w] = k
            menu.counts[x, k] += 1
            menu.totals[k] += 1
            menu.tables[k] += 1
            menu.open[t] += 1
            _refresh(words, menu, choices, t, k)
            w += 1
        if why != DONE:
            return d, w, K, n_holes, why
        d += 1
    return d, w, K, n_holes, why


class NewTime(NamedTuple):
    """Topics as they are; the last R stand for new ones of each region.   # IN."""

    counts: Array  # (V, K + R) words of each topic
    inverse: Array  # (K + R,) 1 / (V beta + total)
    jump: Array  # (K + R,)
    region: Array  # (K + R,) int64
    thinned: bool
    first: float  # of the law of q: shape, or weight of one
    second: float  # rate, or weight of zero
    fixed: float  # q itself where it is not learnt; negative otherwise


@kernel
def _draw_mixed(time: NewTime, n: Array, q: Array, there: Array, u: float, rng: Any) -> float:
    """Draw q of the regions and then u; n counts the words of each topic."""
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
            q[r] = rng.standard_gamma(time.first + words) / (time.second + u * mass)
        total += q[r] * mass
    for k in range(n.size):
        there[k] = q[time.region[k]]
    return rng.standard_gamma(n.sum()) / max(total, 1e-280)


@kernel
def _draw_thinned(time: NewTime, n: Array, q: Array, there: Array, u: float, rng: Any) -> float:
    """Draw which topics are there, q of the regions, and then u."""
    K, total = n.size - q.size, 0.0
    for k in range(K):
        p = q[time.region[k]]
        odds = p * exp(-u * time.jump[k])
        there[k] = 1.0 if n[k] > 0 or rng.random() * (1.0 - p + odds) < odds else 0.0
        total += there[k] * time.jump[k]
    for r in range(q.size):
        on, off = 0.0, 0.0
        for k in range(K):
            if time.region[k] == r:
                on += there[k]
                off += 1.0 - there[k]
        if time.fixed >= 0.0:
            q[r] = time.fixed
        else:
            a, b = rng.standard_gamma(time.first + on), rng.standard_gamma(time.second + off)
            q[r] = min(max(a / max(a + b, 1e-280), 1e-250), 1.0 - 1e-15)
        there[K + r] = q[r]
        total += q[r] * time.jump[K + r]
    return rng.standard_gamma(n.sum()) / max(total, 1e-280)


@kernel
def flat_fold(
    words: Words,
    time: NewTime,
    sweeps: int,
    skip: int,
    q: Array,  # scratch (R,)
    there: Array,  # scratch (K + R,)
    n: Array,  # scratch (K + R,) int64
    weight: Array,  # scratch (K + R,)
    dish: Array,  # scratch (L,) int64
    theta: Array,  # OUT (D, K + R)
    rng: Any,
) -> None:
    """Write the probability of each topic for one more word of each document."""
    C = n.size
    mean = time.fixed
    if mean < 0.0:
        mean = time.first / (time.first + time.second if time.thinned else time.second)
    for d in range(words.time.size):
        length = words.start[d + 1] - words.start[d]
        q[:], there[:], n[:], theta[d] = mean, mean, 0, 0.0
        u = length / max((there * time.jump).sum(), 1e-280)
        for sweep in range(skip + sweeps):
            if sweep > 0 and length > 0:
                if time.thinned:
                    u = _draw_thinned(time, n, q, there, u, rng)
                else:
                    u = _draw_mixed(time, n, q, there, u, rng)
            for i in range(length):
                x = words.word[words.start[d] + i]
                if sweep > 0:
                    n[dish[i]] -= 1
                total = 0.0
                for k in range(C):
                    p = (words.beta + time.counts[x, k]) * time.inverse[k]
                    weight[k] = there[k] * time.jump[k] * p
                    total += weight[k]
                target, k = rng.random() * total, 0
                while k < C - 1 and target >= weight[k]:
                    target -= weight[k]
                    k += 1
                dish[i] = k
                n[k] += 1
            if sweep >= skip:
                total = (there * time.jump).sum()
                for k in range(C):
                    theta[d, k] += there[k] * time.jump[k] / (total * sweeps)
