"""When topics are there: their spans of time, births and deaths."""

from typing import NamedTuple

import numpy as np

from evermix._xp import Array


class Lifetimes(NamedTuple):
    """When each of K topics is there, in numbers 0..T-1 of times.

    Attributes
    ----------
    spans : list of K lists of (first, last)
        Runs of times in which a topic is there, first and last included.
    births : list of T lists of int
        Topics that are there at a time for the first time. Of those that are there at the first of
        all times nobody knows when they were born.
    deaths : list of T lists of int
        Topics that are gone for good from a time on.
    """

    spans: list[list[tuple[int, int]]]
    births: list[list[int]]
    deaths: list[list[int]]


def lifetimes(evolution: Array, share: float) -> Lifetimes:
    """Find when topics have at least a share of the words.

    Parameters
    ----------
    evolution : array (T, K)
        Share of each topic at each time.
    share : float
        A topic that has less is not there.

    Examples
    --------
    >>> found = lifetimes([[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]], 0.2)
    >>> found.spans
    [[(0, 1)], [(1, 2)]]
    >>> found.births, found.deaths
    ([[], [1], []], [[], [], [0]])
    """
    there = np.asarray(evolution) >= max(share, np.nextafter(0.0, 1.0))
    T, K = there.shape
    births: list[list[int]] = [[] for _ in range(T)]
    deaths: list[list[int]] = [[] for _ in range(T)]
    spans = [_runs(there[:, k]) for k in range(K)]
    for k, runs in enumerate(spans):
        if runs and runs[0][0] > 0:
            births[runs[0][0]].append(k)
        if runs and runs[-1][1] < T - 1:
            deaths[runs[-1][1] + 1].append(k)
    return Lifetimes(spans, births, deaths)


def _runs(there: Array) -> list[tuple[int, int]]:
    """First and last places of the runs of True in a mask (T,)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], there, [False])).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]
