"""GreedyMerge, the baseline that section 4.1 warns of: merges judged by one batch's bound.

It is memoized inference at a fixed K, after every batch of which some pairs may merge if the bound
of *that batch alone* rises. A batch of 1,000 rows has too little to say for many covariances, so
that structure is lost which the whole data need.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import softmax

from evermix.families.base import Family
from experiments.memoized.textbook import Summary, bound, fixed_point, summary

__all__ = ["greedy_merge"]

TRIES = 5  # pairs that are tried after each batch
LEAST = 1.0  # mass of a cluster that counts as one; empty ones change no bound, and may stay
SEEDS = -1


def greedy_merge(
    family: Family, alpha: float, X: np.ndarray, K: int, batch_size: int, laps: int, seed: int
) -> list[tuple[int, float, int]]:
    """Return lap, bound of the whole data and clusters in use, after every lap.

    The K clusters begin with one random row each.
    """
    rng = np.random.default_rng(seed)
    batches = np.array_split(np.arange(len(X)), len(X) // batch_size)
    # The rows that the clusters begin with count as a batch of their own in the first lap.
    total = summary(family, X[rng.choice(len(X), K, replace=False)], np.eye(K))
    memo = {SEEDS: total}
    by_lap = []
    for lap in range(1, laps + 1):
        for b in rng.permutation(len(batches)):
            rows = X[batches[b]]
            r = fixed_point(family, alpha, total, rows)
            new = summary(family, rows, r)
            total = _plus(_plus(total, memo.get(b, _none(new)), -1.0), new, 1.0)
            memo[b] = new
            for into, gone in _merges(family, alpha, total, rows, r, rng):
                total = _fused(total, into, gone)
                memo = {key: _fused(s, into, gone) for key, s in memo.items()}
        total = _plus(total, memo.pop(SEEDS, _none(total)), -1.0)
        held = int((total.mass > LEAST).sum())
        by_lap.append((lap, _whole(family, alpha, total, X, batches), held))
    return by_lap


def _merges(
    family: Family,
    alpha: float,
    total: Summary,
    rows: np.ndarray,
    r: np.ndarray,
    rng: np.random.Generator,
) -> Iterator[tuple[int, int]]:
    """Yield pairs (into, gone) whose merge raises the bound of these rows."""
    for _ in range(TRIES):
        if r.shape[1] == 1:
            return
        a = int(rng.integers(r.shape[1]))
        b = _partner(family, total, a, rng)
        into, gone = min(a, b), max(a, b)
        merged = np.delete(r, gone, axis=1)
        merged[:, into] += r[:, gone]
        before, after = (bound(family, alpha, summary(family, rows, q)) for q in (r, merged))
        if after > before:
            r, total = merged, _fused(total, into, gone)
            yield into, gone


def _partner(family: Family, total: Summary, a: int, rng: np.random.Generator) -> int:
    """Draw a cluster to merge ``a`` with: Equation (12)."""
    fused = family.log_marginal(total.stats + total.stats[a], total.mass + total.mass[a])
    gain = fused - family.log_marginal(total.stats, total.mass)
    gain[a] = -np.inf
    return int(rng.choice(total.K, p=softmax(gain)))


def _whole(
    family: Family, alpha: float, total: Summary, X: np.ndarray, batches: list[np.ndarray]
) -> float:
    """Return the bound of all rows after one full update."""
    updated = _none(total)
    for rows in batches:
        r = fixed_point(family, alpha, total, X[rows])
        updated = _plus(updated, summary(family, X[rows], r), 1.0)
    return bound(family, alpha, updated)


def _none(s: Summary) -> Summary:
    return Summary(*(np.zeros_like(part) for part in s[:3]), log_base=0.0)


def _plus(s: Summary, other: Summary, sign: float) -> Summary:
    return Summary(*(mine + sign * its for mine, its in zip(s, other, strict=True)))


def _fused(s: Summary, into: int, gone: int) -> Summary:
    parts = []
    for part in s[:3]:  # entropies do not add up, and nothing here reads those of a sum
        kept = np.delete(part, gone, axis=0)
        kept[into] += part[gone]
        parts.append(kept)
    return Summary(*parts, log_base=s.log_base)
