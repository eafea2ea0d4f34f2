"""Stochastic variational Bayes: a step along the natural gradient after every batch.

References
----------
Hoffman, Blei, Wang, Paisley (2013). Stochastic variational inference.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from evermix._xp import Ints, host
from evermix.engines.batch import Batch, Info
from evermix.engines.bound import bound_of_rows
from evermix.engines.settings import check_number, check_whole
from evermix.engines.shards import Shards, as_shards
from evermix.engines.variational.base import SumBatches, SumBatchesUnlogged, Variational
from evermix.engines.variational.local import believe
from evermix.model import Model
from evermix.state import State


@dataclass(frozen=True)
class StochasticVB(Variational):
    """Noisy ascent on the evidence lower bound: the posteriors move after every batch.

    After batch t they move by the rate ``(t + delay) ** -kappa`` towards those of the batch alone,
    scaled up to all rows; the rate is proportional to the weight of the batch. The bound is that of
    the last lap, computed when the fit ends. Batches are consecutive rows: shuffle sorted data.

    Parameters
    ----------
    laps : int
        Passes over the data.
    batch_size : int
        Rows in a batch.
    delay : float
        Delay of the rate, >= 0: larger values weaken the first batches.
    kappa : float
        Decay of the rate, in [0.5, 1].
    truncation : int
        Number of clusters. Those that own no row are dropped when the fit ends.
    start : {"kmeans++", "random", "one"} or str
        Where the clusters start (see :class:`FullVB`).
    top : int or None
        Largest number of clusters that share a row; None for all.
    """

    laps: int = 20
    batch_size: int = 1000
    delay: float = 1.0
    kappa: float = 0.6
    truncation: int = 25
    start: str = "kmeans++"
    top: int | None = None

    reads_in_order: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("batch_size", self.batch_size)
        for name in ("delay", "kappa"):
            check_number(name, getattr(self, name))
        if not 0 <= self.delay < np.inf:
            raise ValueError(f"delay must be finite and >= 0, got {self.delay}.")
        if not 0.5 <= self.kappa <= 1:
            raise ValueError(f"kappa must lie in [0.5, 1], got {self.kappa}.")

    def batch_rows(self, n: int, n_features: int) -> int:
        """Return the number of rows of a batch, for n rows in all."""
        del n_features
        return min(self.batch_size, n)

    def initial(self, model: Model, rng: Generator) -> State:
        """Return the state before any data."""
        state = super().initial(model, rng)
        state.latents["steps"] = np.zeros(1, dtype=np.int64)
        state.latents["typical"] = np.zeros(1)  # average weight of a batch
        return state

    def begin(self, model: Model, state: State, batches: Sequence[Batch], rng: Generator) -> State:
        """Add the first clusters to a state."""
        state = super().begin(model, state, batches, rng)
        state.latents["typical"][:] = state.latents["weight"] / len(batches)
        return state

    def order(self, state: State, n: int) -> Ints:
        """Return the order (n,) in which this lap takes the n batches, at random."""
        return np.random.default_rng([state.latents["seed"][0], state.lap]).permutation(n)

    def visit(
        self, model: Model, state: State, shards: Shards, keys: Sequence[int], rng: Generator
    ) -> tuple[State, Info]:
        """Move along the natural gradient of batches.   Consumes: state."""
        del rng
        began, tally = time.perf_counter(), state.tally
        beliefs = believe(model, tally.mass, tally.stats)
        sums = shards.do(SumBatchesUnlogged(model, tally.ids.copy(), beliefs, self.top), keys)
        weight = sum(float(host(shards.weights_of(key)).sum()) for key in keys)
        if weight > 0:
            state.latents["steps"] += 1
            rate = float((state.latents["steps"][0] + self.delay) ** -self.kappa)
            # The rate grows with the weight, else rows of light batches would count for more.
            rate = min(rate * weight / float(state.latents["typical"][0]), 1.0)
            all_rows = float(state.latents["weight"][0]) / weight
            stats = model.family.from_features(sums.sums)
            tally.mass[:] += rate * (all_rows * sums.mass - tally.mass)
            tally.stats[:] += rate * (all_rows * stats - tally.stats)
            state.latents["dropped"] *= 1.0 - rate
        return state, self.step_info(state, shards, keys, sums, began)

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: Generator
    ) -> tuple[State, Info]:
        """Compute the bound, if this was the last lap.   Consumes: state."""
        del rng
        began = time.perf_counter()
        scalars = {}
        if state.lap + 1 >= self.laps:
            bound = self._bound(model, state, batches)
            state.latents["bound"][:] = bound, state.latents["bound"][0]
            scalars["elbo"] = bound
        return state, Info(
            rows=0,
            clock=state.clock,
            K=state.tally.K,
            seconds=time.perf_counter() - began,
            lap=state.lap,
            scalars=scalars,
        )

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError if there are records of the data."""
        super().check_memo(model, state, n_rows)
        if (state.latents["typical"][0] > 0) != (state.latents["weight"][0] > 0):
            raise ValueError(
                "the average weight of a batch must be positive if and only if that of all rows is."
            )

    def _bound(self, model: Model, state: State, batches: Sequence[Batch]) -> float:
        """Return the bound of the present posteriors, from all rows."""
        shards, tally = as_shards(batches, state.memo), state.tally
        beliefs = believe(model, tally.mass, tally.stats)
        task = SumBatches(model, tally.ids.copy(), beliefs, self.top)
        sums = shards.do(task, range(len(shards)))
        return bound_of_rows(model, tally.mass, tally.stats, sums.log_norm, sums.base)
