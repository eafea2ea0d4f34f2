"""Merges: pairs that may be better as one, planned before a lap, judged after it.

The entropy of a union must be summed over rows, so pairs are planned. Merging never raises the
entropy, so only pairs whose evidence would rise are worth it; a cheap bound finds the partners.
"""

from typing import NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.engines.variational.bound import fused_sticks
from evermix.model import Model
from evermix.tally import Tally

PARTNERS = 8  # of each cluster that are looked at
PLANNED = 4  # and planned
NEAR = 3.0  # nats per row that two clusters may lose by being one, and still be neighbours


class Likeness(NamedTuple):
    """Pairs of clusters that are alike, and what fusing them would add to the evidence."""

    pairs: Array  # (P, 2), the most alike first
    gains: Array  # (P,)
    near: list[Array]  # for each cluster its neighbours, the nearest first


def likeness(model: Model, tally: Tally) -> Likeness:
    """Find pairs of clusters that are alike."""
    K = tally.K
    if K < 2:
        nothing = np.empty((0, 2), dtype=np.int64)
        return Likeness(nothing, np.empty(0), [np.empty(0, dtype=np.int64)] * K)
    bound = model.family.fusion_bound(tally, np.arange(K))
    bound = np.nan_to_num(bound, nan=-np.inf, neginf=-np.inf)
    np.fill_diagonal(bound, -np.inf)
    count = min(PARTNERS, K - 1)
    best = np.argpartition(-bound, count - 1, axis=1)[:, :count]
    pairs = np.stack([np.repeat(np.arange(K), count), best.ravel()], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    gains = model.family.log_fusion(tally, pairs) + fused_sticks(model, tally.mass, pairs)
    order = np.argsort(-gains, kind="stable")
    pairs, gains = pairs[order], gains[order]
    alike = pairs[-gains < NEAR * tally.mass[pairs].sum(axis=1)]
    mine = [alike[(alike == k).any(axis=1)] for k in range(K)]  # still the most alike first
    return Likeness(pairs, gains, [some[some != k] for k, some in enumerate(mine)])


def plan_merges(alike: Likeness, free: Array) -> Array:
    """Return pairs (P, 2) of free clusters whose evidence would rise if they were one."""
    count = np.zeros(len(free), dtype=np.int64)
    kept = []
    for pair, gain in zip(alike.pairs, alike.gains, strict=True):
        if not gain > 0:
            break
        if free[pair].all() and (count[pair] < PLANNED).all():
            count[pair] += 1
            kept.append(pair)
    return np.array(kept, dtype=np.int64).reshape(-1, 2)


def n_others(pairs: Array, known: Array) -> int:
    """Return how many of some pairs (P, 2) are not among those known (Q, 2), in either order."""
    ours, theirs = ({tuple(sorted(pair)) for pair in some.tolist()} for some in (pairs, known))
    return len(ours - theirs)
