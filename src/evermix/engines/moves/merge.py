"""Merges: pairs that may be better as one, planned before a lap, judged after it.

The entropy of a union must be summed over rows, so pairs are planned. Merging never raises the
entropy, so only pairs whose evidence would rise are worth it; a cheap bound finds the partners.
"""

import numpy as np

from evermix._xp import Array
from evermix.engines.bound import fused_sticks
from evermix.model import Model
from evermix.tally import Tally

__all__ = ["neighbours", "plan_merges"]

PARTNERS = 8  # of each cluster that are looked at
PLANNED = 4  # and planned


def neighbours(model: Model, tally: Tally) -> Array:
    """Return for each cluster the others most like it, the nearest first, (K, P)."""
    K = tally.K
    bound = np.nan_to_num(model.family.fusion_bound(tally, np.arange(K)), nan=-np.inf, neginf=-np.inf)
    np.fill_diagonal(bound, -np.inf)
    return np.argsort(-bound, axis=1, kind="stable")[:, : min(PARTNERS, K - 1)]


def plan_merges(model: Model, tally: Tally, near: Array, free: Array) -> Array:
    """Return pairs (P, 2) of free clusters whose evidence would rise if they were one."""
    K = tally.K
    a = np.repeat(np.arange(K), near.shape[1])
    pairs = np.unique(np.sort(np.stack([a, near.ravel()], axis=1), axis=1), axis=0)
    pairs = pairs[free[pairs].all(axis=1)]
    if not len(pairs):
        return np.empty((0, 2), dtype=np.int64)
    gain = model.family.log_fusion(tally, pairs) + fused_sticks(model, tally.mass, pairs)
    order = np.argsort(-gain, kind="stable")
    count = np.zeros(K, dtype=np.int64)
    kept = []
    for p in order:
        if not gain[p] > 0:
            break
        i, j = pairs[p]
        if count[i] < PLANNED and count[j] < PLANNED:
            count[[i, j]] += 1
            kept.append(p)
    return pairs[np.array(kept, dtype=np.int64)]
