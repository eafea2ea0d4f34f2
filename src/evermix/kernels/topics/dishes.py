r"""What word loops of topic models share: words in documents, and the menu of dishes.

A dish is a topic. Documents order it at tables, and the weight of a dish for one more table of time
t is :math:`\mathrm{share}_{tk} (m_k - \mathrm{discount})`, where m counts tables; or the share
itself, where dishes have jumps and the discount is negative. Shares hold the factor u_t. For what
one more table at time t does to :math:`u_t^{N_t - 1} / \Gamma(N_t)` they are divided by the number
of tables there: by one if there is none, since then all choices open one and the factor cancels.
"""

from typing import NamedTuple

from evermix._xp import Array
from evermix.kernels.base import lean

DONE, MORE_DISHES, BORN, MORE_TABLES = 0, 1, 2, 3
CHUNK = 8  # dishes that are searched together; capacities are multiples of it


class Words(NamedTuple):
    """A corpus.   # IN."""

    word: Array  # (N,) int32, those of a document together and ascending
    start: Array  # (D + 1,) int64, where documents begin
    time: Array  # (D,) int64
    size: int  # of the vocabulary
    beta: float  # of the Dirichlet law of topics


class Place(NamedTuple):
    """Where a loop over words or tables is."""

    d: int  # document
    i: int  # word of the corpus, or table of the document
    K: int  # slots in use
    n_holes: int  # empty ones among them
    why: int  # DONE; or why it stopped: MORE_DISHES, there is no slot for another dish; BORN, the
    #           last choice is a new dish that needs a jump; MORE_TABLES, see indicator_pass
    born: int = -1  # the newborn dish


class Worth(NamedTuple):
    """What dishes are worth to a word of the present document.   # INOUT."""

    old: Array  # (C,) weight of joining a table, over beta + count
    top: Array  # (C,) weight of opening one, over beta + count and scale
    weight: Array  # (C,) scratch: the weight of each for one word


class Seats(NamedTuple):
    """The law of a document's tables, where seats are summed over.   # IN."""

    ratios: Array  # (n_max + 1, t_max + 1, 2), see seat_ratios
    join: float  # 1 / (1 + u)
    open: float  # a (1 + u)^(sigma - 1)


class Novelties(NamedTuple):
    """New dishes.   # IN."""

    new: Array  # (T, Q) weight of a new dish of each kind
    total: Array  # (T,) their sum
    share: Array  # (T, Q) share of a newborn dish, where jumps are integrated out


class Menu(NamedTuple):
    """Dishes; empty slots have no tables.   # INOUT."""

    counts: Array  # (V, C) float32, or float64 for more than 2^24 words: words of each dish
    totals: Array  # (C,) int64, their sums
    tables: Array  # (C,) int64
    share: Array  # (T, C)
    kind: Array  # (C,) int64
    holes: Array  # (C,) int64, a stack of empty slots among 0..K-1
    open: Array  # (T,) int64, tables of each time
    discount: float


@lean
def appraise(
    worth: Worth, seats: Seats, k: int, n: int, t: int, inverse: float, popular: float
) -> None:
    """Compute what dish k is worth where n words of the document have it, at t tables.

    ``inverse`` is 1 / (V beta + total), and ``popular`` its weight for one more table.
    """
    ratios = seats.ratios[n, t]
    worth.old[k] = seats.join * inverse * ratios[0]
    worth.top[k] = seats.open * inverse * ratios[1] * popular


@lean
def split(uniform: float, share: float, whole: float) -> tuple[bool, float]:
    """Say yes with probability share / whole, and return the uniform number that is left."""
    target = uniform * whole
    if target < share:
        return True, target / share
    return False, (target - share) / (whole - share)


