"""Plans: the moves that a lap evaluates, made when the lap before ends.

The entropy of a union is a sum over rows, so pairs are planned. Merging never raises the entropy,
so only pairs whose evidence would rise are planned; a cheap bound finds the candidates. A
checkpoint holds a plan as named arrays.
"""

from typing import NamedTuple

import numpy as np

from evermix._xp import Bools, Floats, Ints
from evermix.engines.bound import fused_sticks
from evermix.engines.variational.local import NO_PLAN, Beliefs, Plan, Trial
from evermix.model import Model
from evermix.state import Record
from evermix.tally import Tally

PARTNERS = 8  # candidates for a merge with each cluster
PLANNED = 4  # most planned merges with each cluster
NEAR = 3.0  # largest loss of a merge of neighbours, in nats per row


class SimilarPairs(NamedTuple):
    """Pairs of similar clusters, and the change of the evidence if they were merged."""

    pairs: Ints  # (P, 2), the most similar first
    gains: Floats  # (P,)
    near: list[Ints]  # for each cluster its neighbours, the nearest first


def similar_pairs(model: Model, tally: Tally) -> SimilarPairs:
    """Find pairs of similar clusters."""
    K = tally.K
    if K < 2:
        nothing = np.empty((0, 2), dtype=np.int64)
        return SimilarPairs(nothing, np.empty(0), [np.empty(0, dtype=np.int64)] * K)
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
    near = pairs[-gains < NEAR * tally.mass[pairs].sum(axis=1)]
    mine = [near[(near == k).any(axis=1)] for k in range(K)]  # the most similar first
    return SimilarPairs(pairs, gains, [some[some != k] for k, some in enumerate(mine)])


def plan_merges(similar: SimilarPairs, free: Bools) -> Ints:
    """Return pairs (P, 2) of free clusters whose evidence would rise by a merge."""
    count = np.zeros(len(free), dtype=np.int64)
    kept = []
    for pair, gain in zip(similar.pairs, similar.gains, strict=True):
        if not gain > 0:
            break
        if free[pair].all() and (count[pair] < PLANNED).all():
            count[pair] += 1
            kept.append(pair)
    return np.array(kept, dtype=np.int64).reshape(-1, 2)


def n_others(pairs: Ints, known: Ints) -> int:
    """Return how many of some pairs (P, 2) are not among those known (Q, 2), in either order."""
    ours, theirs = ({tuple(sorted(pair)) for pair in some.tolist()} for some in (pairs, known))
    return len(ours - theirs)


# ---- plans as named arrays -------------------------------------------------------------------


def children(plan: Plan) -> list[Ints]:
    """Return the numbers of the children of each trial, counted over all trials."""
    sizes = [len(trial.children.intercepts) for trial in plan.trials]
    ends = np.cumsum(sizes, dtype=np.int64)
    return [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def to_record(plan: Plan, targets: list[int], ids: Ints) -> Record:
    """Return a plan for the clusters ``ids``, and the target of each trial, as named arrays."""
    trials = plan.trials
    empty = np.zeros(0, dtype=np.int64)
    width = trials[0].children.slopes.shape[1] if trials else 0
    return {
        "ids": ids.copy(),
        "pairs": plan.pairs,
        "targets": np.array(targets, dtype=np.int64),
        "parents": np.concatenate([empty, *(t.parents for t in trials)]),
        "n_parents": np.array([len(t.parents) for t in trials], dtype=np.int64),
        "slopes": np.concatenate([np.zeros((0, width)), *(t.children.slopes for t in trials)]),
        "intercepts": np.concatenate([np.zeros(0), *(t.children.intercepts for t in trials)]),
        "n_children": np.array([len(t.children.intercepts) for t in trials], dtype=np.int64),
    }


def from_record(record: Record | None, ids: Ints) -> tuple[Plan, Ints]:
    """Return the plan and the targets that :func:`to_record` described.

    Nothing is planned if there is no record, or if it is for other clusters than ``ids``.
    """
    if record is None or not np.array_equal(record["ids"], ids):
        return NO_PLAN, np.zeros(0, dtype=np.int64)
    cuts = np.cumsum(record["n_children"])
    parents = np.split(record["parents"], np.cumsum(record["n_parents"]))
    slopes, intercepts = np.split(record["slopes"], cuts), np.split(record["intercepts"], cuts)
    beliefs = map(Beliefs, slopes, intercepts)
    trials = [Trial(*parts) for parts in zip(parents, beliefs, strict=True)]
    return Plan(record["pairs"], tuple(trials[:-1])), record["targets"]  # the last is empty
