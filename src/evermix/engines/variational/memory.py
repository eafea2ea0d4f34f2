"""The memory of memoized inference: the sums of each batch, from which all totals follow.

A record holds the entries of a :class:`~evermix.engines.variational.local.Summary` and the ids of
its clusters. Totals are sums over records, so a batch that is learnt again first subtracts its old
sums. Moves change all records in the same way, so that totals stay sums over records.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, NamedTuple

import numpy as np

from evermix._xp import Ints, host
from evermix.engines.shards import Shard, Task
from evermix.engines.variational.base import BatchSums, store_results
from evermix.engines.variational.local import Beliefs, Plan, Summary, summarise
from evermix.model import Model
from evermix.state import Lineage, Record

SUMMED = ("mass", "sums", "entropy", "pairs", "child_mass", "child_sums", "child_entropy", "base")


def to_record(summary: Summary, ids: Ints, base: float) -> Record:
    """Return the record of a batch with the clusters ``ids`` (K,)."""
    record = {name: getattr(summary, name) for name in SUMMED[:-1]}
    return record | {
        "ids": ids.copy(),
        "owner": host(summary.owner).astype(np.int32),
        "child_owner": host(summary.child_owner).astype(np.int32),
        "base": np.full(1, base),
    }


def totals(records: Iterable[Record]) -> Record:
    """Return the sums over records of the same clusters."""
    sums: Record = {}
    for record in records:
        for name in SUMMED:
            if name in sums:
                sums[name] += record[name]
            else:
                sums[name] = np.array(record[name])
    return sums


def aligned(record: Record, ids: Ints, lineage: Lineage) -> Record:
    """Return a record in terms of the present clusters ``ids`` (K,), without dropped clusters."""
    if np.array_equal(record["ids"], ids):
        return record
    today = lineage.current(record["ids"])
    place = {int(k): row for row, k in enumerate(ids)}
    rows = np.array([place.get(int(k), -1) for k in today], dtype=np.int64)
    kept = rows >= 0
    out = dict(record)
    for name in ("mass", "sums", "entropy"):
        values = np.zeros((len(ids), *record[name].shape[1:]))
        np.add.at(values, rows[kept], record[name][kept])
        out[name] = values
    out["ids"], out["owner"] = ids.copy(), rows[record["owner"]].astype(np.int32)
    return out


def empty_plan(n: int, width: int) -> Record:
    """Return the entries of a record of n rows on a plan when there is none."""
    return {
        "pairs": np.zeros(0),
        "child_mass": np.zeros(0),
        "child_sums": np.zeros((0, width)),
        "child_entropy": np.zeros(0),
        "child_owner": np.full(n, -1, dtype=np.int32),
    }


class MemoChange(NamedTuple):
    """The change of the sums of batches since they were last learnt."""

    sums: BatchSums  # differences, but for base and log_norm, which are as they are now
    first: float  # weight of batches that were learnt for the first time
    first_base: float  # sum of their log base measure
    restored: float  # mass of clusters that were dropped in the meantime

    def plus(self, other: "MemoChange") -> "MemoChange":
        """Return the sum of two changes."""
        numbers = (a + b for a, b in zip(self[1:], other[1:], strict=True))
        return MemoChange(BatchSums.added([self.sums, other.sums]), *numbers)


@dataclass(frozen=True)
class UpdateRecords(Task[MemoChange]):
    """Compute and store the sums of batches, and return how they have changed."""

    writes: ClassVar[bool] = True
    anew: ClassVar[bool] = True

    model: Model
    ids: Ints  # (K,) the clusters
    beliefs: Beliefs  # their variational posteriors
    top: int | None  # largest number of clusters that share a row
    plan: Plan  # moves to evaluate
    lineage: Lineage  # for the present ids of earlier clusters
    spill: str | None  # a folder for large arrays

    def of(self, shard: Shard, key: int) -> MemoChange:
        """Update one batch."""
        batch = shard[key]
        summary = summarise(self.model, self.beliefs, batch, self.plan, self.top)
        base, log_norm = store_results(shard, self.model, self.ids, batch, summary)
        mass, sums, entropy = summary.mass, summary.sums, summary.entropy
        first = first_base = restored = 0.0
        before = shard.memo.get(str(key))
        if before is None:
            first, first_base = float(host(batch.weights).sum()), base
        else:
            old = aligned(before, self.ids, self.lineage)
            restored = float(before["mass"].sum() - old["mass"].sum())
            mass, sums, entropy = mass - old["mass"], sums - old["sums"], entropy - old["entropy"]
        shard.keep(key, to_record(summary, self.ids, base), self.spill)
        change = BatchSums(mass, sums, entropy, base, log_norm)
        return MemoChange(change, first, first_base, restored)

    def joined(self, answers: Iterable[MemoChange]) -> MemoChange:
        """Return the sum of all changes."""
        return reduce(MemoChange.plus, answers)


@dataclass(frozen=True)
class SumRecords(Task[Record]):
    """Sum the records of batches."""

    def of(self, shard: Shard, key: int) -> Record:
        """Return the record of one batch."""
        return shard.memo[str(key)]

    def joined(self, answers: Iterable[Record]) -> Record:
        """Return the sums."""
        return totals(answers)
