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

from evermix._xp import Array
from evermix.engines.batch import Batch, Info
from evermix.engines.filters.filter import warn_once
from evermix.engines.memo import (
    FLOAT,
    check_arrays,
    check_batches,
    check_numbers,
    check_plan,
    check_stride,
)
from evermix.engines.settings import check_switch, check_tolerance, check_whole
from evermix.engines.shards import Shards, interleaved, placed
from evermix.engines.variational.base import Variational
from evermix.engines.variational.local import NO_PLAN, Plan, Trial, believe
from evermix.engines.variational.moves import plan as plans
from evermix.engines.variational.moves.birth import Search, due, plan_trials
from evermix.engines.variational.moves.change import Change, decide
from evermix.engines.variational.moves.decide import judge
from evermix.engines.variational.moves.merge import likeness, n_others, plan_merges
from evermix.engines.variational.visits import Make, News, Revisit, Totals
from evermix.model import Model
from evermix.state import Record, State
from evermix.tally import Tally

QUIET = 0.1  # share of the laps, at the end, in which there are no births


@dataclass(frozen=True)
class MemoizedVB(Variational):
    """Variational inference in batches that needs no learning rate and finds K by itself.

    It remembers what each batch has said, so that the bound of all rows is known exactly and rises
    with every batch. While it goes round, it looks for clusters to be taken apart, put together or
    given up; every such move is judged by the exact bound of all rows.

    Parameters
    ----------
    laps : int
        At most so many passes over the data.
    batch_size : int
        Rows in a batch. What is remembered grows with the number of batches.
    births : bool
        Analyse rows of clusters afresh, and take what is found in their place where it is better.
    merges : bool
        Fuse pairs of clusters where that is better.
    deletes : bool
        Give clusters up where their neighbours can take their rows.
    stride : int or None
        Batches that are visited, given the same beliefs, before these change: as many as places
        that shall work at the same time. The bound still rises with every step. None: as many as
        a Dask collection has workers, and 1 for all other rows.
    top : int or None
        Share each row among at most so many clusters; None for all.
    start : {"one", "kmeans++", "random"} or str
        Where the clusters start (see :class:`FullVB`).
    truncation : int
        Number of clusters to start with, unless with one.
    tol : float
        Stop when a lap raises the bound by no more than this many nats, and no move is pending.
    spill : str or None
        A folder for what batches have said, which else is kept in memory: batches x clusters x
        statistics numbers. Its files have no names and are gone with the model.
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

    may_change: ClassVar = ("laps", "tol", "spill")

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
        """Return how many of n rows a batch shall have."""
        del n_features
        return min(self.batch_size, n)

    def initial(self, model: Model, rng: np.random.Generator) -> State:
        """Return the state before any data."""
        state = super().initial(model, rng)
        capacity = state.tally.capacity
        state.columns |= {
            "tried": np.zeros(capacity),
            "stage": np.zeros(capacity, dtype=np.int64),
        }
        state.latents["pending"] = np.zeros(2, dtype=np.int64)  # planned, and waiting to be
        state.latents["stride"] = np.ones(1, dtype=np.int64)
        return state

    def begin(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> State:
        """Put the first clusters into a state."""
        state = super().begin(model, state, batches, rng)
        tally, width = state.tally, placed(batches, state.memo).width
        state.latents["stride"][0] = width if self.stride is None else self.stride
        state.memo["start"] = {"mass": tally.mass.copy(), "stats": tally.stats.copy()}
        return state

    def order(self, state: State, n: int) -> Array:
        """Return the order (n,) in which a lap visits the n batches: a step, one of each run."""
        return interleaved(n, int(state.latents["stride"][0]))

    def together(self, state: State, shards: Shards) -> int:
        """Return how many batches a step takes from the same state."""
        del shards
        return int(state.latents["stride"][0])

    def visit(
        self,
        model: Model,
        state: State,
        shards: Shards,
        keys: Sequence[int],
        rng: np.random.Generator,
    ) -> tuple[State, Info]:
        """Visit batches, given the same beliefs.   Consumes: state."""
        del rng
        began, tally = time.perf_counter(), state.tally
        plan, _ = plans.from_record(state.memo.get("plan"), tally.ids)
        beliefs = believe(model, tally.mass, tally.stats)
        task = Revisit(model, tally.ids.copy(), beliefs, self.top, plan, state.lineage, self.spill)
        news = shards.do(task, keys)
        self.commit(model, state, news)
        return state, self.told(state, shards, keys, news.sums, began)

    def commit(self, model: Model, state: State, news: News) -> None:
        """Put what batches say now in the place of what they said before."""
        tally, sums = state.tally, news.sums
        mass, stats = sums.mass, model.family.from_features(sums.sums)
        if news.first > 0:  # until a batch is visited, its share of the start stands for it
            start = state.memo["start"]
            share = news.first / float(state.latents["weight"][0])
            mass, stats = mass - share * start["mass"], stats - share * start["stats"]
        tally.mass[:] = np.maximum(tally.mass + mass, 0.0)
        tally.stats[:] += stats
        tally.extras["entropy"][:] += sums.entropy
        state.latents["base"] += news.first_base
        state.latents["dropped"] -= news.restored

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Sum the batches anew, make the moves that raise the bound, plan others.

        Consumes: state.
        """
        began, shards = time.perf_counter(), placed(batches, state.memo)
        plan, targets = plans.from_record(state.memo.get("plan"), state.tally.ids)
        sums = shards.do(Totals(), range(len(shards)))
        verdict = judge(model, plan, sums)
        lineage = deepcopy(state.lineage)
        change = decide(plan, verdict, sums, state.tally.ids, lineage, state.clock)
        # Pairs that have lost will lose again at rest, so no fit need wait for them.
        lost = NO_PLAN.pairs if verdict.gains else state.tally.ids[plan.pairs]
        after = shards.do(Make(change, self.spill), range(len(shards)))
        state.lineage = lineage  # nothing was changed here before all batches had changed
        state.columns["stage"][np.delete(targets, verdict.trials)] += 1  # what has failed
        state.memo.pop("plan", None)
        self._make(model, state, change, after)
        bound = self.bound(model, state)
        state.latents["bound"][:] = bound, state.latents["bound"][0]
        self._plan(model, state, shards, rng, lost)
        state.memo.pop("start", None)  # last: rows for births may be out of reach, and asked again
        state.latents["pending"][0] += len(verdict.trials)  # whose rows the next lap must tell
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
                "accepted": float(len(verdict.gains)),
                "pending": float(state.latents["pending"].sum()),
            },
        )

    def finished(self, state: State) -> bool:
        """Whether all laps are done, or the bound has settled and no move is pending."""
        planned, waiting = state.latents["pending"]
        idle = not planned and (not waiting or self._quiet(state.lap))
        return super().finished(state) or (idle and self.settled(state, self.tol))

    def records(self, state: State) -> dict[str, Record]:
        """Return what is remembered of batches where they are."""
        return {key: record for key, record in state.memo.items() if key.isdigit()}

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError unless all batches seen, the start and the plan are there, and whole."""
        super().check_memo(model, state, n_rows)
        check_numbers(state, (), ("pending",))
        check_stride(state)
        (K, S), F = state.tally.stats.shape, model.family.n_slopes
        if np.any(state.columns["stage"][:K] < 0):
            raise ValueError("stages of clusters must be at least 0.")
        first = state.lap == 0 and state.latents["weight"][0] > 0
        if ("start" in state.memo) != first:
            raise ValueError("the start must be remembered in the first lap, and only there.")
        if first:
            wanted = {"mass": ((K,), FLOAT), "stats": ((K, S), FLOAT)}
            check_arrays("the start", state.memo["start"], wanted)
        planned = check_plan(state, F) if "plan" in state.memo else (0, 0)
        order = self.order(state, -(-n_rows // self.batch_size))
        check_batches(state, F, self.batch_size, n_rows, order, planned)

    # ---- moves -----------------------------------------------------------------------------

    def _make(self, model: Model, state: State, change: Change, sums: Record) -> None:
        """Put the sums of all records after moves into the state: no drift.   Consumes: state."""
        stats, extras = model.family.from_features(sums["sums"]), {"entropy": sums["entropy"]}
        state.tally = Tally.of(change.ids, sums["mass"], stats, extras, state.tally.layout)
        for name, column in state.columns.items():
            state.columns[name] = change.column(column, state.tally.capacity)
        state.latents["base"][:], state.latents["dropped"][:] = sums["base"], 0.0

    def _plan(
        self,
        model: Model,
        state: State,
        shards: Shards,
        rng: np.random.Generator,
        lost: Array,
    ) -> None:
        """Plan what the next lap shall find out, given pairs (P, 2) of ids that have just lost.

        Consumes: state.
        """
        lap, tally = state.lap + 1, state.tally
        state.latents["pending"][:] = 0
        if not (self.births or self.merges or self.deletes):
            return
        alike = likeness(model, tally)
        free = np.ones(tally.K, dtype=bool)
        trials: list[Trial] = []
        targets: list[int] = []
        if self.births and tally.K == model.max_clusters:
            warn_once(model, state)
        search = Search(self.births, self.deletes, alike.near, free)
        if search.any and not self._quiet(lap):
            trials, targets = plan_trials(model, state, shards, search, rng)
        pairs = plan_merges(alike, free) if self.merges else NO_PLAN.pairs
        if trials or len(pairs):
            state.memo["plan"] = plans.to_record(Plan(pairs, tuple(trials)), targets, tally.ids)
        waiting = len(due(state)) if search.any else 0
        state.latents["pending"][:] = n_others(tally.ids[pairs], lost) + len(trials), waiting

    def _quiet(self, lap: int) -> bool:
        """Whether a lap is too late for births: they could not settle, nor tell their rows."""
        return lap > self.laps - 2 or lap >= (1 - QUIET) * self.laps