@lean
def _weigh(counts: Array, beta: float, scale: float, worth: Worth, K: int) -> float:
    """Write the weights of all dishes for a word, and return their sum."""
    total = 0.0
    for k in range(CHUNK * ((K + CHUNK - 1) // CHUNK)):
        weight = (beta + counts[k]) * (worth.old[k] + scale * worth.top[k])
        worth.weight[k] = weight
        total += weight
    return total


@lean
def _search(weight: Array, K: int, target: float) -> tuple[int, float]:
    """Return the first dish whose weights up to it exceed the target, or K; and what is left."""
    k, part = 0, 0.0
    while k < K:
        part = 0.0
        for i in range(CHUNK):
            part += weight[k + i]
        if target < part:
            break
        target -= part
        k += CHUNK
    k = min(k, K)
    while k < K and target >= weight[k]:
        target -= weight[k]
        k += 1
    return k, target


@lean
def choose(
    counts: Array,  # IN (C,) words of its kind in each dish
    beta: float,
    scale: float,
    worth: Worth,
    K: int,
    novel: float,
    last: int,
    uniform: float,
) -> tuple[int, float]:
    """Draw a dish for a word that had ``last``, or none if that is negative.

    Returns the dish, K for a new one, of weight ``novel``; and a uniform number below its weight.
    Most words choose what they had, so that comes first, and needs no search.
    """
    target = uniform * (_weigh(counts, beta, scale, worth, K) + novel)
    if last < 0:
        k, target = _search(worth.weight, K, target)
    else:
        own = worth.weight[last]
        if target < own:
            return last, target
        worth.weight[last] = 0.0
        k, target = _search(worth.weight, K, target - own)
        worth.weight[last] = own
    while k == K and novel == 0.0 or 0 < k < K and worth.weight[k] == 0.0:
        k -= 1  # rounding ran over the last one that has weight
    return k, target


@lean
def popularity(menu: Menu, t: int, k: int) -> float:
    """Weight of dish k for one more table of time t, but for the number of its tables."""
    m = menu.tables[k]
    if m == 0:
        return 0.0
    return menu.share[t, k] if menu.discount < 0.0 else menu.share[t, k] * (m - menu.discount)


@lean
def give_back(menu: Menu, t: int, k: int, n_holes: int) -> int:
    """Close a table of dish k at time t, and return how many empty slots there are."""
    menu.open[t] -= 1
    menu.tables[k] -= 1
    if menu.tables[k] == 0:
        menu.holes[n_holes] = k
        n_holes += 1
    return n_holes


@lean
def fresh_slot(
    menu: Menu, novelties: Novelties, t: int, target: float, K: int, n_holes: int
) -> tuple[int, int, int]:
    """Put a new dish on the menu; return its slot, K and the number of empty slots.

    Parameters
    ----------
    target : float
        A uniform number below the sum of the weights of all kinds, which chooses one.
    """
    kind = 0
    while kind < novelties.new.shape[1] - 1 and target >= novelties.new[t, kind]:
        target -= novelties.new[t, kind]
        kind += 1
    while kind > 0 and novelties.new[t, kind] == 0.0:
        kind -= 1
    if n_holes > 0:
        n_holes -= 1
        k = menu.holes[n_holes]
    else:
        k = K
        K += 1
    menu.kind[k] = kind
    for s in range(menu.share.shape[0]):
        menu.share[s, k] = novelties.share[s, kind]
    return k, K, n_holes


@lean
def count_tables(
    words: Words,
    dish: Array,  # IN (N,) int32
    opens: Array,  # IN (N,) bool
    by_time: Array,  # OUT (T, K) int64, zeros
    by_document: Array,  # OUT (D,) int64, zeros
) -> None:
    """Count the tables of each dish at each time, and of each document."""
    for d in range(words.time.size):
        t = words.time[d]
        for w in range(words.start[d], words.start[d + 1]):
            if opens[w]:
                by_time[t, dish[w]] += 1
                by_document[d] += 1


@lean
def count_words(
    words: Words,
    dish: Array,  # IN (N,) int32
    out: Array,  # OUT (V, C), zeros
) -> None:
    """Count the words of each dish."""
    for w in range(dish.size):
        out[words.word[w], dish[w]] += 1
