"""Which planned moves raise the exact bound, and the clusters after them.

Evidence and entropy of disjoint moves add up. The sticks do not, so each move is evaluated given
those accepted before it, the most promising first, with clusters in order of size. (Swapping two
neighbours on the stick so that the larger comes first always raises the bound.) The same change is
made in every record of a batch, so that totals stay sums over records.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evermix._xp import Floats, Ints
from evermix.engines.bound import log_evidence, sorted_sticks
from evermix.engines.shards import Shard, Task
from evermix.engines.variational.local import Plan
from evermix.engines.variational.memory import empty_plan, totals
from evermix.engines.variational.moves.plan import children
from evermix.model import Model
from evermix.state import Lineage, Record

EMPTY = 1e-9  # mass below which a cluster is empty, relative to one row or to all rows


class Accepted(NamedTuple):
    """Moves that raise the bound, and by how much."""

    merges: list[tuple[int, int, int]]  # positions that stay and go, number of the pair
    trials: list[int]  # numbers of trials
    gains: list[float]  # of all moves, in order of acceptance


class _Move(NamedTuple):
    """A move: its gain without the sticks, and which clusters it replaces by which."""

    value: float
    gone: Ints  # positions
    mass: Floats  # of the clusters that replace them
    trial: int | None
    pair: int | None


def judge(model: Model, plan: Plan, sums: Record) -> Accepted:
    """Return the moves of a plan that raise the bound, given the totals of all records."""
    mass = sums["mass"].copy()
    new = np.zeros(0)
    sticks = float(sorted_sticks(model, mass))
    taken = np.zeros(len(mass), dtype=bool)
    accepted = Accepted([], [], [])
    moves = [*_trials(model, plan, sums), *_merges(model, plan, sums)]
    promise = [move.value + _sticks(model, mass, new, move) - sticks for move in moves]
    for m in np.argsort(-np.array(promise), kind="stable"):
        move = moves[m]
        if not promise[m] > 0:  # nor nan
            break
        after = _sticks(model, mass, new, move)
        gain = move.value + after - sticks
        if taken[move.gone].any() or not gain > 0:
            continue
        taken[move.gone], mass[move.gone] = True, 0.0
        new, sticks = np.append(new, move.mass), after
        accepted.gains.append(gain)
        if move.trial is not None:
            accepted.trials.append(move.trial)
        if move.pair is not None:
            goes, stays = move.gone[np.argsort(sums["mass"][move.gone], kind="stable")]
            accepted.merges.append((int(stays), int(goes), move.pair))
    return accepted


def _trials(model: Model, plan: Plan, sums: Record) -> list[_Move]:
    """Return the trials of a plan."""
    alone = _alone(model, sums)
    moves = []
    for t, (trial, rows) in enumerate(zip(plan.trials, children(plan), strict=True)):
        mass = sums["child_mass"][rows]
        stats = model.family.from_features(sums["child_sums"][rows])
        value = log_evidence(model, mass, stats).sum() + sums["child_entropy"][rows].sum()
        moves.append(_Move(value - alone[trial.parents].sum(), trial.parents, mass, t, None))
    return moves


def _merges(model: Model, plan: Plan, sums: Record) -> list[_Move]:
    """Return the merges of a plan."""
    if not len(plan.pairs):
        return []
    a, b = plan.pairs.T
    alone, mass = _alone(model, sums), sums["mass"][a] + sums["mass"][b]
    stats = model.family.from_features(sums["sums"][a] + sums["sums"][b])
    values = log_evidence(model, mass, stats) + sums["pairs"] - alone[a] - alone[b]
    return [_Move(value, plan.pairs[p], mass[p : p + 1], None, p) for p, value in enumerate(values)]


def _alone(model: Model, sums: Record) -> Floats:
    """Contribution (K,) of each cluster to the bound, without the sticks."""
    stats = model.family.from_features(sums["sums"])
    return log_evidence(model, sums["mass"], stats) + sums["entropy"]


def _sticks(model: Model, mass: Floats, new: Floats, move: _Move) -> float:
    """Log evidence of the sticks after a move; removed clusters have no mass."""
    left = mass.copy()
    left[move.gone] = 0.0
    return float(sorted_sticks(model, np.concatenate([left, new, move.mass])))


# ---- the clusters after the moves -----------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """Fuse pairs, put children in the place of parents, and order all clusters by size."""

    K: int  # number of clusters before
    # Positions of the cluster that stays and of the one that goes, and the number of the pair.
    merges: list[tuple[int, int, int]]
    # Positions (M,) of parents, and the numbers (J,) of the children that replace them.
    replaced: list[tuple[Ints, Ints]]
    # (K after,) the clusters afterwards: a position below K is an old cluster, K + c is child c.
    order: Ints
    ids: Ints  # (K after,) their ids
    births: list[int]  # ids that are new
    fused: list[tuple[int, int]]  # ``(gone, into)`` ids
    dropped: list[int]  # ids of empty clusters

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        moved = self.merges or self.replaced or len(self.order) != self.K
        return not moved and bool(np.all(self.order == np.arange(self.K)))

    def record(self, old: Record) -> Record:
        """Return the record of a batch after the moves."""
        if self.is_empty:
            return old | empty_plan(len(old["owner"]), old["sums"].shape[1])
        mass, sums, entropy = (old[name].copy() for name in ("mass", "sums", "entropy"))
        heir = np.arange(self.K)
        for stays, goes, pair in self.merges:
            mass[stays] += mass[goes]
            sums[stays] += sums[goes]
            entropy[stays] = old["pairs"][pair]
            heir[goes] = stays
        owner = heir[old["owner"]]
        for parents, young in self.replaced:
            mine = np.isin(owner, parents)
            nearest = old["child_owner"][mine]
            owner[mine] = self.K + np.where(np.isin(nearest, young), nearest, young[0])
        place = np.full(self.K + len(old["child_mass"]), -1)
        place[self.order] = np.arange(len(self.order))
        return {
            "mass": np.append(mass, old["child_mass"])[self.order],
            "sums": np.concatenate([sums, old["child_sums"]])[self.order],
            "entropy": np.append(entropy, old["child_entropy"])[self.order],
            "ids": self.ids.copy(),
            # The best cluster of rows of weight zero may be dropped.
            "owner": np.maximum(place[owner], 0).astype(np.int32),
            "base": old["base"],
            **empty_plan(len(owner), sums.shape[1]),
        }

    def column(self, values: Floats, capacity: int) -> Floats:
        """Return a per-cluster column (capacity,) after the moves, zero for children."""
        before = np.append(values[: self.K], np.zeros(self.order.max(initial=0) + 1))
        after = np.zeros(capacity, dtype=values.dtype)
        after[: len(self.order)] = before[self.order]
        return after


def decide(
    plan: Plan, accepted: Accepted, sums: Record, ids: Ints, lineage: Lineage, clock: int
) -> Change:
    """Return the change that accepted moves make, and record it in the lineage.

    Children take the ids of their parents, the largest that of the largest. Further children get
    new ids; further parents are merged into the largest child. Empty clusters are dropped.
    """
    K, young = len(ids), children(plan)
    mass = np.append(sums["mass"], sums["child_mass"])
    names = np.append(ids, np.full(len(sums["child_mass"]), -1))
    there = np.append(np.ones(K, dtype=bool), np.zeros(len(sums["child_mass"]), dtype=bool))
    replaced = [(plan.trials[t].parents, young[t]) for t in accepted.trials]
    births: list[int] = []
    fused: list[tuple[int, int]] = []
    for stays, goes, _ in accepted.merges:
        there[goes] = False
        mass[stays] += mass[goes]
        fused.append((int(ids[goes]), int(ids[stays])))
    for parents, new in replaced:
        there[parents], there[K + new] = False, True
        elders = parents[np.argsort(-mass[parents], kind="stable")]
        heirs = K + new[np.argsort(-mass[K + new], kind="stable")]
        for heir, elder in zip(heirs, elders, strict=False):
            names[heir] = ids[elder]
        for heir in heirs[len(elders) :]:
            names[heir] = lineage.birth(clock)
            births.append(int(names[heir]))
        fused += [(int(ids[elder]), int(names[heirs[0]])) for elder in elders[len(heirs) :]]
    for gone, into in fused:
        lineage.merge(gone, into, clock)
    order = np.flatnonzero(there)
    order = order[np.argsort(-mass[order], kind="stable")]
    empty = order[1:][mass[order[1:]] < EMPTY * min(mass[order].sum(), 1.0)]
    dropped = [int(name) for name in names[empty]]
    for gone in dropped:
        lineage.drop(gone, clock)
    order = order[: len(order) - len(empty)]
    return Change(K, accepted.merges, replaced, order, names[order], births, fused, dropped)


@dataclass(frozen=True)
class ApplyMoves(Task[Record]):
    """Apply moves to the records of batches, and sum these."""

    writes: ClassVar = True

    change: Change
    spill: str | None

    def of(self, shard: Shard, key: int) -> Record:
        """Return the record of one batch after the moves."""
        folder = None if self.change.is_empty else self.spill
        shard.keep(key, self.change.record(shard.memo[str(key)]), folder)
        return shard.memo[str(key)]

    def joined(self, answers: Iterable[Record]) -> Record:
        """Return the sums."""
        return totals(answers)
