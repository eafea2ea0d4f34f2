"""Sites: the contribution of each row to the clusters, stored sparsely by cluster id.

A record of the state's memo holds the sites of one batch: the responsibilities of row i are entries
``begin[i]`` to ``end[i]`` of ``ids`` and ``q``.
"""

from collections.abc import Iterable

import numpy as np
from scipy.special import xlogy

from evermix._schema import BOOL, FLOAT, SHORT, WHOLE, Field, check_arrays
from evermix._xp import Floats, Ints
from evermix.engines.batch import Batch
from evermix.kernels.engines.adf import ClusterBuffers
from evermix.kernels.engines.ep import ClusterSlots, Sites, sum_sites
from evermix.model import Model
from evermix.state import ALIVE, Lineage, Record, State
from evermix.tally import Layout, Tally

LEAST = 1e-10  # responsibility that is stored
PAIRS = 64  # pairs whose entropy is computed at a time, to bound memory


def no_sites(n: int, room: int = 0) -> Sites:
    """Return empty sites of n rows, with room for entries."""
    nowhere = np.zeros((2, n), dtype=np.int64)
    return Sites(nowhere[0], nowhere[1], np.zeros(room, dtype=np.int32), np.zeros(room))


def grown(sites: Sites, room: int) -> Sites:
    """Return the same sites with room for ``room`` entries."""
    ids, q = np.zeros(room, dtype=np.int32), np.zeros(room)
    n = min(room, len(sites.q))
    ids[:n], q[:n] = sites.ids[:n], sites.q[:n]
    return Sites(sites.begin, sites.end, ids, q)


def to_record(sites: Sites) -> Record:
    """Return sites as a record for the memo, without unused entries."""
    used = int(sites.end.max(initial=0))
    return dict(grown(sites, used)._asdict())


def to_sites(record: Record) -> Sites:
    """Return the sites that a record holds."""
    return Sites(*(record[name] for name in Sites._fields))


def to_sites_of(q: Floats, ids: Ints) -> Sites:
    """Return the sites of responsibilities (N, K) in the clusters ``ids`` (K,)."""
    q = np.where(q < LEAST, 0.0, q)
    q /= np.maximum(q.sum(axis=1, keepdims=True), LEAST)
    rows, columns = np.nonzero(q)
    ends = np.cumsum(np.bincount(rows, minlength=len(q))).astype(np.int64)
    begins = np.append(0, ends[:-1]).astype(np.int64)
    return Sites(begins, ends, ids[columns].astype(np.int32), q[rows, columns])


def _slot_of(state: State, births: int, holes: Ints) -> Ints:
    """Return the slot of each id, following merges; -1 for clusters that no longer exist.

    There is room for ``births`` more. ``holes`` are slots that were emptied in this step.
    """
    n = state.lineage.next_id
    place = np.full(n + births, -1, dtype=np.int64)
    place[state.tally.ids] = np.arange(state.tally.K)
    place[state.tally.ids[holes]] = -1
    today = state.lineage.current(np.arange(n))
    place[:n] = np.where(today >= 0, place[today], -1)
    return place


def cluster_slots(state: State, births: int = 0, holes: Ints | None = None) -> ClusterSlots:
    """Return the slots of clusters, for the kernels; ``holes`` are empty slots."""
    capacity = state.tally.capacity
    holes = np.empty(0, dtype=np.int64) if holes is None else holes
    stack = np.zeros(capacity, dtype=np.int64)
    stack[: len(holes)] = holes
    return ClusterSlots(
        state.tally.id_buffer,
        _slot_of(state, births, holes),
        stack,
        np.zeros(capacity),
        np.zeros(capacity, dtype=np.int64),
        state.tally.layout is Layout.STATISTIC_MAJOR,
    )


def close_holes(state: State, holes: Ints, candidates: set[int]) -> list[int]:
    """Remove empty slots; return the ids of the candidates that no longer exist."""
    if len(holes):
        alive = np.ones(state.tally.K, dtype=bool)
        alive[holes] = False
        state.take(np.flatnonzero(alive))
    living = {k for k in candidates if state.lineage.into[k] == ALIVE}
    gone = sorted(living - set(state.tally.ids.tolist()))
    for k in gone:
        state.lineage.drop(k, state.clock)
    return gone


