r"""Documents that a topic model has not seen: their topics, with all topics held as they are.

Words choose topics as in ``evermix.kernels.topics.indicators``, but the words of topics and the
weights of topics at a time are fixed. With n words at T tables, the next word is of topic k with
probability

.. math::

    \frac{n_k - \sigma t_k + \omega \, \mathrm{top}_k}{n - \sigma T + \omega},

where :math:`\omega(n, T)` is the weight of a new cluster under a normalised generalised gamma
process (``evermix.kernels.weights``).
"""

from typing import Any, NamedTuple

from evermix._xp import Array
from evermix.kernels.base import lean
from evermix.kernels.topics.dishes import Seats, Words, Worth, appraise, choose, split
from evermix.kernels.topics.documents import draw_u
from evermix.kernels.weights import QUADRATURE, new_weight


class Frozen(NamedTuple):
    """A topic model as it is; the last topic stands for a new one.   # IN."""

    counts: Array  # (V, C) words of each topic
    inverse: Array  # (C,) 1 / (V beta + total)
    top: Array  # (T, C) weight of each topic at each time; they sum to one
    n_topics: int  # K + 1; behind these there is room up to C, with weights of zero
    a: float
    sigma: float


class Plate(NamedTuple):
    """Scratch for one document.   # scratch."""

    dish: Array  # (L,) int64
    n: Array  # (C,) int64 words of each topic
    t: Array  # (C,) int64 tables of each topic
    worth: Worth


@lean
def _refresh(frozen: Frozen, plate: Plate, seats: Seats, t: int, k: int) -> None:
    """Compute what the choice of topic k is worth in this document."""
    inverse, popular = frozen.inverse[k], frozen.top[t, k]
    appraise(plate.worth, seats, k, plate.n[k], plate.t[k], inverse, popular)


@lean
def _sweep(
    words: Words, frozen: Frozen, plate: Plate, seats: Seats, d: int, first: bool, rng: Any
) -> bool:
    """Let all words of document d choose; return whether ratios were known of all tables."""
    start, t, K = words.start[d], words.time[d], frozen.n_topics
    for k in range(K):
        _refresh(frozen, plate, seats, t, k)
    for w in range(start, words.start[d + 1]):
        k, uniform = -1, rng.random()
        if not first:
            k = plate.dish[w - start]
            opened, uniform = split(uniform, plate.t[k], plate.n[k])
            if opened and plate.t[k] == 1 and plate.n[k] > 1:
                continue
            plate.n[k] -= 1
            plate.t[k] -= opened
            _refresh(frozen, plate, seats, t, k)
        counts = frozen.counts[words.word[w]]
        k, target = choose(counts, words.beta, 1.0, plate.worth, K, 0.0, k, uniform)
        if target >= (words.beta + counts[k]) * plate.worth.old[k] or plate.n[k] == 0:
            plate.t[k] += 1
        plate.n[k] += 1
        plate.dish[w - start] = k
        if plate.t[k] >= seats.ratios.shape[1]:
            return False
        _refresh(frozen, plate, seats, t, k)
    return True


@lean
def fold_document(
    words: Words,
    frozen: Frozen,
    plate: Plate,
    ratios: Array,  # IN (n_max + 1, t_max + 1, 2), see seat_ratios
    sweeps: int,
    skip: int,
    d: int,
    theta: Array,  # OUT (K + 1,)
    rng: Any,
) -> bool:
    """Write the probability of each topic for one more word of document d.

    It is the mean over ``sweeps`` sweeps after ``skip`` others. Returns whether ``ratios`` was
    large enough; otherwise nothing is written.
    """
    sigma, t, K = frozen.sigma, words.time[d], frozen.n_topics
    n = words.start[d + 1] - words.start[d]
    for k in range(K):
        theta[k] = frozen.top[t, k] if n == 0 else 0.0
        plate.n[k] = plate.t[k] = 0
    if n == 0:
        return True
    u = (n / frozen.a) ** (1.0 / (1.0 + sigma))
    for sweep in range(skip + sweeps):
        seats = Seats(ratios, 1.0 / (1.0 + u), frozen.a * (1.0 + u) ** (sigma - 1.0))
        if not _sweep(words, frozen, plate, seats, d, sweep == 0, rng):
            return False
        tables = 0
        for k in range(K):
            tables += plate.t[k]
        u = draw_u(n, tables, frozen.a, sigma, u, rng)
        if sweep >= skip:
            omega = new_weight(QUADRATURE, frozen.a, sigma, 1.0, float(n), float(tables))
            share = 1.0 / (sweeps * (n - sigma * tables + omega))
            for k in range(K):
                weight = plate.n[k] - sigma * plate.t[k] + omega * frozen.top[t, k]
                theta[k] += share * weight
    return True


@lean
def word_probabilities(
    words: Words,
    frozen: Frozen,
    theta: Array,  # IN (D, K + 1)
    out: Array,  # INOUT (N,) to which probabilities are added
) -> None:
    """Add the probability of every word, given the topics of its document."""
    for d in range(words.time.size):
        for w in range(words.start[d], words.start[d + 1]):
            x, p = words.word[w], 0.0
            for k in range(theta.shape[1]):
                p += theta[d, k] * (words.beta + frozen.counts[x, k]) * frozen.inverse[k]
            out[w] += p
