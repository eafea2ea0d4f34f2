"""One pass over a stream: each row is learnt when it comes, and nothing of it is kept."""

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from evermix._xp import Array
from evermix.engines.batch import Batch, Info, RowResults
from evermix.engines.fading import note_times
from evermix.engines.filters.filter import Filter, warn_once
from evermix.engines.prune import prune
from evermix.kernels.engines import adf as kernels
from evermix.model import Model
from evermix.priors.base import GibbsType
from evermix.state import State

Stand: TypeAlias = tuple[int, int, int, bool, int]
"""The next row, K, the clock, whether the cap refused a birth, and why a pass stopped."""

IDLE = 10  # observations per cluster without a visit, after which dust is dropped


class OnePass(Filter):
    """A filter that sees each row once."""

    streams: ClassVar[bool] = True
    forgets: ClassVar[bool] = True

    def step(
        self, model: Model, state: State, batch: Batch, rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Learn one batch.   Consumes: state."""
        began, before = time.perf_counter(), state.clock
        self.check_weights(model, batch.weights)
        n = len(batch.weights)
        results = RowResults.empty(n)
        compiled = isinstance(model.prior, GibbsType)
        advance = self._compiled if compiled else self._by_arrays
        rows = model.family.rows(batch.X) if compiled else batch.X
        lot = Lot(rows, batch.weights, self._uniforms(batch.weights, rng), results)
        dropped: list[int] = []
        merges: list[tuple[int, int]] = []
        first_id, at = state.lineage.next_id, 0
        while at < n:
            at, why = advance(model, state, lot, at)
            if why == kernels.CHECK:
                note_times(state, before, batch)  # clusters may end now
                gone, fused = self.tidy(model, state)
                dropped, merges = dropped + gone, merges + fused
        if not compiled:  # array maths needs no caches, but predictions do
            state.columns |= model.family.columns(state.tally)
        results.log_predictive[:] += model.family.log_base(batch.X)
        return state, Info(
            rows=n,
            clock=state.clock,
            K=state.tally.K,
            births=list(range(first_id, state.lineage.next_id)),
            dropped=dropped,
            merges=merges,
            log_predictive=float(results.log_predictive.sum()),
            seconds=time.perf_counter() - began,
            results=results,
        )

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Drop what is more likely empty than not, and join once more.   Consumes: state."""
        del batches, rng
        dropped = prune(state, faded=model.forgetting is not None)
        merges = self._join(model, state)
        info = Info(rows=0, clock=state.clock, K=state.tally.K, dropped=dropped, merges=merges)
        return state, info

    def tidy(self, model: Model, state: State) -> tuple[list[int], list[tuple[int, int]]]:
        """Drop dust and what has faded, and join what is the same; return ids, and (gone, into).

        Consumes: state.
        """
        dropped = prune(state, IDLE, faded=model.forgetting is not None)
        return dropped, self._join(model, state)

    def fade(self, model: Model, state: State, factor: float) -> None:
        """Scale all that was learnt by ``factor``, at most 1.   Consumes: state."""
        super().fade(model, state, factor)
        nothing = state.tally.mass < kernels.DEAD  # or else a row might find no cluster at all
        state.tally.mass[nothing] = state.tally.extras["hard"][nothing] = kernels.DEAD
        state.columns["judged"] *= factor  # so that clusters are judged again as they are renewed

    def _uniforms(self, weights: Array, rng: np.random.Generator) -> Array:
        """Return numbers in [0, 1) to draw with, one for each of N rows, or (0,)."""
        del weights, rng
        return np.empty(0)

    @abstractmethod
    def _pass(self, known: kernels.Known, lot: "Lot", K: int, clock: int, at: int) -> Stand:
        """Run the compiled loop, see ``kernels.adf.adf_pass``."""

    def _compiled(self, model: Model, state: State, lot: "Lot", at: int) -> "_Stop":
        """Learn rows with the compiled loop, until it is time to tidy up or there are no more."""
        prior = model.prior
        assert isinstance(prior, GibbsType)
        first, refused, why = at, False, kernels.ROOM
        state.reserve(state.tally.K + 2)
        while why == kernels.ROOM:
            tally = state.tally
            known = self._known(model, state, prior)
            at, tally.K, state.clock, capped, why = self._pass(known, lot, tally.K, state.clock, at)
            refused |= capped
            if why == kernels.ROOM:
                state.reserve(2 * tally.capacity)
        _name(state, lot.results, first, at, lot.weights)
        if refused:
            warn_once(model, state)
        return _Stop(at, why)

    def _by_arrays(self, model: Model, state: State, lot: "Lot", at: int) -> "_Stop":
        """Learn rows with plain array maths, until it is time to tidy up."""
        every = self._settings(model).every
        X, weights, uniforms, results = lot
        for i in range(at, len(weights)):
            uniform = uniforms[i] if len(uniforms) else 0.0
            q = self._learn_by_arrays(model, state, X, weights, i, results, uniform=uniform)
            if len(q) and state.clock % every == 0:
                return _Stop(i + 1, kernels.CHECK)
        return _Stop(len(weights), kernels.DONE)


class Lot(NamedTuple):
    """The rows of a step: prepared rows, their weights, numbers to draw with, what is said."""

    rows: Any
    weights: Array
    uniforms: Array
    results: RowResults


class _Stop(NamedTuple):
    """Where a stretch of rows ended: the next row, and why."""

    at: int
    why: int


def _name(state: State, results: RowResults, first: int, end: int, weights: Array) -> None:
    """Give the clusters born in rows first..end their ids, and turn slots into ids."""
    some = slice(first, end)
    clock = state.clock - np.count_nonzero(weights[some])
    ticks = clock + np.cumsum(weights[some] > 0)
    born = ticks[results.born[some]]
    if len(born):
        state.tally.ids[-len(born) :] = [state.lineage.birth(int(tick)) for tick in born]
    slots = results.labels[some]
    known = slots >= 0
    slots[known] = state.tally.ids[slots[known]]