def summed(
    model: Model, like: Tally, lineage: Lineage, batches: Iterable[tuple[Batch, Record]]
) -> tuple[Tally, float]:
    """Sum the sites of batches, in the order of the rows.

    Returns a tally of the same clusters as ``like``, and the mass of sites whose clusters no longer
    exist; it is assigned again when their rows are updated.
    """
    family = model.family
    tally = Tally.empty(like.size, like.extra_buffers, like.layout)
    tally.append(like.ids)
    seen = {"last_seen": np.zeros(tally.capacity, dtype=np.int64)}
    state = State(tally, seen | family.columns(tally), {}, lineage)
    work, slots = family.workspace(tally, state.columns), cluster_slots(state)
    clusters = ClusterBuffers(
        tally.mass_buffer, **tally.extra_buffers, last_seen=state.columns["last_seen"]
    )
    orphaned = 0.0
    for batch, record in batches:
        weights = np.where(record["held"], 0.0, batch.weights)
        orphaned += sum_sites(
            work, family.rows(batch.X), weights, to_sites(record), clusters, slots
        )
    return tally, orphaned


def gathered(state: State, sites: Sites, i: int) -> dict[int, float]:
    """Return the responsibilities of row i in existing clusters, by id, following merges."""
    some = slice(sites.begin[i], sites.end[i])
    found: dict[int, float] = {}
    for id, q in zip(state.lineage.current(sites.ids[some]), sites.q[some], strict=True):
        if id >= 0:
            found[int(id)] = found.get(int(id), 0.0) + float(q)
    return found


def packed(n: int, found: list[tuple[int, Ints, Floats]]) -> Sites:
    """Return sites of n rows from (row, ids, responsibilities) of some of them."""
    sites = no_sites(n, sum(len(q) for _, _, q in found))
    used = 0
    for i, ids, q in found:
        sites.begin[i], sites.end[i] = used, used + len(q)
        sites.ids[used : used + len(q)], sites.q[used : used + len(q)] = ids, q
        used += len(q)
    return sites


def check_sites(name: str, record: Record, rows: int, next_id: int) -> None:
    """Raise ValueError unless a record holds valid sites of a batch of so many rows."""
    entries = len(record["q"])
    wanted = {
        "begin": Field(WHOLE, (rows,), (0, entries)),
        "end": Field(WHOLE, (rows,), (0, entries)),
        "ids": Field(SHORT, (entries,), (np.iinfo(np.int32).min, next_id - 1)),
        "q": Field(FLOAT, (entries,), (np.nextafter(0.0, 1.0), 1 + 1e-9)),
        "held": Field(BOOL, (rows,)),
        "base": Field(FLOAT, (rows,)),
    }
    check_arrays(name, record, wanted)
    if np.any(record["begin"] > record["end"]):
        raise ValueError(f"the sites of {name} must end behind their beginning.")


def entropy_lost(state: State, batches: Iterable[tuple[Floats, Record]], pairs: Ints) -> Floats:
    """Entropy (P,) that the responsibilities of rows would lose if pairs (P, 2) were fused.

    ``batches`` are the weights of the rows and the sites of each batch.
    """
    lost = np.zeros(len(pairs))
    if not len(pairs):
        return lost
    some, columns = np.unique(pairs, return_inverse=True)
    a, b = columns.reshape(-1, 2).T
    place = np.full(state.tally.K, -1)
    place[some] = np.arange(len(some))
    slot_of = _slot_of(state, 0, np.empty(0, dtype=np.int64))
    for weights, record in batches:
        rows, slots, q = _entries(to_sites(record), slot_of)
        held = np.where(record["held"], 0.0, weights)
        mine = (slots >= 0) & (place[slots] >= 0)
        r = np.zeros((len(weights), len(some)))
        np.add.at(r, (rows[mine], place[slots[mine]]), q[mine])
        own = held @ xlogy(r, r)
        for start in range(0, len(pairs), PAIRS):
            part = slice(start, start + PAIRS)
            both = r[:, a[part]] + r[:, b[part]]
            lost[part] += held @ xlogy(both, both) - own[a[part]] - own[b[part]]
    return np.maximum(lost, 0.0)


def _entries(sites: Sites, slot_of: Ints) -> tuple[Ints, Ints, Floats]:
    """Return row, slot and responsibility of every entry of sites."""
    counts = sites.end - sites.begin
    rows = np.repeat(np.arange(len(counts)), counts)
    places = np.repeat(sites.begin - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return rows, slot_of[sites.ids[places]], sites.q[places]
