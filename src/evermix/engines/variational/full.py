"""Full variational Bayes: one global step per lap, from all rows at once."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from evermix._schema import FLOAT, Field, check_arrays
from evermix.engines.batch import ROWS, Batch, Info
from evermix.engines.memo import MASS
from evermix.engines.settings import check_tolerance
from evermix.engines.shards import Shards
from evermix.engines.variational.base import SumBatches, Variational
from evermix.engines.variational.local import believe
from evermix.model import Model
from evermix.state import Record, State

NUMBERS = 2**24  # most numbers in the rows of a batch: 128 MB


@dataclass(frozen=True)
class FullVB(Variational):
    """Coordinate ascent on the evidence lower bound, with a fixed number of clusters.

    Parameters
    ----------
    laps : int
        The largest number of passes over the data.
    truncation : int
        Number of clusters. Those that own no row are dropped when the fit ends.
    start : {"kmeans++", "random", "one"} or str
        Where the clusters start: at rows that are far from each other, in the family's own
        divergence; at rows drawn at random; as one cluster; or at those of a saved model (a path).
    tol : float
        Stop when a lap raises the bound by no more than this many nats.
    top : int or None
        Largest number of clusters that share a row; None for all.
    """

    laps: int = 100
    truncation: int = 25
    start: str = "kmeans++"
    tol: float = 0.01
    top: int | None = None

    may_change: ClassVar[tuple[str, ...]] = ("laps", "tol")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance("tol", self.tol)

    def batch_rows(self, n: int, n_features: int) -> int:
        """Return the number of rows of a batch, which only matters for memory."""
        return min(max(NUMBERS // max(n_features, 1), ROWS), n)

    def together(self, state: State, shards: Shards) -> int:
        """Return how many batches a step learns: all, if several places work in parallel."""
        return len(shards) if shards.width > 1 else 1

    def visit(
        self, model: Model, state: State, shards: Shards, keys: Sequence[int], rng: Generator
    ) -> tuple[State, Info]:
        """Sum batches; the posteriors change when the lap ends.   Consumes: state."""
        began, tally = time.perf_counter(), state.tally
        if "beliefs" not in state.derived:
            state.derived["beliefs"] = believe(model, tally.mass, tally.stats)
        task = SumBatches(model, tally.ids.copy(), state.derived["beliefs"], self.top)
        sums = shards.do(task, keys)
        new, before = sums.record(), state.memo.get("lap")
        if before is not None:
            new = {name: before[name] + new[name] for name in new}
        state.memo["lap"] = new
        return state, self.step_info(state, shards, keys, sums, began)

    def finished(self, state: State) -> bool:
        """Whether all laps are done, or the bound has converged."""
        return super().finished(state) or self.converged(state)

    def converged(self, state: State) -> bool:
        """Whether the last lap raised the bound by at most ``tol`` nats."""
        return self.settled(state, self.tol)

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: Generator
    ) -> tuple[State, Info]:
        """Make the global step; sorting clusters by size never lowers the bound.

        Consumes: state.
        """
        del batches, rng
        began = time.perf_counter()
        sums: Record = state.memo.pop("lap")
        state.derived.clear()
        tally = state.tally
        tally.mass[:], tally.extras["entropy"][:] = sums["mass"], sums["entropy"]
        tally.stats[:] = model.family.from_features(sums["sums"])
        state.latents["base"][:] = sums["base"]
        state.latents["dropped"][:] = 0.0  # all rows have been assigned again
        state.take(np.argsort(-tally.mass, kind="stable"))
        bound = self.bound(model, state)
        state.latents["bound"][:] = bound, state.latents["bound"][0]
        return state, Info(
            rows=0,
            clock=state.clock,
            K=state.tally.K,
            seconds=time.perf_counter() - began,
            lap=state.lap,
            scalars={"elbo": bound},
        )

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError unless there are the sums of the lap in progress, and no others."""
        del n_rows
        if set(state.memo) != ({"lap"} if state.at else set()):
            raise ValueError(f"wanted the sums of a lap that was begun, got {sorted(state.memo)}.")
        if state.at:
            K, F = state.tally.K, model.family.n_slopes
            shapes = {"sums": (K, F), "entropy": (K,), "base": (1,)}
            wanted = {name: Field(FLOAT, shape) for name, shape in shapes.items()}
            wanted["mass"] = Field(FLOAT, (K,), MASS)
            check_arrays("a lap", state.memo["lap"], wanted)
        if state.lap and np.any(np.diff(state.tally.mass) > 0):  # else of a saved model
            raise ValueError("the masses of clusters must be in order, the largest first.")
