r"""When clusters began: where their rows begin to come.

A review finds a cluster after its first rows, and a trickle of rows long before may resemble them.
So of rows at clocks :math:`c_1 \le \dots \le c_n`, up to a clock T, the first i are strays that
maximise the likelihood of two rates,

.. math::

    i \log(i / (c_{i+1} - c_1)) + (n - i) \log((n - i) / (T - c_{i+1})),

if they are at most a third of the rows, and came at most a third as often as the others. That must
be far more likely than one rate from the first row on, and more likely than a rate that grows
evenly from there: a subject that grows slowly has no strays.
"""

import numpy as np

from evermix._xp import Bools, Floats, Ints
from evermix.state import STRAYS, State

SELDOM = 1 / 3  # rate of strays, as a share of that of other rows
CHANCE = 5.0  # nats that two rates gain over one by chance, in one of some 300 clusters
MISSED = 5.0  # rows that a cluster would have had since an id was given, if it had been there


def first_clock(clocks: Ints, until: int) -> int:
    """Return the clock at which a cluster began whose rows have clocks (n,), up to a clock."""
    clocks = np.sort(clocks)
    n, most = len(clocks), int(STRAYS * len(clocks)) + 1
    begins, before = clocks[:most].astype(np.float64), np.arange(min(most, n))
    early, late = np.maximum(begins - begins[0], 1.0), np.maximum(until - begins, 1.0)
    seldom = before / early <= SELDOM * (n - before) / late
    value = _log_likelihood(before, early) + _log_likelihood(n - before, late)
    i = int(np.where(seldom, value, -np.inf).argmax())
    known = max(value[0] + CHANCE, _of_growth(clocks, until))
    return int(clocks[i if value[i] > known else 0])


def begin(state: State, ids: Ints, owner: Ints, clocks: Ints, last: int | None) -> None:
    """Note when the clusters ``ids`` (K,) began.

    ``owner`` (M,) are the places of the clusters of rows, ``clocks`` (M,) when these were learnt.
    If they are all rows, ``last`` is None; otherwise they say of those that were found after that
    clock, which may have begun before the first of them.   Consumes: the lineage of the state.
    """
    lineage = state.lineage
    for k in np.unique(owner).tolist():
        id = int(ids[k])
        if last is None:
            lineage.begin(id, first_clock(clocks[owner == k], state.clock))
        elif lineage.found_at(id) > last:
            first = first_clock(clocks[owner == k], state.clock)
            lineage.begin(id, min(first, lineage.born[id]))


def may_be(state: State, owner: Ints, clocks: Ints, K: int) -> Bools:
    """Return which of the clusters of a state each of K new ones may be, (old, new).

    One that began long after an id was given is another subject: at its rate, many rows would have
    come in between. ``owner`` (M,) are the new clusters of rows, ``clocks`` (M,) when they came.
    """
    given = np.array([state.lineage.found_at(id) for id in state.tally.ids.tolist()])
    missed = np.zeros((len(given), K))
    for j in range(K):
        own = clocks[owner == j]
        if len(own):
            first = first_clock(own, state.clock)
            rate = np.count_nonzero(own >= first) / (state.clock - first + 1.0)
            missed[:, j] = rate * (first - given)
    return missed < MISSED


def _log_likelihood(rows: Ints, time: Floats) -> Floats:
    """Return the log likelihood of numbers of rows in times, at their rates, up to a constant."""
    return np.asarray(rows * np.log(np.maximum(rows, 1) / time), dtype=np.float64)


def _of_growth(clocks: Ints, until: int) -> float:
    """Return the log likelihood of rows whose rate grows evenly from the first on, as above."""
    since = np.maximum(clocks - clocks[0], 0.5)
    return float(np.log(2 * len(clocks) * since / max(until - clocks[0], 1.0) ** 2).sum())
