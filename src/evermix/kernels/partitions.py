"""Partitions of N rows: their numbering, their sizes, and what two of them share.

A partition is a row of cluster numbers. Losses between partitions need only the sizes of clusters
and of their intersections: a table ``f`` (N + 1,) gives each size its term of the loss.
"""

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Floats, Ints
from evermix.kernels.base import kernel

TILE = 32  # rows compared with so many others at a time, while both lie in the cache


@kernel
def number_clusters(labels: Ints, low: int, codes: NDArray[np.int32], K: Ints) -> None:
    """Number the clusters of each partition 0, 1, ... in the order in which they appear.

    ``labels`` (M, N) # IN, none below ``low``; ``codes`` (M, N) and ``K`` (M,) # OUT.
    """
    M, N = labels.shape
    high = low
    for m in range(M):
        for i in range(N):
            high = max(high, labels[m, i])
    names = np.full(high - low + 1, -1, dtype=np.int64)
    for m in range(M):
        found = 0
        for i in range(N):
            label = labels[m, i] - low
            if names[label] < 0:
                names[label] = found
                found += 1
            codes[m, i] = names[label]
        K[m] = found
        for i in range(N):
            names[labels[m, i] - low] = -1


@kernel
def size_terms(codes: Ints, f: Floats, out: Floats) -> None:
    """Write the sum of ``f[size]`` over the clusters of each partition (M, N) into ``out`` (M,)."""
    M, N = codes.shape
    sizes = np.zeros(N, dtype=np.int64)
    for m in range(M):
        for i in range(N):
            sizes[codes[m, i]] += 1
        total = 0.0
        for i in range(N):
            total += f[sizes[i]]  # of no size: f is zero there
            sizes[i] = 0
        out[m] = total


@kernel
def shared_terms(codes: Ints, others: Ints, f: Floats) -> float:
    """Sum ``f`` over the sizes of all intersections of clusters, averaged over the ``others``.

    Rows are visited cluster by cluster, so that a table of K numbers is enough.

    Parameters
    ----------
    codes : int array (N,)
        One partition, numbered from 0.
    others : int array (M, N)
        Partitions to intersect it with, numbered from 0.
    f : array (N + 1,)
    """
    M, N = others.shape
    stops = np.zeros(N + 1, dtype=np.int64)
    for i in range(N):
        stops[codes[i] + 1] += 1
    for k in range(N):
        stops[k + 1] += stops[k]
    rows = np.empty(N, dtype=np.int64)
    for i in range(N):
        rows[stops[codes[i]]] = i
        stops[codes[i]] += 1  # starts become stops
    moved = np.empty(N, dtype=np.int64)
    sizes = np.zeros(N, dtype=np.int64)
    total = 0.0
    for m in range(M):
        for j in range(N):
            moved[j] = others[m, rows[j]]
        start, k = 0, 0
        while start < N:
            stop = stops[k]
            for j in range(start, stop):
                sizes[moved[j]] += 1
            for j in range(start, stop):
                total += f[sizes[moved[j]]]
                sizes[moved[j]] = 0  # each intersection counts once
            start = stop
            k += 1
    return total / M


@kernel
def count_matches(draws: Ints, start: int, out: Floats) -> None:
    """Write in how many draws two rows have the same label, from row ``start`` on.

    One call does ``TILE`` rows against all later ones, and fills ``out`` on both sides of its
    diagonal.

    Parameters
    ----------
    draws : int array (R, M)
        Labels of each row in every draw.
    start : int
        The first of the rows to do.
    out : array (R, R)
    """
    R, M = draws.shape
    for low in range(start, R, TILE):
        for i in range(start, min(start + TILE, R)):
            for j in range(max(i, low), min(low + TILE, R)):
                matches = np.int32(0)  # as wide as the labels, so that vector units stay full
                for m in range(M):
                    matches = np.int32(matches + (draws[i, m] == draws[j, m]))
                out[i, j] = matches
                out[j, i] = out[i, j]
