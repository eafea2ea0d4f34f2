"""When topics, or clusters over time, are there: spans, births and deaths, and how they change."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._limits import MIN_DOCUMENTS

UNCERTAIN = "births and deaths where they begin are uncertain"  # times that were added
HALF = 0.5  # of the share from which a topic is there: with less, it was or is gone


def span_of(times: Sequence[Any]) -> str:
    """Return the first and the last of some times, in words."""
    return str(times[0]) if len(times) == 1 else f"{times[0]} to {times[-1]}"


def caution(n: int | None = None, noun: str = "documents") -> str:
    """Return how far births and deaths found in n documents, or rows, can be trusted."""
    of = "" if n is None else f"of {n:,} {noun}: "
    return f"{of}some may be chance; a fit with shuffled times shows how many"


class Lifetimes(NamedTuple):
    """When each of K topics is present, in numbers 0..T-1 of times.

    Attributes
    ----------
    spans : list of K lists of (first, last)
        Runs of times in which a topic is present, first and last included.
    births : list of T lists of int
        Topics that are present for the first time, and had less than half the share before, on
        average. The births of topics that are present at the first time of all are unknown, and
        left out.
    deaths : list of T lists of int
        Topics that are absent from this time on, with less than half the share on average.
    """

    spans: list[list[tuple[int, int]]]
    births: list[list[int]]
    deaths: list[list[int]]

    def moves(self, k: int) -> tuple[int | None, int | None]:
        """Return the times of the birth and of the death of topic k; None where unknown."""
        born, died = (
            next((t for t, some in enumerate(each) if k in some), None)
            for each in (self.births, self.deaths)
        )
        return born, died

    def within(self, part: slice) -> "Lifetimes":
        """Return what happens in a part of the times, by their numbers there."""
        T = range(len(self.births))[part]
        spans = [
            [(max(a - T[0], 0), min(b, T[-1]) - T[0]) for a, b in runs if a <= T[-1] and b >= T[0]]
            for runs in self.spans
        ]
        return Lifetimes(spans, self.births[part], self.deaths[part])


def lifetimes(
    evolution: NDArray[Any],
    share: float,
    documents: Any = None,
    least: int = MIN_DOCUMENTS,
) -> Lifetimes:
    """Find when topics have at least a share of the words.

    Parameters
    ----------
    evolution : array (T, K)
        Share of each topic at each time.
    share : float
        A topic with less is absent.
    documents : sequence of int (T,), optional
        Number of documents of each time. Times with few of them tell nothing of births and deaths,
        which are then found as if these times were not there; None: all times tell.
    least : int
        With fewer documents than this, they are few.

    Examples
    --------
    >>> found = lifetimes([[0.95, 0.05], [0.5, 0.5], [0.0, 1.0]], 0.2)
    >>> found.spans
    [[(0, 1)], [(1, 2)]]
    >>> found.births, found.deaths
    ([[], [1], []], [[], [], [0]])
    """
    evolution, least_share = np.asarray(evolution), max(share, np.nextafter(0.0, 1.0))
    T, K = evolution.shape
    reliable = reliable_times(T, documents, least)
    births: list[list[int]] = [[] for _ in range(T)]
    deaths: list[list[int]] = [[] for _ in range(T)]
    for k in range(K):
        shares = evolution[reliable, k]
        there = np.flatnonzero(shares >= least_share)
        if not len(there):
            continue
        first, last = int(there[0]), int(there[-1])
        if first > 0 and shares[:first].mean() < HALF * least_share:
            births[reliable[first]].append(k)
        if last < len(reliable) - 1 and shares[last + 1 :].mean() < HALF * least_share:
            deaths[reliable[last + 1]].append(k)
    spans = [_runs(evolution[:, k] >= least_share) for k in range(K)]
    return Lifetimes(spans, births, deaths)


def changes(
    evolution: NDArray[Any], documents: Any = None, least: int = MIN_DOCUMENTS
) -> NDArray[Any]:
    """Return how much each topic changes (K,): its largest share at any time less its smallest.

    Negative if the largest comes first. Times with few documents do not count, as in
    :func:`lifetimes`; with fewer than two times that do, nothing changes.

    Examples
    --------
    >>> changes([[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]])
    array([-0.9,  0.9])
    """
    evolution = np.asarray(evolution, dtype=np.float64)
    shares = evolution[reliable_times(len(evolution), documents, least)]
    if len(shares) < 2:
        return np.zeros(evolution.shape[1])
    falls = shares.argmax(axis=0) < shares.argmin(axis=0)
    return np.asarray(np.ptp(shares, axis=0) * np.where(falls, -1.0, 1.0))


def rank_changes(
    evolution: NDArray[Any], documents: Any = None, least: int = MIN_DOCUMENTS
) -> NDArray[Any]:
    """Return by how much topics (K,) change, to rank them: :func:`changes` without its sign.

    As their largest share, one that stands for fewer than ``least`` documents counts for less, in
    proportion: one document among few is no topic of that time.

    Examples
    --------
    >>> rank_changes([[0.5, 0.0, 0.5], [0.4, 0.1, 0.5]], [100, 10]).round(2)
    array([0.1 , 0.02, 0.  ])
    """
    evolution = np.asarray(evolution, dtype=np.float64)
    some = reliable_times(len(evolution), documents, least)
    some = some if len(some) > 1 else np.arange(len(evolution))
    shares = most = evolution[some]
    if documents is not None:
        worth = shares * np.asarray(documents)[some, None]
        most = shares * np.minimum(worth / max(least, 1), 1.0)
    least_share = shares.min(axis=0, initial=1.0)
    return np.asarray(np.maximum(most.max(axis=0, initial=0.0) - least_share, 0.0))


def reliable_times(T: int, documents: Any, least: int) -> NDArray[Any]:
    """Return the numbers of the times that have at least so many documents."""
    if documents is None:
        return np.arange(T)
    return np.flatnonzero(np.asarray(documents) >= least)


def _runs(mask: NDArray[Any]) -> list[tuple[int, int]]:
    """Return the first and last positions of the runs of True in a mask (T,)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]
