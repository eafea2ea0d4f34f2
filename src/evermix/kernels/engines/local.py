"""Responsibilities of clusters for rows, and sums over them."""

import math

import numpy as np

from evermix._xp import Floats, Ints
from evermix.kernels.base import kernel

LEAST = -46.0  # log of a responsibility relative to the largest, below which it is zero: 1e-20


@kernel
def softmax_rows(
    scores: Floats,
    weights: Floats,
    mass: Floats,
    entropy: Floats,
    owner: Ints,
    best: Floats,
    log_norm: Floats,
) -> int:
    """Replace scores (N, K) by responsibilities, the softmax of each row.

    Adds to mass (K,) and entropy (K,), weighted by rows; writes for each row the cluster with the
    largest responsibility, that value, and the log of the sum of exponentials. Returns the number
    of responsibilities above zero.   Consumes: scores, mass, entropy, owner, best, log_norm.
    """
    K, count = scores.shape[1], 0
    kept, below = np.empty(K, dtype=np.int64), np.empty(K)
    for n in range(scores.shape[0]):
        row = scores[n]
        peak, first = row[0], 0
        for k in range(1, K):
            if row[k] > peak:
                peak, first = row[k], k
        few = 0
        for k in range(K):  # a list first: the compiler takes exp for cheap enough to do for all
            kept[few], below[few] = k, row[k] - peak
            few += not below[few] < LEAST  # nan is kept
            row[k] = 0.0
        total = 0.0
        for i in range(few):
            row[kept[i]] = math.exp(below[i])
            total += row[kept[i]]
        log_total, each, w = math.log(total), 1.0 / total, weights[n]
        for i in range(few):
            k = kept[i]
            row[k] *= each
            mass[k] += w * row[k]
            entropy[k] -= w * row[k] * (below[i] - log_total)
        owner[n], best[n], log_norm[n] = first, each, peak + log_total
        count += few
    return count


@kernel
def add_rows(r: Floats, weights: Floats, rows: Floats, sums: Floats) -> None:
    """Add rows (N, F) times weights and responsibilities r (N, K), mostly zero, to sums (K, F).

    Consumes: sums.
    """
    for n in range(r.shape[0]):
        for k in range(r.shape[1]):
            if r[n, k] != 0.0:
                factor, row, total = weights[n] * r[n, k], rows[n], sums[k]
                for f in range(rows.shape[1]):
                    total[f] += factor * row[f]


@kernel
def add_entropy(r: Floats, weights: Floats, entropy: Floats) -> None:
    """Add the entropy of responsibilities (N, K), weighted by rows, to that of clusters, (K,).

    Consumes: entropy.
    """
    for n in range(r.shape[0]):
        for k in range(r.shape[1]):
            if r[n, k] > 0.0:
                entropy[k] -= weights[n] * r[n, k] * math.log(r[n, k])


@kernel
def write_fused_entropy(
    r: Floats, weights: Floats, rows: Ints, starts: Ints, pairs: Ints, change: Floats
) -> None:
    """Write how the entropy of responsibilities (K, N) changes if pairs (P, 2) are fused, (P,).

    The rows of cluster k that count are those from starts[k] to starts[k + 1].   Consumes: change.
    """
    for p in range(len(pairs)):
        a, b = pairs[p]
        if starts[a + 1] - starts[a] > starts[b + 1] - starts[b]:
            a, b = b, a
        some, others, total = r[a], r[b], 0.0
        for i in range(starts[a], starts[a + 1]):
            n = rows[i]
            if others[n] > 0.0:
                ratio = others[n] / some[n]
                part = ratio * math.log(ratio) - (1.0 + ratio) * math.log1p(ratio)
                total += weights[n] * some[n] * part
        change[p] = total
