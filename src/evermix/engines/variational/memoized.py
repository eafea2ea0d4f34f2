"""Memoized variational Bayes with births and merges.

References
----------
Hughes, Sudderth (2013). Memoized online variational inference for Dirichlet process mixture models.
"""

import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from evermix._schema import FLOAT, Field, check_arrays
from evermix._xp import Floats, Ints
from evermix.engines.batch import Batch, Info, warn_once
from evermix.engines.memo import (
    MASS,
    check_batches,
    check_plan,
)
from evermix.engines.refine.problem import Problem
from evermix.engines.refine.regroup import explored
from evermix.engines.seeding import WORDS, draw_rows
from evermix.engines.settings import check_switch, check_tolerance, check_whole
from evermix.engines.shards import Shards, as_shards, interleaved
from evermix.engines.variational.base import Variational
from evermix.engines.variational.local import NO_PLAN, Plan, Trial, believe
from evermix.engines.variational.memory import MemoChange, SumRecords, UpdateRecords
from evermix.engines.variational.moves import plan as plans
from evermix.engines.variational.moves.birth import Search, due, plan_trials
from evermix.engines.variational.moves.decide import ApplyMoves, Change, decide, judge
from evermix.model import Model
from evermix.state import Record, State
from evermix.tally import Tally

SAMPLE, SAMPLE_NUMBERS = 10_000, 2**22  # most rows, and features of rows, of the first search
QUIET = 0.1  # fraction of the laps, at the end, without births


