"""Rounds of expectation propagation: several batches learn from the same snapshot of the clusters.

A batch is visited with a copy of the clusters, in which its rows go in and out as ever. What it
gives back is by how much the sums of its sites have changed. Sites are sums that are never
negative, so these changes can be added up whichever batches they come from; and where nothing
changes any more, rounds of one batch and of many agree.

Clusters that several batches open for the same rows are joined as all others are. Hyper weights
(omega, the expected number of clusters) follow from the sums, wherever they are needed.
"""

import warnings
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from evermix._xp import Array
from evermix.engines.batch import Batch, CapacityWarning, RowResults
from evermix.engines.ep.sites import summed, to_record, to_sites
from evermix.engines.shards import Shard, Task
from evermix.kernels.engines.ep import RESIDUE, Sites
from evermix.model import Model
from evermix.state import ALIVE, Lineage, Record, State
from evermix.tally import Tally

if TYPE_CHECKING:
    from evermix.engines.ep.ep import EP


class Visited(NamedTuple):
    """What a batch gives back.

    Attributes
    ----------
    record : Record
        Its sites; clusters that it opened have the ids that follow those given before.
    change : Tally
        By how much its sums have changed, of clusters where they have.
    orphaned : float
        By how much the mass has changed that no cluster holds.
    results : RowResults
    progress : array (4,)
        As the latent of that name.
    ticks : int
        Rows of positive weight that it learnt.
    capped : bool
        Whether it wanted more clusters than there may be.
    """

    record: Record
    change: Tally
    orphaned: float
    results: RowResults
    progress: Array
    ticks: int
    capped: bool


def snapshot(state: State) -> State:
    """Return the clusters of a state as they are, without what is remembered or can be derived."""
    columns = {name: state.columns[name].copy() for name in ("last_seen", "judged")}
    latents = {name: values.copy() for name, values in state.latents.items()}
    latents["progress"][:] = 0.0
    return State(
        state.tally.copy(), columns, latents, deepcopy(state.lineage), state.clock, state.lap
    )


@dataclass(frozen=True)
class Visit(Task[dict[int, Visited]]):
    """Visit batches, each from the same snapshot.

    Attributes
    ----------
    engine : EP
    model : Model
    state : State
        The snapshot.
    records : dict of records
        The sites of batches that were visited before, by key.
    damping : float
        How far sites move from what they were to what they would be.
    """

    engine: "EP"
    model: Model
    state: State
    records: dict[int, Record]
    damping: float

    def part(self, keys: Sequence[int]) -> "Visit":
        """Return the same task for these batches."""
        return replace(self, records={k: self.records[k] for k in keys if k in self.records})

    def of(self, shard: Shard, key: int) -> dict[int, Visited]:
        """Visit one batch."""
        batch, state, engine = shard[key], deepcopy(self.state), replace(self.engine, merge=None)
        state.reserve(state.tally.capacity)
        state.columns |= self.model.family.columns(state.tally)
        old = self.records.get(key)
        if old is not None:
            state.memo[str(key)] = dict(old)
        rng = np.random.default_rng([state.latents["seed"][0], state.lap, key])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CapacityWarning)  # told where the clusters are counted
            state, info = engine.step(self.model, state, batch, rng)
        record, results = state.memo[str(key)], info.results
        assert results is not None
        name = self._names(state)
        labels = name[results.labels]
        sites = _renamed(to_sites(record), name)
        if old is not None and self.damping < 1:
            sites = damped(to_sites(old), sites, self.state.lineage, self.damping)
        record |= to_record(sites)
        change, orphaned = self._change(batch, old, record, int(name.max(initial=-1)) + 1)
        results, ticks = results._replace(labels=labels), state.clock - self.state.clock
        progress, capped = state.latents["progress"], bool(state.latents["capped"][0])
        return {key: Visited(record, change, orphaned, results, progress, ticks, capped)}

    def joined(self, answers: Iterable[dict[int, Visited]]) -> dict[int, Visited]:
        """Return what all batches give back."""
        return {key: visited for some in answers for key, visited in some.items()}

    def _names(self, state: State) -> Array:
        """Return what ids are called that a visit used; -1 for what it opened and dropped.

        The last entry is for the id -1.
        """
        known, n = self.state.lineage.next_id, state.lineage.next_id
        name = np.full(n + 1, -1)
        name[:known] = np.arange(known)  # what the visit has dropped may live elsewhere
        born = [k for k in range(known, n) if state.lineage.into[k] == ALIVE]
        name[born] = known + np.arange(len(born))
        return name

    def _change(
        self, batch: Batch, old: Record | None, new: Record, next_id: int
    ) -> tuple[Tally, float]:
        """Return by how much the sums of a batch have changed, and the mass that nobody holds."""
        lineage = deepcopy(self.state.lineage)
        while lineage.next_id < next_id:
            lineage.birth(self.state.clock)
        born = np.arange(self.state.lineage.next_id, next_id)
        like = self.state.tally.copy()
        like.append(born)
        after, orphaned = summed(self.model, like, lineage, [(batch, new)])
        if old is not None:
            before, orphans = summed(self.model, like, lineage, [(batch, old)])
            after, orphaned = after.minus(before), orphaned - orphans
        moved = (after.mass != 0) | np.any(after.stats != 0, axis=1)
        moved[self.state.tally.K :] = True
        return after.take(moved), orphaned


@dataclass
class Told:
    """What a round brought."""

    births: list[int]
    dropped: list[int]
    results: RowResults
    change: float  # largest of a responsibility
    moved: float  # mass
    learnt: float  # log predictive density of the rows that are learnt


