"""The common part of variational engines: settings, starts, sums over batches, the bound.

The variational posteriors of the clusters follow from a tally: the posterior of its statistics, and
sticks by its masses in its order. The entropy of the responsibilities is an extra of the tally.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy import sparse

from evermix._xp import Floats, Ints, doubled, host
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info, weights_of
from evermix.engines.bound import lower_bound
from evermix.engines.seeding import draw_rows, seed
from evermix.engines.settings import check_whole
from evermix.engines.shards import PendingResults, Shard, Shards, SingleBatch, Task, as_shards
from evermix.engines.variational.local import Beliefs, Summary, summarise
from evermix.model import Model
from evermix.priors import DP
from evermix.priors.base import HasSticks, Prior
from evermix.state import Record, State
from evermix.tally import Tally

STARTS = ("one", "kmeans++", "random")
ROWS_PER_CLUSTER, MIN_ROWS = 100, 10_000  # in the sample for a start


class Variational(Engine):
    """An engine that raises a lower bound on the evidence (ELBO)."""

    laps: int
    truncation: int
    start: str
    top: int | None

    needs: ClassVar[tuple[type, ...]] = (HasSticks,)
    foreign: ClassVar[bool] = True
    divides: ClassVar[bool] = True
    rereads: ClassVar[bool] = True
    not_mergeable: ClassVar[str | None] = None
    may_change: ClassVar[tuple[str, ...]] = ("laps",)

    @classmethod
    def default_prior(cls) -> Prior:
        """Return the prior that is used if the user gives none: an NGGP has no sticks."""
        return DP()

    def __post_init__(self) -> None:
        check_whole("laps", self.laps)
        check_whole("truncation", self.truncation)
        if self.top is not None:
            check_whole("top", self.top)
        if not isinstance(self.start, str):
            raise TypeError(
                f"start must be one of {', '.join(STARTS)} or the path of a saved model, got "
                f"{self.start!r}."
            )

    # ---- before the first lap --------------------------------------------------------------

    def initial(self, model: Model, rng: Generator) -> State:
        """Return the state before any data."""
        tally = Tally.empty(model.family.n_stats, ("entropy",), model.family.layout)
        latents = {
            "dropped": np.zeros(1),
            "seed": rng.integers(2**63 - 1, size=1),
            "bound": np.full(2, -np.inf),  # of the last lap, and of the one before
            "base": np.zeros(1),
            "weight": np.zeros(1),
            "capped": np.zeros(1),
        }
        return State(tally, {}, latents)

    def begin(self, model: Model, state: State, batches: Sequence[Batch], rng: Generator) -> State:
        """Add the first clusters to a state, unless it has those of a saved model."""
        if state.latents["weight"][0] > 0:  # an interrupt came before the first batch
            return state
        total = sum(float(host(weights_of(batches, k)).sum()) for k in range(len(batches)))
        if state.tally.K:
            state.tally = state.tally.scaled(total / state.tally.mass.sum())
            state.latents["weight"][0] = total
            return state
        mass, stats = self.first(model, as_shards(batches, state.memo), total, rng)
        state.append(np.array([state.lineage.birth(0) for _ in mass]))
        state.tally.mass[:], state.tally.stats[:] = mass, stats
        state.take(np.argsort(-state.tally.mass, kind="stable"))
        state.latents["weight"][0] = total  # last: if anything fails before, it can be repeated
        return state

    def first(
        self, model: Model, shards: Shards, total: float, rng: Generator
    ) -> tuple[Floats, Floats]:
        """Return masses (K,), of this total, and statistics (K, S) of the first clusters."""
        family, K = model.family, 1 if self.start == "one" else self.truncation
        if model.max_clusters is not None:
            K = min(K, model.max_clusters)
        sample = draw_rows(family, shards, max(MIN_ROWS, ROWS_PER_CLUSTER * K), rng)
        nearest = np.zeros(len(sample), dtype=np.int64)
        if K > 1:
            nearest = seed(sample, K, rng, spread=self.start != "random")
        weights = sample.weights * (total / sample.weights.sum())
        owned = sparse.csr_array((weights, (nearest, np.arange(len(sample)))), (K, len(sample)))
        sums = owned @ sample.features
        mass = np.asarray(owned.sum(axis=1), dtype=np.float64)
        return mass, family.from_features(sums.toarray() if family.sparse else sums)

    # ---- batches ---------------------------------------------------------------------------

    def step(self, model: Model, state: State, batch: Batch, rng: Generator) -> tuple[State, Info]:
        """Learn one batch, in this process.   Consumes: state."""
        return self.visit(model, state, Shard(SingleBatch(batch), state.memo), [batch.key], rng)

    def step_info(
        self, state: State, shards: Shards, keys: Sequence[int], sums: "BatchSums", began: float
    ) -> Info:
        """Advance the clock, and return the information on a step.   Consumes: state."""
        weights = [host(shards.weights_of(key)) for key in keys]
        state.clock += sum(int(np.count_nonzero(some)) for some in weights)
        return Info(
            rows=sum(len(some) for some in weights),
            clock=state.clock,
            K=state.tally.K,
            log_predictive=sums.log_predictive,
            seconds=time.perf_counter() - began,
            lap=state.lap,
            batches=len(keys),
        )

    # ---- the bound -------------------------------------------------------------------------

    def bound(self, model: Model, state: State) -> float:
        """Return the lower bound on the log evidence of all rows, constants included.

        It is exact once every batch has been learnt.
        """
        tally = state.tally
        entropy, base = tally.extras["entropy"], float(state.latents["base"][0])
        return lower_bound(model, tally.mass, tally.stats, entropy, base)

    def lower_bound(self, state: State) -> float:
        """Return the bound of the last whole lap; -inf if it is not known."""
        return float(state.latents["bound"][0])

    def progress(self, state: State) -> dict[str, Any]:
        """Return the laps made, the bound, and what the last lap has added to it; None: unknown."""
        bound = self.lower_bound(state)
        found = {"elbo": bound, "last_gain": bound - float(state.latents["bound"][1])}
        known = {name: value if math.isfinite(value) else None for name, value in found.items()}
        return super().progress(state) | known

    def for_scoring(self, model: Model, state: State) -> State:
        """Return the state with the family's columns, which laps do not need."""
        return replace(state, columns=model.family.columns(state.tally))

    def start_file(self) -> str | None:
        """Return the path of a saved model whose clusters a fit starts from, or None."""
        if self.start in STARTS:
            return None
        if not Path(self.start).is_file():
            names = ", ".join(repr(name) for name in STARTS)
            raise ValueError(
                f"start must be {names} or the path of a saved model, got {self.start!r}."
            )
        return self.start

    @property
    def max_laps(self) -> int:
        """The largest number of laps."""
        return self.laps

    def finished(self, state: State) -> bool:
        """Whether all laps are done."""
        return state.lap >= self.laps

    def settled(self, state: State, tol: float) -> bool:
        """Whether the last lap raised the bound by at most ``tol`` nats."""
        now, before = state.latents["bound"]
        return bool(state.lap > 1 and now - before <= tol)

    def log_weights(self, model: Model, state: State) -> Floats:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one."""
        assert isinstance(model.prior, HasSticks)  # `needs` ensures it
        return model.prior.log_stick_weights(state.tally.mass)


class BatchSums(NamedTuple):
    """BatchSums over the rows of batches."""

    mass: Floats  # (K,)
    sums: Floats  # (K, F) of features
    entropy: Floats  # (K,)
    base: float  # sum of the log base measure
    log_norm: float  # sum of the log normalisers

    @property
    def log_predictive(self) -> float:
        """Sum of the log predictive densities."""
        return self.base + self.log_norm

    @classmethod
    def added(cls, several: Iterable["BatchSums"]) -> "BatchSums":
        """Return the sums of sums."""

        def plus(a: tuple[Any, ...], b: tuple[Any, ...]) -> BatchSums:
            return cls(*(x + y for x, y in zip(a, b, strict=True)))

        return reduce(plus, several)

    def record(self) -> Record:
        """Return the sums as named arrays."""
        base = np.full(1, self.base)
        return {"mass": self.mass, "sums": self.sums, "entropy": self.entropy, "base": base}


@dataclass(frozen=True)
class SumBatches(Task[BatchSums]):
    """Compute responsibilities for the rows of batches, and sums over them."""

    writes: ClassVar[bool] = True  # the results of rows
    anew: ClassVar[bool] = True

    model: Model
    ids: Ints  # (K,) the clusters
    beliefs: Beliefs  # their variational posteriors
    top: int | None = None  # largest number of clusters that share a row

    def of(self, shard: Shard, key: int) -> BatchSums:
        """Sum up one batch."""
        batch = shard[key]
        summary = summarise(self.model, self.beliefs, batch, top=self.top)
        base, log_norm = store_results(shard, self.model, self.ids, batch, summary)
        return BatchSums(summary.mass, summary.sums, summary.entropy, base, log_norm)

    def joined(self, answers: Iterable[BatchSums]) -> BatchSums:
        """Return the sums of sums."""
        return BatchSums.added(answers)


@dataclass(frozen=True)
class SumBatchesUnlogged(SumBatches):
    """The same for batches that are learnt again before the results of their rows are read."""

    writes: ClassVar[bool] = False


def store_results(
    shard: Shard, model: Model, ids: Ints, batch: Batch, summary: Summary
) -> tuple[float, float]:
    """Store the results of rows; return the sums of log base measures and of log normalisers."""
    shard.pending[batch.key] = PendingResults(ids, summary.owner, summary.share, summary.log_norm)
    weights, base = batch.weights, shard.base(model, batch)
    weights = doubled(weights)  # sums over all rows
    return float(weights @ doubled(base)), float(weights @ doubled(summary.log_norm))
