"""Parallel expectation propagation: several batches are updated from the same snapshot.

A batch is updated with its own copy of the clusters, and returns by how much the sums of its sites
have changed. Sites are sums that are never negative, so the changes of several batches can be
added. At convergence, steps of one batch and of many agree.

Clusters that several batches open for the same rows are joined like all others. The weight of a new
cluster and the expected number of clusters follow from the sums.
"""

import warnings
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from evermix._xp import Floats, Ints
from evermix.engines.base import Engine
from evermix.engines.batch import CAPPED, Batch, CapacityWarning, RowResults
from evermix.engines.ep.sites import summed, to_record, to_sites
from evermix.engines.shards import Shard, Task
from evermix.kernels.engines.ep import RESIDUE, Sites
from evermix.model import Model
from evermix.state import ALIVE, Lineage, Record, State
from evermix.tally import Tally


class BatchUpdate(NamedTuple):
    """The result of updating a batch."""

    record: Record  # its sites; clusters that it opened have the next free ids
    change: Tally  # the change of its sums, of clusters where there is one
    unassigned: float  # the change of the mass whose cluster does not exist
    results: RowResults
    progress: Floats  # (4,) the change of the latent of that name
    ticks: int  # number of rows of positive weight
    capped: bool  # whether the cap refused a birth


def snapshot(state: State) -> State:
    """Return a copy of a state without its memo and what can be derived."""
    columns = {name: state.columns[name].copy() for name in ("last_seen", "judged")}
    latents = {name: values.copy() for name, values in state.latents.items()}
    latents["progress"][:] = 0.0
    return State(
        state.tally.copy(), columns, latents, deepcopy(state.lineage), state.clock, state.lap
    )


@dataclass(frozen=True)
class UpdateBatches(Task[dict[int, BatchUpdate]]):
    """Update the sites of batches, each from the same snapshot."""

    engine: Engine  # it must not merge clusters
    model: Model
    state: State  # the snapshot
    records: dict[int, Record]  # the sites of batches that were updated before, by key
    damping: float  # how far sites move from their old to their new values

    def part(self, keys: Sequence[int]) -> "UpdateBatches":
        """Return the same task for these batches."""
        return replace(self, records={k: self.records[k] for k in keys if k in self.records})

    def of(self, shard: Shard, key: int) -> dict[int, BatchUpdate]:
        """Update one batch."""
        batch, state = shard[key], deepcopy(self.state)
        state.reserve(state.tally.capacity)
        state.columns |= self.model.family.columns(state.tally)
        old = self.records.get(key)
        if old is not None:
            state.memo[str(key)] = dict(old)
        rng = np.random.default_rng([state.latents["seed"][0], state.lap, key])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CapacityWarning)  # the caller warns
            state, info = self.engine.step(self.model, state, batch, rng)
        record, results = state.memo[str(key)], info.results
        assert results is not None
        name = self._names(state)
        labels = name[results.labels]
        sites = _renamed(to_sites(record), name)
        if old is not None and self.damping < 1:
            sites = damped(to_sites(old), sites, self.state.lineage, self.damping)
        record |= to_record(sites)
        change, unassigned = self._change(batch, old, record, int(name.max(initial=-1)) + 1)
        results, ticks = results._replace(labels=labels), state.clock - self.state.clock
        progress, capped = state.latents["progress"], bool(int(state.latents["capped"][0]) & CAPPED)
        return {key: BatchUpdate(record, change, unassigned, results, progress, ticks, capped)}

    def joined(self, answers: Iterable[dict[int, BatchUpdate]]) -> dict[int, BatchUpdate]:
        """Return the updates of all batches."""
        return {key: update for some in answers for key, update in some.items()}

    def _names(self, state: State) -> Ints:
        """Return new names of the ids that an update used; -1 for those it opened and dropped.

        The last entry is for the id -1.
        """
        known, n = self.state.lineage.next_id, state.lineage.next_id
        name = np.full(n + 1, -1)
        name[:known] = np.arange(known)  # what this batch has dropped may exist elsewhere
        born = [k for k in range(known, n) if state.lineage.into[k] == ALIVE]
        name[born] = known + np.arange(len(born))
        return name

    def _change(
        self, batch: Batch, old: Record | None, new: Record, next_id: int
    ) -> tuple[Tally, float]:
        """Return the changes of the sums of a batch, and of its unassigned mass."""
        lineage = deepcopy(self.state.lineage)
        while lineage.next_id < next_id:
            lineage.birth(self.state.clock)
        born = np.arange(self.state.lineage.next_id, next_id)
        like = self.state.tally.copy()
        like.append(born)
        after, unassigned = summed(self.model, like, lineage, [(batch, new)])
        if old is not None:
            before, unassigned_before = summed(self.model, like, lineage, [(batch, old)])
            after, unassigned = after.minus(before), unassigned - unassigned_before
        moved = (after.mass != 0) | np.any(after.stats != 0, axis=1)
        moved[self.state.tally.K :] = True
        return after.take(moved), unassigned


