"""Memoized variational Bayes with births and merges.

References
----------
Hughes, Sudderth (2013). Memoized online variational inference for Dirichlet process mixture models.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evermix._xp import Array, host
from evermix.engines.base import Batch, Info
from evermix.engines.filter import warn_once
from evermix.engines.local import NO_PLAN, Plan, Summary, Trial
from evermix.engines.memo_checks import (
    FLOAT,
    check_arrays,
    check_batches,
    check_numbers,
    check_plan,
)
from evermix.engines.moves import plan as plans
from evermix.engines.moves.birth import Search, due, plan_trials
from evermix.engines.moves.change import Change, decide
from evermix.engines.moves.judge import judge
from evermix.engines.moves.merge import likeness, n_others, plan_merges
from evermix.engines.settings import check_switch, check_tolerance, check_whole
from evermix.engines.spill import Spill
from evermix.engines.summaries import aligned, to_record, totals
from evermix.engines.variational import Variational
from evermix.model import Model
from evermix.state import Record, State
from evermix.tally import Tally

__all__ = ["MemoizedVB"]

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
    stride : int
        Laps between two rounds of births and deletes.
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
    stride: int = 1
    top: int | None = None
    start: str = "one"
    truncation: int = 25
    tol: float = 0.01
    spill: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance("tol", self.tol)
        if not isinstance(self.spill, str | None):
            raise TypeError(f"spill must be the path of a folder or None, got {self.spill!r}.")
        for name in ("batch_size", "stride"):
            check_whole(name, getattr(self, name))
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
        return state

    def begin(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> State:
        """Put the first clusters into a state."""
        state = super().begin(model, state, batches, rng)
        tally = state.tally
        state.memo["start"] = {"mass": tally.mass.copy(), "stats": tally.stats.copy()}
        return state

    def step(
        self, model: Model, state: State, batch: Batch, rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Visit one batch.   Consumes: state."""
        del rng
        began = time.perf_counter()
        plan, _ = plans.from_record(state.memo.get("plan"), state.tally.ids)
        summary = self.summarise(model, state.tally, batch, plan)
        self.commit(model, state, batch, summary)
        return state, self.told(model, state, batch, summary, began)

    def commit(self, model: Model, state: State, batch: Batch, summary: Summary) -> None:
        """Put what a batch says now in the place of what it said before."""
        tally, key = state.tally, str(batch.key)
        if key in state.memo:
            old = aligned(state.memo[key], tally.ids, state.lineage)
            state.latents["dropped"] -= state.memo[key]["mass"].sum() - old["mass"].sum()
            stats = model.family.from_features(summary.sums - old["sums"])
            mass, entropy, base = old["mass"], old["entropy"], float(old["base"][0])
        else:  # until a batch is visited, its share of the start stands for it
            start, weights = state.memo["start"], host(batch.weights)
            share = float(weights.sum() / state.latents["weight"][0])
            stats = model.family.from_features(summary.sums) - share * start["stats"]
            mass, entropy = share * start["mass"], np.zeros(tally.K)
            base = float(host(model.family.log_base(batch.X)) @ weights)
            state.latents["base"] += base
        tally.mass[:] = np.maximum(tally.mass + (summary.mass - mass), 0.0)
        tally.stats[:] += stats
        tally.extras["entropy"][:] += summary.entropy - entropy
        state.memo[key] = self._stored(to_record(summary, tally.ids, base))
        state.clock += int(np.count_nonzero(host(batch.weights)))

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Sum the batches anew, make the moves that raise the bound, plan others.

        Consumes: state.
        """
        began = time.perf_counter()
        state.memo.pop("start", None)
        plan, targets = plans.from_record(state.memo.pop("plan", None), state.tally.ids)
        keys = [str(key) for key in range(len(batches))]
        sums = totals(state.memo[key] for key in keys)
        verdict = judge(model, plan, sums)
        state.columns["stage"][np.delete(targets, verdict.trials)] += 1  # what has failed
        change = decide(plan, verdict, sums, state.tally.ids, state.lineage, state.clock)
        # Pairs that have lost will lose again at rest, so no fit need wait for them.
        lost = NO_PLAN.pairs if verdict.gains else state.tally.ids[plan.pairs]
        self._make(model, state, change, keys)
        bound = self.bound(model, state)
        state.latents["bound"][:] = bound, state.latents["bound"][0]
        self._plan(model, state, batches, rng, lost)
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

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError unless all batches seen, the start and the plan are there, and whole."""
        super().check_memo(model, state, n_rows)
        check_numbers(state, (), ("pending",))
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
        check_batches(state, F, self.batch_size, n_rows, planned)

    def _stored(self, record: Record) -> Record:
        """Return the record of a batch, what is large of it in a file if there is a folder."""
        if self.spill is None:
            return record
        return record | {name: self._files.put(record[name]) for name in ("sums", "child_sums")}

    @cached_property
    def _files(self) -> Spill:
        assert self.spill is not None
        return Spill(self.spill)

    # ---- moves -----------------------------------------------------------------------------

    def _make(self, model: Model, state: State, change: Change, keys: list[str]) -> None:
        """Make moves in every record, and sum all records anew: no drift.   Consumes: state."""
        for key in keys:
            after = change.record(state.memo[key])
            state.memo[key] = after if change.still else self._stored(after)
        sums = totals(state.memo[key] for key in keys)
        stats, extras = model.family.from_features(sums["sums"]), {"entropy": sums["entropy"]}
        state.tally = Tally.of(change.ids, sums["mass"], stats, extras, state.tally.layout)
        for name, column in state.columns.items():
            state.columns[name] = change.column(column, state.tally.capacity)
        state.latents["base"][:], state.latents["dropped"][:] = sums["base"], 0.0

    def _plan(
        self,
        model: Model,
        state: State,
        batches: Sequence[Batch],
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
        if search.any and not self._quiet(lap) and lap % self.stride == 0:
            trials, targets = plan_trials(model, state, batches, search, rng)
        pairs = plan_merges(alike, free) if self.merges else NO_PLAN.pairs
        if trials or len(pairs):
            state.memo["plan"] = plans.to_record(Plan(pairs, tuple(trials)), targets, tally.ids)
        waiting = len(due(state)) if search.any else 0
        state.latents["pending"][:] = n_others(tally.ids[pairs], lost) + len(trials), waiting

    def _quiet(self, lap: int) -> bool:
        """Whether a lap is too late for births: they could not settle, nor tell their rows."""
        return lap > self.laps - 2 or lap >= (1 - QUIET) * self.laps
