"""Sites: what each row has added to the clusters, remembered sparsely by the ids of clusters.

A record of the state's memo holds the sites of one batch: ``begin`` and ``end`` (N,) say which
entries of ``ids`` and ``q`` are a row's responsibilities.
"""

import numpy as np

from evermix._xp import Array
from evermix.kernels.ep import Sites, Slots
from evermix.state import Record, State

__all__ = ["check_sites", "grown", "no_sites", "places", "slot_of", "to_record", "to_sites"]


def no_sites(n: int, room: int = 0) -> Sites:
    """Return sites of n rows that have added nothing yet, with room for entries."""
    nowhere = np.zeros((2, n), dtype=np.int64)
    return Sites(nowhere[0], nowhere[1], np.zeros(room, dtype=np.int32), np.zeros(room))


def grown(sites: Sites, room: int) -> Sites:
    """Return the same sites with room for so many entries."""
    ids, q = np.zeros(room, dtype=np.int32), np.zeros(room)
    n = min(room, len(sites.q))
    ids[:n], q[:n] = sites.ids[:n], sites.q[:n]
    return Sites(sites.begin, sites.end, ids, q)


def to_record(sites: Sites) -> Record:
    """Return sites as the record of a memo, no larger than it must be."""
    used = int(sites.end.max(initial=0))
    return dict(grown(sites, used)._asdict())


def to_sites(record: Record) -> Sites:
    """Return the sites that a record holds."""
    return Sites(*(record[name] for name in Sites._fields))


def slot_of(state: State, births: int, holes: Array) -> Array:
    """Return the slot of each id given so far, merges followed; -1 for clusters that have gone.

    There is room for so many births. ``holes`` are slots whose clusters have gone in this step.
    """
    n = state.lineage.next_id
    place = np.full(n + births, -1, dtype=np.int64)
    place[state.tally.ids] = np.arange(state.tally.K)
    place[state.tally.ids[holes]] = -1
    today = state.lineage.current(np.arange(n))
    place[:n] = np.where(today >= 0, place[today], -1)
    return place


def places(state: State, births: int = 0, holes: Array | None = None) -> Slots:
    """Return where the clusters lie, for the kernels; ``holes`` are slots that stand empty."""
    capacity = state.tally.capacity
    holes = np.empty(0, dtype=np.int64) if holes is None else holes
    stack = np.zeros(capacity, dtype=np.int64)
    stack[: len(holes)] = holes
    return Slots(
        state.tally.id_buffer,
        slot_of(state, births, holes),
        stack,
        np.zeros(capacity),
        np.zeros(capacity, dtype=np.int64),
    )


def check_sites(record: Record, next_id: int) -> int:
    """Return the number of rows of a record; raise ValueError if it does not hold whole sites."""
    kinds = {"begin": "i8", "end": "i8", "ids": "i4", "q": "f8"}
    for name, kind in kinds.items():
        if name not in record or record[name].dtype != kind or record[name].ndim != 1:
            raise ValueError(f"sites need one-dimensional {name} of type {kind}.")
    begin, end, ids, q = to_sites(record)
    if len(begin) != len(end) or len(ids) != len(q):
        raise ValueError("sites need as many begins as ends, and as many ids as values.")
    inside = (begin >= 0) & (begin <= end) & (end <= len(q))
    if not (inside.all() and np.all(ids < next_id) and np.all((q > 0) & (q <= 1 + 1e-9))):
        raise ValueError("sites hold entries, ids or responsibilities that cannot be.")
    return len(begin)
