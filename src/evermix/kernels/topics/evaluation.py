r"""Documents that a topic model has not seen: their topics, with all topics held as they are.

Words choose topics as in ``evermix.kernels.topics.indicators``, but the words of topics and the
weights of topics at a time are fixed. With n words at T tables, the next word is of topic k with
probability

.. math::

    \frac{n_k - \sigma t_k + \omega \, \mathrm{top}_k}{n - \sigma T + \omega},

where :math:`\omega(n, T)` is the weight of a new cluster under a normalised generalised gamma
process (``evermix.kernels.weights``).
"""

from math import exp, log, log1p
from typing import Any, NamedTuple

from numpy.typing import NDArray

from evermix._xp import Floats, Ints
from evermix.kernels.base import kernel, lean
from evermix.kernels.topics.dishes import DishWeights, Words, WordTopics, split
from evermix.kernels.topics.measures import RAREST, SUREST, draw_document_u
from evermix.kernels.topics.sparse import choose_sparse, sum_weights, weigh
from evermix.kernels.topics.tables import CANCELLED
from evermix.kernels.weights import QUADRATURE, new_weight


class FrozenTopics(NamedTuple):
    """A topic model as it is; the last topic stands for a new one.   # IN."""

    lists: WordTopics  # topics of each word, and how often they have it
    inverse: Floats  # (K + 1,) 1 / (V beta + total)
    top: Floats  # (T, K + 1) weight of each topic at each time; they sum to one
    n_topics: int  # K + 1
    a: float
    sigma: float


class DocumentScratch(NamedTuple):
    """Scratch for one document.   # scratch."""

    dish: Ints  # (L,) int64
    n: Ints  # (K + 1,) int64 words of each topic
    t: Ints  # (K + 1,) int64 tables of each topic
    worth: DishWeights


@lean
def _refresh(
    frozen: FrozenTopics, scratch: DocumentScratch, ratios: Floats, t: int, k: int
) -> None:
    """Write the weights of topic k in this document."""
    inverse, some = frozen.inverse[k], ratios[scratch.n[k], scratch.t[k]]
    weigh(scratch.worth, k, some[0] * inverse, some[1] * frozen.top[t, k] * inverse)


@lean
def _enter(frozen: FrozenTopics, scratch: DocumentScratch, t: int) -> None:
    """Write the weights of all topics in a document of time t that has no words yet."""
    worth = scratch.worth
    for k in range(frozen.n_topics):
        scratch.n[k] = scratch.t[k] = 0
        worth.old[k], worth.top[k] = 0.0, frozen.top[t, k] * frozen.inverse[k]
    sum_weights(worth, frozen.n_topics)


@lean
def _sweep(
    words: Words,
    frozen: FrozenTopics,
    scratch: DocumentScratch,
    ratios: Floats,
    open_one: float,
    d: int,
    tables: int,
    rng: Any,
) -> int:
    """Let all words of document d choose, which has so many tables, or none before the first time.

    Returns how many it has then, or -1 if there are more of a topic than ``ratios`` knows.
    """
    start, t, K, first = words.start[d], words.time[d], frozen.n_topics, tables == 0
    for w in range(start, words.start[d + 1]):
        k, uniform = -1, rng.random()
        if not first:
            k = scratch.dish[w - start]
            opened, uniform = split(uniform, scratch.t[k], scratch.n[k])
            if opened and scratch.t[k] == 1 and scratch.n[k] > 1:
                continue
            scratch.n[k] -= 1
            scratch.t[k] -= opened
            tables -= opened
            _refresh(frozen, scratch, ratios, t, k)
        x, worth = words.word[w], scratch.worth
        k, target = choose_sparse(
            frozen.lists, x, words.beta, open_one, worth, K, 0.0, -1, 0, uniform
        )
        if target >= worth.old[k] or scratch.n[k] == 0:
            scratch.t[k] += 1
            tables += 1
        scratch.n[k] += 1
        scratch.dish[w - start] = k
        if scratch.t[k] >= ratios.shape[1]:
            return -1
        _refresh(frozen, scratch, ratios, t, k)
    return tables