@dataclass(frozen=True)
class MemoizedVB(Variational):
    """Variational inference in batches that needs no learning rate and finds K by itself.

    It stores the sums of each batch, so that the bound of all rows is known exactly and rises with
    every batch. During the laps it looks for clusters to split, to merge or to remove; every such
    move is decided by the exact bound of all rows.

    Parameters
    ----------
    laps : int
        The largest number of passes over the data.
    batch_size : int
        Rows in a batch. The memory needed grows with the number of batches.
    births : bool
        Cluster rows of some clusters anew, and replace these where that is better.
    merges : bool
        Merge pairs of clusters where that is better.
    deletes : bool
        Remove clusters where their neighbours can take their rows.
    stride : int or None
        Number of batches that are learnt in parallel, from the same posteriors. The bound still
        rises with every step. None: the number of workers for a Dask collection, and 1 for all
        other rows.
    top : int or None
        Largest number of clusters that share a row; None for all.
    start : {"one", "kmeans++", "random"} or str
        Where the clusters start (see :class:`FullVB`). "one" with births: with the clusters of a
        sample of rows, found from one.
    truncation : int
        Number of clusters to start with, unless with one.
    tol : float
        Stop when a lap raises the bound by no more than this many nats, and no move is pending.
    spill : str or None
        A folder for the sums of batches, which are otherwise kept in memory: batches x clusters x
        statistics numbers. Its files have no names and vanish with the model.
    """

    laps: int = 50
    batch_size: int = 1000
    births: bool = True
    merges: bool = True
    deletes: bool = True
    stride: int | None = None
    top: int | None = None
    start: str = "one"
    truncation: int = 25
    tol: float = 0.01
    spill: str | None = None

    may_change: ClassVar[tuple[str, ...]] = ("laps", "tol", "spill")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance("tol", self.tol)
        if not isinstance(self.spill, str | None):
            raise TypeError(f"spill must be the path of a folder or None, got {self.spill!r}.")
        check_whole("batch_size", self.batch_size)
        if self.stride is not None:
            check_whole("stride", self.stride)
        for name in ("births", "merges", "deletes"):
            check_switch(name, getattr(self, name))

    def batch_rows(self, n: int, n_features: int) -> int:
        """Return the number of rows of a batch, for n rows in all."""
        del n_features
        return min(self.batch_size, n)

    def initial(self, model: Model, rng: Generator) -> State:
        """Return the state before any data."""
        state = super().initial(model, rng)
        capacity = state.tally.capacity
        state.columns |= {"tried": np.zeros(capacity), "stage": np.zeros(capacity, dtype=np.int64)}
        # Moves planned for this lap, and clusters with attempts left.
        state.latents["pending"] = np.zeros(2, dtype=np.int64)
        state.latents["stride"] = np.ones(1, dtype=np.int64)
        return state

    def begin(self, model: Model, state: State, batches: Sequence[Batch], rng: Generator) -> State:
        """Add the first clusters to a state."""
        state = super().begin(model, state, batches, rng)
        tally, width = state.tally, as_shards(batches, state.memo).width
        state.latents["stride"][0] = width if self.stride is None else self.stride
        state.memo["start"] = {"mass": tally.mass.copy(), "stats": tally.stats.copy()}
        return state

    def first(
        self, model: Model, shards: Shards, total: float, rng: Generator
    ) -> tuple[Floats, Floats]:
        """Return the first clusters: where births are due from the start, those of a sample."""
        if self.start != "one" or not self.births or self._quiet(1):
            return super().first(model, shards, total, rng)
        assert model.family.n_features is not None
        width = WORDS if model.family.sparse else model.family.n_slopes
        sample = draw_rows(model.family, shards, min(SAMPLE, SAMPLE_NUMBERS // width), rng)
        found = explored(Problem(sample, model, rng))
        scale = total / found.mass.sum()
        return scale * found.mass, scale * found.stats

    def order(self, state: State, n: int) -> Ints:
        """Return the order (n,) in which a lap takes the n batches: in a step, one of each run."""
        return interleaved(n, int(state.latents["stride"][0]))

    def together(self, state: State, shards: Shards) -> int:
        """Return how many batches a step learns from the same state."""
        del shards
        return int(state.latents["stride"][0])

    def visit(
        self, model: Model, state: State, shards: Shards, keys: Sequence[int], rng: Generator
    ) -> tuple[State, Info]:
        """Learn batches from the same posteriors.   Consumes: state."""
        del rng
        began, tally = time.perf_counter(), state.tally
        plan, _ = plans.from_record(state.memo.get("plan"), tally.ids)
        beliefs = believe(model, tally.mass, tally.stats)
        ids, lineage = tally.ids.copy(), state.lineage
        task = UpdateRecords(model, ids, beliefs, self.top, plan, lineage, self.spill)
        change = shards.do(task, keys)
        self.commit(model, state, change)
        return state, self.step_info(state, shards, keys, change.sums, began)

    def commit(self, model: Model, state: State, change: MemoChange) -> None:
        """Add the changes of the sums of batches to the state.   Consumes: state."""
        tally, sums = state.tally, change.sums
        mass, stats = sums.mass, model.family.from_features(sums.sums)
        if change.first > 0:  # until a batch is learnt, a part of the start represents it
            start = state.memo["start"]
            part = change.first / float(state.latents["weight"][0])
            mass, stats = mass - part * start["mass"], stats - part * start["stats"]
        tally.mass[:] = np.maximum(tally.mass + mass, 0.0)
        tally.stats[:] += stats
        tally.extras["entropy"][:] += sums.entropy
        state.latents["base"] += change.first_base
        state.latents["dropped"] -= change.restored

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: Generator
    ) -> tuple[State, Info]:
        """Recompute the sums of all batches, make the moves that raise the bound, plan others.

        Consumes: state.
        """
        began, shards = time.perf_counter(), as_shards(batches, state.memo)
        plan, targets = plans.from_record(state.memo.get("plan"), state.tally.ids)
        sums = shards.do(SumRecords(), range(len(shards)))
        accepted = judge(model, plan, sums)
        lineage = deepcopy(state.lineage)
        change = decide(plan, accepted, sums, state.tally.ids, lineage, state.clock)
        # Pairs that were rejected will be again at convergence, so no fit waits for them.
        rejected = NO_PLAN.pairs if accepted.gains else state.tally.ids[plan.pairs]
        after = shards.do(ApplyMoves(change, self.spill), range(len(shards)))
        state.lineage = lineage  # only after all batches have changed
        state.columns["stage"][np.delete(targets, accepted.trials)] += 1  # failed attempts
        state.memo.pop("plan", None)
        self._apply(model, state, change, after)
        bound = self.bound(model, state)
        state.latents["bound"][:] = bound, state.latents["bound"][0]
        self._plan(model, state, shards, rng, rejected)
        state.memo.pop("start", None)  # last: reading rows for births may fail and be repeated
        state.latents["pending"][0] += len(accepted.trials)  # the next lap must assign their rows
        return state, Info(
            rows=0,
            clock=state.clock,
            K=state.tally.K,
            births=change.births,
            merges=change.fused,
            dropped=change.dropped,
            seconds=time.perf_counter() - began,
            lap=state.lap,
            scalars={
                "elbo": bound,
                "trials": float(len(plan.trials)),
                "accepted": float(len(accepted.gains)),
                "pending": float(state.latents["pending"].sum()),
            },
        )

    def finished(self, state: State) -> bool:
        """Whether all laps are done, or the bound has converged and no move is pending."""
        planned, waiting = state.latents["pending"]
        idle = not planned and (not waiting or self._quiet(state.lap))
        return super().finished(state) or (idle and self.settled(state, self.tol))

    def converged(self, state: State) -> bool:
        """Whether the bound has settled, and no move is left but births that come too late."""
        planned, waiting = state.latents["pending"]
        late = self._quiet(state.lap) and state.lap < self.laps
        return bool(not planned and (late or not waiting) and self.settled(state, self.tol))

    def records(self, state: State) -> dict[str, Record]:
        """Return the records of batches."""
        return {key: record for key, record in state.memo.items() if key.isdigit()}

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError unless the records of batches, the start and the plan are valid."""
        (K, S), F = state.tally.stats.shape, model.family.n_slopes
        first = state.lap == 0 and state.latents["weight"][0] > 0
        if ("start" in state.memo) != first:
            raise ValueError(
                "there must be a record of the start in the first lap, and only there."
            )
        if first:
            wanted = {"mass": Field(FLOAT, (K,), MASS), "stats": Field(FLOAT, (K, S))}
            check_arrays("the start", state.memo["start"], wanted)
        planned = check_plan(state, F) if "plan" in state.memo else (0, 0)
        order = self.order(state, -(-n_rows // self.batch_size))
        check_batches(state, F, self.batch_size, n_rows, order, planned)

    # ---- moves -----------------------------------------------------------------------------

    def _apply(self, model: Model, state: State, change: Change, sums: Record) -> None:
        """Replace the state's sums by those of all records after moves.   Consumes: state."""
        stats, extras = model.family.from_features(sums["sums"]), {"entropy": sums["entropy"]}
        state.tally = Tally.of(change.ids, sums["mass"], stats, extras, state.tally.layout)
        for name, column in state.columns.items():
            state.columns[name] = change.column(column, state.tally.capacity)
        state.latents["base"][:], state.latents["dropped"][:] = sums["base"], 0.0

    def _plan(
        self, model: Model, state: State, shards: Shards, rng: Generator, rejected: Ints
    ) -> None:
        """Plan the moves of the next lap, given the pairs (P, 2) of ids that were just rejected.

        Consumes: state.
        """
        lap, tally = state.lap + 1, state.tally
        state.latents["pending"][:] = 0
        if not (self.births or self.merges or self.deletes):
            return
        similar = plans.similar_pairs(model, tally)
        trials: list[Trial] = []
        targets: list[int] = []
        if self.births and tally.K == model.max_clusters:
            warn_once(model, state)
        search = Search(self.births, self.deletes, similar.near)
        if search.any and not self._quiet(lap):
            trials, targets = plan_trials(model, state, shards, search, rng)
        free = np.ones(tally.K, dtype=bool)
        for trial in trials:
            free[trial.parents] = False
        pairs = plans.plan_merges(similar, free) if self.merges else NO_PLAN.pairs
        if trials or len(pairs):
            state.memo["plan"] = plans.to_record(Plan(pairs, tuple(trials)), targets, tally.ids)
        waiting = len(due(state)) if search.any else 0
        state.latents["pending"][:] = (
            plans.n_others(tally.ids[pairs], rejected) + len(trials),
            waiting,
        )

    def _quiet(self, lap: int) -> bool:
        """Whether a lap is too late for births, which need further laps to converge."""
        return lap > self.laps - 2 or lap >= (1 - QUIET) * self.laps