def commit(state: State, visits: Sequence[tuple[int, Visited]], cap: float = np.inf) -> Told:
    """Add what batches, by key, have given back to the clusters.   Consumes: state.

    Clusters beyond the cap are not opened: what belongs to them comes back with the next visit.
    """
    known, births, results = state.lineage.next_id, [], []
    progress, before = state.latents["progress"], state.latents["progress"].copy()
    largest = 0.0
    for key, visited in visits:
        change, told = visited.change, visited.results
        count = int(np.count_nonzero(change.ids >= known))
        room = int(max(min(count, cap - state.tally.K), 0))
        names = [state.lineage.birth(state.clock) for _ in range(room)]
        name = np.append(np.arange(known), names + [-1] * (count - room + 1)).astype(np.int64)
        change.ids[:] = name[change.ids]
        refused = change.ids < 0
        state.latents["dropped"] += change.mass[refused].sum()
        change = change.take(~refused)
        results.append(told._replace(labels=name[told.labels]))
        record = visited.record
        record["ids"] = name[record["ids"]].astype(np.int32)
        state.memo[str(key)] = record
        _add(state, change)
        state.latents["dropped"] += visited.orphaned
        state.clock += visited.ticks
        births += names
        largest = max(largest, float(visited.progress[0]))
        progress[0] = max(progress[0], visited.progress[0])
        progress[1:] += visited.progress[1:]
    all_results = RowResults(*(np.concatenate(values) for values in zip(*results, strict=True)))
    moved, learnt = progress[1:3] - before[1:3]
    return Told(births, [], all_results, largest, float(moved), float(learnt))


def _add(state: State, change: Tally) -> None:
    """Add a change of sums to the clusters; those that are new come last.   Consumes: state."""
    state.append(change.ids[~np.isin(change.ids, state.tally.ids)])
    tally = state.tally
    place = {int(k): row for row, k in enumerate(tally.ids)}
    rows = np.array([place[int(k)] for k in change.ids], dtype=np.int64)
    tally.mass[rows] = np.maximum(tally.mass[rows] + change.mass, 0.0)
    tally.stats[rows] += change.stats
    hard, log_empty = tally.extras["hard"], tally.extras["log_empty"]
    hard[rows] += change.extras["hard"]
    hard[hard < RESIDUE] = 0.0
    log_empty[rows] = np.minimum(log_empty[rows] + change.extras["log_empty"], 0.0)
    state.columns["last_seen"][rows] = state.clock


@dataclass(frozen=True)
class SumSites(Task[tuple[Tally, float]]):
    """Sum the sites of batches.

    Attributes
    ----------
    model : Model
    like : Tally
        Of the clusters.
    lineage : Lineage
    records : dict of records
        The sites of each batch, by key.
    """

    model: Model
    like: Tally
    lineage: Lineage
    records: dict[int, Record]

    def part(self, keys: Sequence[int]) -> "SumSites":
        """Return the same task for these batches."""
        return replace(self, records={key: self.records[key] for key in keys})

    def over(self, shard: Shard, keys: Iterable[int]) -> tuple[Tally, float]:
        """Return the sums of several batches, and the mass that no cluster holds."""
        return summed(
            self.model, self.like, self.lineage, ((shard[k], self.records[k]) for k in keys)
        )

    def of(self, shard: Shard, key: int) -> tuple[Tally, float]:
        """Return the sums of one batch, and the mass that no cluster holds."""
        return self.over(shard, [key])

    def joined(self, answers: Iterable[tuple[Tally, float]]) -> tuple[Tally, float]:
        """Return the sums of sums."""
        (tally, orphaned), *others = answers
        for more, orphans in others:
            tally, orphaned = tally.plus(more), orphaned + orphans
        return tally, orphaned


def damped(old: Sites, new: Sites, lineage: Lineage, damping: float) -> Sites:
    """Return sites between the old and the new ones; rows that had none get the new ones."""
    ids = max(lineage.next_id, int(new.ids.max(initial=-1)) + 1)
    before, after = (_matrix(some, lineage, ids) for some in (old, new))
    share = np.where(old.end > old.begin, damping, 1.0)
    mixed = sparse.csr_array(
        sparse.diags_array(1.0 - share) @ before + sparse.diags_array(share) @ after
    )
    mixed.eliminate_zeros()
    at = mixed.indptr.astype(np.int64)
    return Sites(at[:-1].copy(), at[1:].copy(), mixed.indices.astype(np.int32), mixed.data)


def _matrix(sites: Sites, lineage: Lineage, n_ids: int) -> sparse.csr_array:
    """Return responsibilities (N, ids) by the ids of today; those of clusters gone are left out."""
    counts = sites.end - sites.begin
    places = np.repeat(sites.begin - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    ids, q = sites.ids[places], sites.q[places]
    known = ids < lineage.next_id
    today = ids.astype(np.int64)
    today[known] = lineage.current(ids[known])
    q = np.where(today >= 0, q, 0.0)
    rows = np.repeat(np.arange(len(counts)), counts)
    return sparse.csr_array((q, (rows, np.maximum(today, 0))), (len(counts), max(n_ids, 1)))


def _renamed(sites: Sites, name: Array) -> Sites:
    """Return sites by other ids; what belongs to nobody (-1) comes back with the next visit."""
    return Sites(sites.begin, sites.end, name[sites.ids].astype(np.int32), sites.q)
