"""Moves made: which clusters there are after them, in the records of all batches and in the state.

A record is the sums of one batch (see ``engines.summaries``). Changing every record in the same way
keeps the totals sums over records.
"""

from dataclasses import dataclass

import numpy as np

from evermix._xp import Array
from evermix.engines.variational.local import Plan
from evermix.engines.variational.memory import unplanned
from evermix.engines.variational.moves.decide import Verdict
from evermix.engines.variational.moves.plan import children
from evermix.state import Lineage, Record

EMPTY = 1e-9  # share of a row, or of all rows if they weigh less, below which nothing is held


@dataclass(frozen=True)
class Change:
    """Fuse pairs, put children in the place of parents, and order all clusters by size.

    Attributes
    ----------
    K : int
        Number of clusters before.
    merges : list of (int, int, int)
        Positions of the cluster that stays and of the one that goes, and the number of the pair.
    replaced : list of (parents, children)
        Positions (M,) of parents, and the numbers (J,) of the children that replace them.
    order : int array (K after,)
        The clusters after: a position below K is an old cluster, K + c is child c.
    ids : int64 array (K after,)
        Their ids.
    births : list of int
        Ids that are new.
    fused : list of (int, int)
        ``(gone, into)`` ids.
    dropped : list of int
        Ids of clusters that hold nothing.
    """

    K: int
    merges: list[tuple[int, int, int]]
    replaced: list[tuple[Array, Array]]
    order: Array
    ids: Array
    births: list[int]
    fused: list[tuple[int, int]]
    dropped: list[int]

    @property
    def still(self) -> bool:
        """Whether all clusters are as and where they were."""
        moved = self.merges or self.replaced or len(self.order) != self.K
        return not moved and bool(np.all(self.order == np.arange(self.K)))

    def record(self, old: Record) -> Record:
        """Return the record of a batch after the moves."""
        if self.still:
            return old | unplanned(len(old["owner"]), old["sums"].shape[1])
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
            # Rows of weight zero may have been owned by what is dropped.
            "owner": np.maximum(place[owner], 0).astype(np.int32),
            "base": old["base"],
            **unplanned(len(owner), sums.shape[1]),
        }

    def column(self, values: Array, capacity: int) -> Array:
        """Return a per-cluster column (capacity,) after the moves; children start with zero."""
        before = np.append(values[: self.K], np.zeros(self.order.max(initial=0) + 1))
        after = np.zeros(capacity, dtype=values.dtype)
        after[: len(self.order)] = before[self.order]
        return after


def decide(
    plan: Plan, verdict: Verdict, sums: Record, ids: Array, lineage: Lineage, clock: int
) -> Change:
    """Name the clusters after the moves of a verdict, and enter them into the lineage.

    Parents hand their ids to their children, the largest to the largest. Children without a parent
    are born; parents without a child go into the largest child. What holds nothing is dropped.
    """
    K, young = len(ids), children(plan)
    mass = np.append(sums["mass"], sums["child_mass"])
    names = np.append(ids, np.full(len(sums["child_mass"]), -1))
    there = np.append(np.ones(K, dtype=bool), np.zeros(len(sums["child_mass"]), dtype=bool))
    replaced = [(plan.trials[t].parents, young[t]) for t in verdict.trials]
    births: list[int] = []
    fused: list[tuple[int, int]] = []
    for stays, goes, _ in verdict.merges:
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
    return Change(K, verdict.merges, replaced, order, names[order], births, fused, dropped)