@dataclass
class StepUpdate:
    """The result of a step of several batches."""

    births: list[int]
    dropped: list[int]
    results: RowResults
    change: float  # largest change of a responsibility
    moved: float  # mass moved
    learnt: float  # log predictive density of the rows that are not held out


def commit(
    state: State, updates: Sequence[tuple[int, BatchUpdate]], cap: float = np.inf
) -> StepUpdate:
    """Add the updates of batches, given with their keys, to the clusters.   Consumes: state.

    Clusters beyond the cap are not opened; their mass is assigned again with the next update.
    """
    known, births, results = state.lineage.next_id, [], []
    progress, before = state.latents["progress"], state.latents["progress"].copy()
    largest = 0.0
    for key, update in updates:
        change = update.change
        count = int(np.count_nonzero(change.ids >= known))
        room = int(max(min(count, cap - state.tally.K), 0))
        names = [state.lineage.birth(state.clock) for _ in range(room)]
        name = np.append(np.arange(known), names + [-1] * (count - room + 1)).astype(np.int64)
        change.ids[:] = name[change.ids]
        refused = change.ids < 0
        state.latents["dropped"] += change.mass[refused].sum()
        change = change.take(~refused)
        results.append(update.results._replace(labels=name[update.results.labels]))
        record = update.record
        record["ids"] = name[record["ids"]].astype(np.int32)
        state.memo[str(key)] = record
        _add(state, change)
        state.latents["dropped"] += update.unassigned
        state.clock += update.ticks
        births += names
        largest = max(largest, float(update.progress[0]))
        progress[0] = max(progress[0], update.progress[0])
        progress[1:] += update.progress[1:]
    all_results = RowResults(*(np.concatenate(values) for values in zip(*results, strict=True)))
    moved, learnt = progress[1:3] - before[1:3]
    return StepUpdate(births, [], all_results, largest, float(moved), float(learnt))


def _add(state: State, change: Tally) -> None:
    """Add changes of sums to the clusters; new clusters come last.   Consumes: state."""
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
    """Sum the sites of batches."""

    model: Model
    like: Tally  # a tally of the clusters
    lineage: Lineage
    records: dict[int, Record]  # the sites of each batch, by key

    def part(self, keys: Sequence[int]) -> "SumSites":
        """Return the same task for these batches."""
        return replace(self, records={key: self.records[key] for key in keys})

    def over(self, shard: Shard, keys: Iterable[int]) -> tuple[Tally, float]:
        """Return the sums of several batches, and their unassigned mass."""
        return summed(
            self.model, self.like, self.lineage, ((shard[k], self.records[k]) for k in keys)
        )

    def of(self, shard: Shard, key: int) -> tuple[Tally, float]:
        """Return the sums of one batch, and its unassigned mass."""
        return self.over(shard, [key])

    def joined(self, answers: Iterable[tuple[Tally, float]]) -> tuple[Tally, float]:
        """Return the sums of sums."""
        (tally, unassigned), *others = answers
        for more, unassigned_before in others:
            tally, unassigned = tally.plus(more), unassigned + unassigned_before
        return tally, unassigned


def damped(old: Sites, new: Sites, lineage: Lineage, damping: float) -> Sites:
    """Return sites between old and new ones; rows without old sites get the new ones."""
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
    """Return responsibilities (N, ids) by current ids, without clusters that no longer exist."""
    counts = sites.end - sites.begin
    places = np.repeat(sites.begin - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    ids, q = sites.ids[places], sites.q[places]
    known = ids < lineage.next_id
    today = ids.astype(np.int64)
    today[known] = lineage.current(ids[known])
    q = np.where(today >= 0, q, 0.0)
    rows = np.repeat(np.arange(len(counts)), counts)
    return sparse.csr_array((q, (rows, np.maximum(today, 0))), (len(counts), max(n_ids, 1)))


def _renamed(sites: Sites, name: Ints) -> Sites:
    """Return sites by other ids; those of id -1 are assigned again with the next update."""
    return Sites(sites.begin, sites.end, name[sites.ids].astype(np.int32), sites.q)
