"""Memoized variational Bayes with births and merges.

References
----------
Hughes, Sudderth (2013). Memoized online variational inference for Dirichlet process mixture models.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evermix._xp import Array, host
from evermix.engines.base import Batch, Info
from evermix.engines.batch_memo import (
    FLOAT,
    check_arrays,
    check_batches,
    check_numbers,
    check_plan,
    n_sums,
)
from evermix.engines.local import NO_PLAN, Beliefs, Plan, Summary, Trial
from evermix.engines.moves.birth import due, plan_births
from evermix.engines.moves.judge import Verdict, child_rows, judge
from evermix.engines.moves.merge import likeness, plan_merges
from evermix.engines.settings import check_switch, check_whole
from evermix.engines.summaries import Change, aligned, changed, to_record, totals
from evermix.engines.variational import Variational
from evermix.model import Model
from evermix.state import Record, State
from evermix.tally import Tally

__all__ = ["MemoizedVB"]

QUIET = 0.1  # share of the laps, at the end, in which there are no births


@dataclass(frozen=True)
class MemoizedVB(Variational):
    """Memoized."""

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

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("batch_size", "stride"):
            check_whole(name, getattr(self, name))
        for name in ("births", "merges", "deletes"):
            check_switch(name, getattr(self, name))

    def batch_rows(self, n: int) -> int:
        """Return how many of n rows a batch shall have."""
        return min(self.batch_size, n)

    def initial(self, model: Model, rng: np.random.Generator) -> State:
        """Return the state before any data."""
        state = super().initial(model, rng)
        capacity = state.tally.capacity
        state.columns |= {
            "tried": np.zeros(capacity),
            "stage": np.zeros(capacity, dtype=np.int64),
        }
        state.latents["pending"] = np.zeros(1, dtype=np.int64)
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
        began = time.perf_counter()
        if state.at == 0 and "plan" in state.memo:  # a fit that ended may have dropped clusters
            if not np.array_equal(state.memo["plan"]["ids"], state.tally.ids):
                del state.memo["plan"]
        summary = self.summarise(model, state.tally, batch, read_plan(state.memo.get("plan")))
        self.commit(model, state, batch, summary)
        return state, self.told(model, state, batch, summary, began)

    def commit(self, model: Model, state: State, batch: Batch, summary: Summary) -> None:
        """Put what a batch says now in the place of what it said before."""
        tally, key = state.tally, str(batch.key)
        if key in state.memo:
            old = aligned(state.memo[key], tally.ids, state.lineage)
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
        state.memo[key] = to_record(summary, tally.ids, base)
        state.clock += int(np.count_nonzero(batch.weights))

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Sum the batches anew, make the moves that raise the bound, plan others.

        Consumes: state.
        """
        began = time.perf_counter()
        state.memo.pop("start", None)
        record = state.memo.pop("plan", None)
        plan, targets = read_plan(record), [] if record is None else record["targets"]
        keys = [str(key) for key in range(len(batches))]
        sums = totals(state.memo[key] for key in keys)
        verdict = judge(model, plan, sums)
        failed = [t for t in range(len(plan.trials)) if t not in verdict.trials]
        for t in failed:
            state.columns["stage"][targets[t]] += 1
        births, merges = self._apply(model, state, plan, verdict, sums, keys)
        bound = self.bound(model, state)
        state.latents["bound"][:] = bound, state.latents["bound"][0]
        self._plan(model, state, batches, rng)
        return state, Info(
            rows=0,
            clock=state.clock,
            K=state.tally.K,
            births=births,
            merges=merges,
            seconds=time.perf_counter() - began,
            lap=state.lap,
            scalars={"elbo": bound, "tried": float(len(plan.trials)), "pairs": float(len(plan.pairs)), "accepted":float(len(verdict.trials)), "due": float(len(due(state)))},
        )

    def finished(self, state: State) -> bool:
        """Whether all laps are done, or the bound has settled and no move is pending."""
        return super().finished(state) and (
            state.lap >= self.laps or not state.latents["pending"][0]
        )

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError unless all batches seen, the start and the plan are there, and whole."""
        super().check_memo(model, state, n_rows)
        check_numbers(state, (), ("pending",))
        (K, S), F = state.tally.stats.shape, n_sums(model, state)
        if np.any(state.columns["stage"][:K] < 0):
            raise ValueError("stages of clusters must be at least 0.")
        if ("start" in state.memo) != (state.lap == 0):
            raise ValueError("the start must be remembered in the first lap, and only there.")
        if state.lap == 0:
            wanted = {"mass": ((K,), FLOAT), "stats": ((K, S), FLOAT)}
            check_arrays("the start", state.memo["start"], wanted)
        planned = check_plan(state, F) if "plan" in state.memo else (0, 0)
        check_batches(state, F, self.batch_size, n_rows, planned)

    # ---- moves -----------------------------------------------------------------------------

    def _apply(
        self, model: Model, state: State, plan: Plan, verdict: Verdict, sums: Record, keys: list[str]
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Make moves in every record and in the tally; return births and merges by id."""
        tally, lineage, K = state.tally, state.lineage, state.tally.K
        rows = child_rows(plan)
        replaced = [(plan.trials[t].parents, rows[t]) for t in verdict.trials]
        n_children = len(sums["child_mass"])
        ids = np.full(K + n_children, -1, dtype=np.int64)
        ids[:K] = tally.ids
        births: list[int] = []
        fused: list[tuple[int, int]] = []
        gone = np.zeros(K + n_children, dtype=bool)
        gone[K:] = True
        for stays, goes, _ in verdict.merges:
            gone[goes] = True
            fused.append((int(ids[goes]), int(ids[stays])))
        for parents, children in replaced:
            gone[parents], gone[K + children] = True, False
            heirs = children[np.argsort(-sums["child_mass"][children], kind="stable")]
            elders = parents[np.argsort(-sums["mass"][parents], kind="stable")]
            for j, child in enumerate(heirs):
                if j < len(elders):
                    ids[K + child] = ids[elders[j]]
                else:
                    ids[K + child] = lineage.birth(state.clock)
                    births.append(int(ids[K + child]))
            fused += [(int(ids[e]), int(ids[K + heirs[0]])) for e in elders[len(heirs) :]]
        for old, new in fused:
            lineage.merge(old, new, state.clock)
        mass = np.append(sums["mass"], sums["child_mass"])
        for stays, goes, _ in verdict.merges:
            mass[stays] += mass[goes]
        order = np.flatnonzero(~gone)
        order = order[np.argsort(-mass[order], kind="stable")]
        change = Change(K, verdict.merges, replaced, order)
        for key in keys:
            state.memo[key] = changed(state.memo[key], change, ids[order])
        after = totals(state.memo[key] for key in keys)
        stats = model.family.from_features(after["sums"])
        extras = {"entropy": after["entropy"]}
        columns = {}
        for name, column in state.columns.items():
            grown = np.zeros(K + n_children, dtype=column.dtype)
            grown[:K] = column[:K]
            columns[name] = grown[order]
        state.tally = Tally.of(ids[order], after["mass"], stats, extras, tally.layout)
        for name, values in columns.items():
            buffer = np.zeros(state.tally.capacity, dtype=values.dtype)
            buffer[: len(values)] = values
            state.columns[name] = buffer
        state.latents["base"][:] = after["base"]
        return births, fused

    def _plan(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> None:
        """Plan what the next lap shall find out."""
        tally, lap = state.tally, state.lap + 1
        state.latents["pending"][0] = 0
        if lap >= self.laps:
            return
        alike = likeness(model, tally)
        free = np.ones(tally.K, dtype=bool)
        trials: list[Trial] = []
        targets: list[int] = []
        if self.births and lap < (1 - QUIET) * self.laps and lap % self.stride == 0:
            trials, targets = plan_births(model, state, batches, alike.near, free, rng)
        pairs = NO_PLAN.pairs
        if self.merges:
            pairs = plan_merges(alike, free)
        if len(pairs) or trials:
            state.memo["plan"] = plan_record(Plan(pairs, tuple(trials)), targets, tally.ids)
        waiting = len(due(state)) if self.births and lap < (1 - QUIET) * self.laps else 0
        state.latents["pending"][0] = len(pairs) + len(trials) + waiting


def plan_record(plan: Plan, targets: list[int], ids: Array) -> Record:
    """Return a plan for the clusters ``ids`` (K,) as named arrays."""
    trials = plan.trials
    width = trials[0].children.slopes.shape[1] if trials else 0
    return {
        "ids": ids.copy(),
        "pairs": plan.pairs,
        "targets": np.array(targets, dtype=np.int64),
        "parents": np.concatenate([t.parents for t in trials] or [np.zeros(0, dtype=np.int64)]),
        "n_parents": np.array([len(t.parents) for t in trials], dtype=np.int64),
        "slopes": np.concatenate([t.children.slopes for t in trials] or [np.zeros((0, width))]),
        "intercepts": np.concatenate([t.children.intercepts for t in trials] or [np.zeros(0)]),
        "n_children": np.array([len(t.children.intercepts) for t in trials], dtype=np.int64),
    }


def read_plan(record: Record | None) -> Plan:
    """Return the plan that :func:`plan_record` described."""
    if record is None:
        return NO_PLAN
    trials = []
    parents = np.split(record["parents"], np.cumsum(record["n_parents"])[:-1])
    cuts = np.cumsum(record["n_children"])[:-1]
    slopes, intercepts = np.split(record["slopes"], cuts), np.split(record["intercepts"], cuts)
    if len(record["n_parents"]):
        for group, a, b in zip(parents, slopes, intercepts, strict=True):
            trials.append(Trial(group, Beliefs(a, b)))
    return Plan(record["pairs"], tuple(trials))
