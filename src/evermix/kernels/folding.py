r"""Documents that a topic model has not seen: their topics, with all topics held as they are.

Words choose topics as in ``evermix.kernels.indicators``, but the words of topics and the weights of
topics at a time are fixed. With n words at T tables, the next word is of topic k with probability

.. math::

    \frac{n_k - \sigma t_k + \omega \, \mathrm{top}_k}{n - \sigma T + \omega},

where :math:`\omega(n, T)` is the weight of a new cluster under a normalised generalised gamma
process (``evermix.kernels.weights``).
"""

from typing import Any, NamedTuple

from evermix._xp import Array
from evermix.kernels.base import kernel
from evermix.kernels.documents import draw_u
from evermix.kernels.menu import Words
from evermix.kernels.weights import QUADRATURE, new_weight

__all__ = ["Frozen", "Plate", "fold_document", "word_probabilities"]


class Frozen(NamedTuple):
    """A topic model as it is; the last topic stands for a new one.   # IN."""

    counts: Array  # (V, K + 1) words of each topic
    inverse: Array  # (K + 1,) 1 / (V beta + total)
    top: Array  # (T, K + 1) weight of each topic at each time; they sum to one
    a: float
    sigma: float


class Plate(NamedTuple):
    """Scratch for one document.   # scratch."""

    dish: Array  # (L,) int64
    n: Array  # (K + 1,) int64
    t: Array  # (K + 1,) int64
    weight: Array  # (K + 1,)


@kernel
def _choose(
    frozen: Frozen, plate: Plate, ratios: Array, x: int, beta: float, t: int, u: float, draw: float
) -> int:
    """Let word x choose a topic, and whether it opens a table; return the topic."""
    join, open_one = 1.0 / (1.0 + u), frozen.a * (1.0 + u) ** (frozen.sigma - 1.0)
    total = 0.0
    for k in range(plate.n.size):
        ratio = ratios[plate.n[k], plate.t[k]]
        weight = join * ratio[0] + open_one * ratio[1] * frozen.top[t, k]
        plate.weight[k] = weight * (beta + frozen.counts[x, k]) * frozen.inverse[k]
        total += plate.weight[k]
    target, k = draw * total, 0
    while k < plate.n.size - 1 and target >= plate.weight[k]:
        target -= plate.weight[k]
        k += 1
    while k > 0 and plate.weight[k] == 0.0:  # rounding ran over the last one that has weight
        k -= 1
    old = join * ratios[plate.n[k], plate.t[k], 0]
    p = (beta + frozen.counts[x, k]) * frozen.inverse[k]
    if target >= old * p or plate.n[k] == 0:
        plate.t[k] += 1
    plate.n[k] += 1
    return k


@kernel
def _sweep(
    words: Words,
    frozen: Frozen,
    plate: Plate,
    ratios: Array,
    d: int,
    u: float,
    first: bool,
    rng: Any,
) -> bool:
    """Let all words of document d choose; return whether ``ratios`` knew all numbers of tables."""
    start = words.start[d]
    for w in range(start, words.start[d + 1]):
        if not first:
            k = plate.dish[w - start]
            opened = rng.random() * plate.n[k] < plate.t[k]
            if opened and plate.t[k] == 1 and plate.n[k] > 1:
                continue
            plate.n[k] -= 1
            plate.t[k] -= opened
        k = _choose(
            frozen, plate, ratios, words.word[w], words.beta, words.time[d], u, rng.random()
        )
        plate.dish[w - start] = k
        if plate.t[k] >= ratios.shape[1]:
            return False
    return True


@kernel
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
    sigma, t = frozen.sigma, words.time[d]
    n = words.start[d + 1] - words.start[d]
    theta[:] = 0.0
    plate.n[:] = 0
    plate.t[:] = 0
    if n == 0:
        theta[:] = frozen.top[t]
        return True
    u = (n / frozen.a) ** (1.0 / (1.0 + sigma))
    for sweep in range(skip + sweeps):
        if not _sweep(words, frozen, plate, ratios, d, u, sweep == 0, rng):
            return False
        tables = plate.t.sum()
        u = draw_u(n, tables, frozen.a, sigma, u, rng)
        if sweep >= skip:
            omega = new_weight(QUADRATURE, frozen.a, sigma, 1.0, float(n), float(tables))
            share = 1.0 / (sweeps * (n - sigma * tables + omega))
            for k in range(plate.n.size):
                weight = plate.n[k] - sigma * plate.t[k] + omega * frozen.top[t, k]
                theta[k] += share * weight
    return True


@kernel
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