@lean
def fold_document(
    words: Words,
    frozen: FrozenTopics,
    scratch: DocumentScratch,
    ratios: Floats,  # IN (n_max + 1, t_max + 1, 2), see seat_ratios
    sweeps: int,
    skip: int,
    d: int,
    theta: Floats,  # OUT (K + 1,)
    rng: Any,
) -> bool:
    """Write the probability of each topic for one more word of document d.

    It is the mean over ``sweeps`` sweeps after ``skip`` others. Returns whether ``ratios`` was
    large enough; otherwise nothing is written. Sweeps look only at the topics of the document.
    """
    sigma, t, K = frozen.sigma, words.time[d], frozen.n_topics
    n, tables, every = words.start[d + 1] - words.start[d], 0, 0.0
    for k in range(K):
        theta[k] = 0.0
    if n > 0:
        _enter(frozen, scratch, t)
    else:
        every = 1.0
    u = (n / frozen.a) ** (1.0 / (1.0 + sigma))
    for sweep in range(skip + sweeps if n > 0 else 0):
        open_one = frozen.a * (1.0 + u) ** sigma  # over the weight of a seat, 1 / (1 + u)
        tables = _sweep(words, frozen, scratch, ratios, open_one, d, tables, rng)
        if tables < 0:
            return False
        u = draw_document_u(n, tables, frozen.a, sigma, u, rng)
        if sweep >= skip:
            omega = new_weight(QUADRATURE, frozen.a, sigma, 1.0, float(n), float(tables))
            share = 1.0 / (sweeps * (n - sigma * tables + omega))
            every += share * omega
            for w in range(n):  # each has its part of the weight of its topic
                k = scratch.dish[w]
                theta[k] += share * (1.0 - sigma * scratch.t[k] / scratch.n[k])
    for k in range(K):
        theta[k] += every * frozen.top[t, k]
    return True


@lean
def word_probabilities(
    words: Words,
    frozen: FrozenTopics,
    theta: Floats,  # IN (D, K + 1)
    out: Floats,  # INOUT (N,) to which probabilities are added
) -> None:
    """Add the probability of every word, given the topics of its document."""
    lists = frozen.lists
    for d in range(words.time.size):
        least = 0.0
        for k in range(theta.shape[1]):
            least += theta[d, k] * frozen.inverse[k]
        least *= words.beta
        for w in range(words.start[d], words.start[d + 1]):
            x, p = words.word[w], least
            for j in range(lists.start[x], lists.end[x]):
                k = lists.topic[j]
                p += theta[d, k] * lists.n[j] * frozen.inverse[k]
            out[w] += p


# ---- models without hierarchy: a new document is a new time -------------------------------


class NewTime(NamedTuple):
    r"""Topics with fixed jumps w, seen by a new time; the last R stand for new ones.   # IN.

    With mixed measures, topics of words, weights q of regions and u are drawn in turn: q of a
    region of mass S and n words is Gamma(a + n, b + u S), and u of a document of N words is
    Gamma(N, sum of q S). With thinned ones, a topic is on with odds q / (1 - q) times the factor by
    which it raises the probability of the words.
    """

    counts: NDArray[Any]  # (V, K + R) words of each topic
    inverse: Floats  # (K + R,) 1 / (V beta + total)
    jump: Floats  # (K + R,)
    region: Ints  # (K + R,) int64
    first: float  # of the law of q: shape, or weight of one
    second: float  # rate, or weight of zero
    fixed: float  # q itself where it is not learnt; negative otherwise


@kernel
def _probability(words: Words, time: NewTime, x: int, k: int) -> float:
    return (words.beta + time.counts[x, k]) * time.inverse[k]


@kernel
def _add_share(time: NewTime, there: Floats, sweeps: int, theta: Floats) -> None:
    """Add what one more word chooses, over the number of sweeps."""
    total = (there * time.jump).sum()
    for k in range(there.size):
        theta[k] += there[k] * time.jump[k] / (total * sweeps)


@kernel
def _draw_q(time: NewTime, n: Ints, q: Floats, there: Floats, u: float, rng: Any) -> float:
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
    q: Floats,  # scratch (R,)
    there: Floats,  # scratch (K + R,)
    n: Ints,  # scratch (K + R,) int64
    weight: Floats,  # scratch (K + R,)
    dish: Ints,  # scratch (L,) int64
    theta: Floats,  # OUT (K + R,)
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
def _log_gain(words: Words, time: NewTime, p: Floats, d: int, k: int, mass: float) -> float:
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
def _add_mass(words: Words, time: NewTime, p: Floats, d: int, k: int, mass: float) -> None:
    n = words.start[d + 1] - words.start[d]
    for i in range(n):
        p[i] += mass * _probability(words, time, words.word[words.start[d] + i], k)
    p[n] += mass


@kernel
def _sum_up(words: Words, time: NewTime, p: Floats, d: int, there: Floats) -> None:
    """Write the weights of the words, and the mass of all topics."""
    p[: words.start[d + 1] - words.start[d] + 1] = 0.0
    for k in range(there.size):
        if there[k] > 0.0:
            _add_mass(words, time, p, d, k, there[k] * time.jump[k])


@kernel
def _draw_probability(
    words: Words, time: NewTime, p: Floats, d: int, r: int, there: Floats, rng: Any
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
    there: Floats,  # scratch (K + R,)
    p: Floats,  # scratch (L + 1,)
    theta: Floats,  # OUT (K + R,)
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
