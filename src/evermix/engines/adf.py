"""Assumed density filtering for normalized random measure mixtures: one pass, nothing kept.

References
----------
Tank, Foti, Fox (2015). Streaming variational inference for Bayesian nonparametric mixture models.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.engines.base import Batch, Info, RowResults
from evermix.engines.filter import Filter, warn_once
from evermix.engines.moves.prune import prune
from evermix.kernels import adf as kernels
from evermix.model import Model
from evermix.priors.base import GibbsType
from evermix.state import State

__all__ = ["ADF"]

IDLE = 10  # observations per cluster without a visit, after which dust is dropped


@dataclass(frozen=True)
class ADF(Filter):
    """One-pass streaming inference: each observation is learnt once and forgotten.

    Parameters
    ----------
    birth : float
        A new cluster is opened when its responsibility exceeds this. With the rule "expected" it
        only trades speed for detail (0.01 to 0.1 is sensible); with "paper" it must not lie below
        the prior's sigma.
    rule : {"expected", "paper"}
        Predictive weight of a cluster: mass - sigma * P(occupied), exact in expectation, or
        max(mass - sigma, 0) with the mode of the latent U, as published.
    merge : float or None
        Fuse two clusters when the log odds for it exceed this many nats, judged with foresight (see
        ``evermix.engines.moves.join``); None for no merges.
    """

    birth: float = 0.05
    rule: str = "expected"
    merge: float | None = 5.0

    streams: ClassVar[bool] = True

    def step(
        self, model: Model, state: State, batch: Batch, rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Learn one batch.   Consumes: state."""
        del rng
        began = time.perf_counter()
        self.check_weights(model, batch.weights)
        n = len(batch.weights)
        results = RowResults.empty(n)
        compiled = isinstance(model.prior, GibbsType)
        advance = self._compiled if compiled else self._by_arrays
        rows = model.family.rows(batch.X) if compiled else batch.X
        first_id, merges, dropped = state.lineage.next_id, [], []
        at = 0
        while at < n:
            at, why = advance(model, state, rows, batch.weights, at, results)
            if why == kernels.CHECK:
                dropped += prune(state, IDLE)
                merges += self._join(model, state)
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
        dropped = prune(state)
        merges = self._join(model, state)
        info = Info(rows=0, clock=state.clock, K=state.tally.K, dropped=dropped, merges=merges)
        return state, info

    def _compiled(
        self, model: Model, state: State, rows: Any, weights: Array, at: int, results: RowResults
    ) -> "_Stop":
        """Learn rows with the compiled loop, until it is time to tidy up or there are no more."""
        prior = model.prior
        assert isinstance(prior, GibbsType)
        scalars, settings = self.scalars(prior), self._settings(model)
        first, refused, why = at, False, kernels.ROOM
        state.reserve(state.tally.K + 2)
        while why == kernels.ROOM:
            tally = state.tally
            clusters, scratch = self._buffers(state, scalars)
            at, tally.K, state.clock, capped, why = kernels.adf_pass(
                model.family.workspace(tally, state.columns),
                rows,
                weights,
                scalars,
                clusters,
                scratch,
                state.latents["new_weight"],
                settings,
                tally.K,
                state.clock,
                at,
                kernels.Out(*results),
            )
            refused |= capped
            if why == kernels.ROOM:
                state.reserve(2 * tally.capacity)
        _name(state, results, first, at, weights)
        if refused:
            warn_once(model, state)
        return _Stop(at, why)

    def _by_arrays(
        self, model: Model, state: State, X: Any, weights: Array, at: int, results: RowResults
    ) -> "_Stop":
        """Learn rows with plain array maths, until it is time to tidy up."""
        every = self._settings(model).every
        for i in range(at, len(weights)):
            q = self._learn_by_arrays(model, state, X, weights, i, results)
            if len(q) and state.clock % every == 0:
                return _Stop(i + 1, kernels.CHECK)
        return _Stop(len(weights), kernels.DONE)


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
