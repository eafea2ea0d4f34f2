"""Rows that are visited again: taken out of their clusters, and learnt from what the others say."""

from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.engines.batch import RowResults
from evermix.engines.ep.sites import close_holes, gathered, grown, no_sites, packed, places
from evermix.engines.filters.filter import Filter, warn_once
from evermix.engines.prune import prune
from evermix.families.base import Family
from evermix.kernels.engines import adf, ep
from evermix.model import Model
from evermix.priors.base import GibbsType
from evermix.state import State

IDLE = 10  # observations per cluster without a visit, after which the first lap drops dust
ENTRIES = 4  # entries of sites per row for which room is made at first


class Revisiting(Filter):
    """A filter that takes rows out of their clusters and learns them again."""

    def _visited(self, model: Model, state: State, visit: "BatchVisit") -> "Visited":
        """Visit the rows of a batch.   Consumes: state."""
        compiled = isinstance(model.prior, GibbsType)
        return (self._compiled if compiled else self._by_arrays)(model, state, visit)

    def _compiled(self, model: Model, state: State, visit: "BatchVisit") -> "Visited":
        """Visit the rows with the compiled loop."""
        assert isinstance(model.prior, GibbsType)
        n = len(visit.order)
        before, first_id = set(state.tally.ids.tolist()), state.lineage.next_id
        new = no_sites(n, max(ENTRIES * n, len(visit.sites.q) + n))
        at, used, holes = 0, 0, np.empty(0, dtype=np.int64)
        dropped: list[int] = []
        merges: list[tuple[int, int]] = []
        why = adf.ROOM
        while why != adf.DONE:
            state.reserve(state.tally.K + 2)
            tally, slots = state.tally, places(state, births=n, holes=holes)
            stands, capped, why = ep.ep_pass(
                self._known(model, state, model.prior),
                visit.told(model.family, new),
                slots,
                ep.Progress(tally.K, len(holes), state.lineage.next_id, state.clock, used, at),
            )
            tally.K, n_holes, _, state.clock, used, end = stands
            holes = slots.holes[:n_holes]
            visit.name_births(state, at, end)
            at = end
            if capped:
                warn_once(model, state)
            if why == adf.ROOM:
                state.reserve(2 * tally.capacity)
            elif why == ep.FULL:
                new = grown(new, 2 * len(new.q) + tally.K + 1)
            elif why == adf.CHECK and state.lap == 0:
                dropped += prune(state, IDLE)
                merges += self._join(model, state)
            elif why == adf.CHECK:
                state.columns |= model.family.columns(tally)
        dropped += close_holes(state, holes, before | set(range(first_id, state.lineage.next_id)))
        state.columns["judged"][: state.tally.K][state.tally.ids >= first_id] = 0.0
        return Visited(new, dropped, merges)

    def _by_arrays(self, model: Model, state: State, visit: "BatchVisit") -> "Visited":
        """Visit the rows with plain array maths: any prior, and the reference for the kernel."""
        dropped: list[int] = []
        merges: list[tuple[int, int]] = []
        every = self._settings(model).every
        found: list[tuple[int, Array, Array]] = []
        for i in visit.order:
            old = gathered(state, visit.sites, i)
            emptied, own = self._take_out(model, state, visit, i, old)
            q = self._learn_by_arrays(model, state, visit.X, visit.weights, i, visit.results, own)
            for k in set(emptied) - set(state.tally.ids.tolist()):
                state.lineage.drop(k, state.clock)
                dropped.append(k)
            if not len(q):
                continue
            ids = state.tally.ids[q > 0].copy()
            found.append((int(i), ids, q[q > 0]))
            visit.follow(i, old, dict(zip(ids.tolist(), q[q > 0], strict=True)))
            if state.clock % every == 0 and state.lap == 0:
                dropped += prune(state, IDLE)
                merges += self._join(model, state)
        state.columns |= model.family.columns(state.tally)
        return Visited(packed(len(visit.order), found), dropped, merges)

    def _take_out(
        self, model: Model, state: State, visit: "BatchVisit", i: int, old: dict[int, float]
    ) -> tuple[list[int], int | None]:
        """Take row i out of its clusters; return the ids of those emptied, and of its own."""
        tally, w = state.tally, visit.weights[i]
        q = np.array([old.get(int(k), 0.0) for k in tally.ids])
        if w == 0 or not q.any():
            return [], None
        hard = q >= adf.HARD
        tally.mass[:] -= w * q
        tally.stats[:] -= model.family.accumulate(visit.X[i : i + 1], w * q[None, :])
        tally.extras["hard"][:] -= w * hard
        tally.extras["hard"][tally.extras["hard"] < ep.RESIDUE] = 0.0
        log_empty = tally.extras["log_empty"]
        log_empty[:] = np.minimum(log_empty - w * np.log1p(-np.where(hard, 0.0, q)), 0.0)
        empty = (q > 0) & (tally.mass < ep.crumbs(w))
        shells = np.flatnonzero((q > 0) & (empty | (tally.mass < self.birth * w)))
        own = int(tally.ids[shells[q[shells].argmax()]]) if len(shells) else None
        emptied = [int(k) for k in tally.ids[empty]]
        if emptied:
            state.take(np.flatnonzero(~empty))
        return emptied, own


class BatchVisit(NamedTuple):
    """What a visit of a batch needs: rows, weights, order, sites, and where results go."""

    X: Any
    weights: Array  # (N,)
    order: Array  # (N,)
    sites: ep.Sites
    results: RowResults
    moved: Array  # (3,) largest change of a responsibility, mass that moved, mass restored

    def told(self, family: Family, new: ep.Sites) -> ep.Visit:
        """Return the visit for the kernel, which writes new sites."""
        rows, out = family.rows(self.X), adf.Out(*self.results)
        return ep.Visit(rows, self.weights, self.order, self.sites, new, self.moved, out)

    def name_births(self, state: State, first: int, end: int) -> None:
        """Enter the births at places first..end of the order into the lineage."""
        rows = self.order[first:end]
        clock = state.clock - np.count_nonzero(self.weights[rows])
        ticks = clock + np.cumsum(self.weights[rows] > 0)
        for tick in ticks[self.results.born[rows]]:
            state.lineage.birth(int(tick))

    def follow(self, i: int, old: dict[int, float], new: dict[int, float]) -> None:
        """Note how far the responsibilities of row i have moved, by id."""
        w, moved = self.weights[i], self.moved
        change = [abs(new.get(k, 0.0) - old.get(k, 0.0)) for k in new | old]
        moved[0] = max(moved[0], *change)
        moved[1] += w * (1.0 - sum(min(q, old.get(k, 0.0)) for k, q in new.items()))
        if self.sites.end[i] > self.sites.begin[i]:
            moved[2] += w * (1.0 - sum(old.values()))


class Visited(NamedTuple):
    """What came of a visit: the new sites, the clusters that were dropped, those that merged."""

    sites: ep.Sites
    dropped: list[int]
    merges: list[tuple[int, int]]
