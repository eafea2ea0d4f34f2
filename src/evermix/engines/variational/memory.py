"""What memoized inference remembers of each batch: its sums, from which all totals follow.

A record holds the entries of a :class:`~evermix.engines.variational.local.Summary` and the ids of
its clusters.
Totals are sums over records, so a batch that is visited again first takes its old sums out. Moves
change the records of all batches in the same way, so that the totals stay sums over records.
"""

from collections.abc import Iterable

import numpy as np

from evermix._xp import Array, host
from evermix.engines.variational.local import Summary
from evermix.state import Lineage, Record

SUMMED = ("mass", "sums", "entropy", "pairs", "child_mass", "child_sums", "child_entropy", "base")


def to_record(summary: Summary, ids: Array, base: float) -> Record:
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


def aligned(record: Record, ids: Array, lineage: Lineage) -> Record:
    """Return a record in terms of the clusters ``ids`` (K,) that are there today.

    What belonged to clusters that were dropped is left out.
    """
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


def unplanned(n: int, width: int) -> Record:
    """Return what a record of n rows says of plans when there are none."""
    return {
        "pairs": np.zeros(0),
        "child_mass": np.zeros(0),
        "child_sums": np.zeros((0, width)),
        "child_entropy": np.zeros(0),
        "child_owner": np.full(n, -1, dtype=np.int32),
    }
