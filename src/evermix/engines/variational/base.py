"""What variational engines share: settings, starts, the local step of a batch, the bound.

Beliefs about the clusters are those that a tally makes: the posterior of its statistics, and sticks
broken by its masses in its order. The entropy of the responsibilities is the tally's extra.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from evermix._xp import Array, doubled, host
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info, weights_of
from evermix.engines.memo import check_numbers
from evermix.engines.settings import check_whole
from evermix.engines.shards import Only, Said, Shard, Shards, Task, placed
from evermix.engines.variational.bound import lower_bound
from evermix.engines.variational.local import Beliefs, Summary, summarise
from evermix.engines.variational.moves.sample import draw_rows
from evermix.engines.variational.seeding import seed
from evermix.model import Model
from evermix.priors import DP
from evermix.priors.base import HasSticks, Prior
from evermix.state import Record, State
from evermix.tally import Tally

STARTS = ("one", "kmeans++", "random")
ROWS_PER_CLUSTER, LEAST_ROWS = 100, 10_000  # rows that a start looks at


class Variational(Engine):
    """An engine that raises a lower bound on the evidence (ELBO)."""

    laps: int
    truncation: int
    start: str
    top: int | None

    needs: ClassVar = (HasSticks,)
    foreign: ClassVar = True
    divides: ClassVar = True
    rereads: ClassVar = True
    not_mergeable: ClassVar = None
    may_change: ClassVar[tuple[str, ...]] = ("laps",)

    @classmethod
    def default_prior(cls) -> Prior:
        """Return the prior where none is asked for: an NGGP has no sticks."""
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

    def initial(self, model: Model, rng: np.random.Generator) -> State:
        """Return the state before any data."""
        tally = Tally.empty(model.family.n_stats, ("entropy",), model.family.layout)
        latents = {
            "dropped": np.zeros(1),
            "seed": rng.integers(2**63 - 1, size=1),
            "bound": np.full(2, -np.inf),  # of this lap, and of the one before
            "base": np.zeros(1),
            "weight": np.zeros(1),
            "capped": np.zeros(1),
        }
        return State(tally, {}, latents)

    def begin(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> State:
        """Put the first clusters into a state; those of a saved model are there already."""
        if state.latents["weight"][0] > 0:  # an interrupt came between here and the first batch
            return state
        family, K = model.family, self.truncation
        if model.max_clusters is not None:
            K = min(K, model.max_clusters)
        total = sum(float(host(weights_of(batches, k)).sum()) for k in range(len(batches)))
        if state.tally.K:
            state.tally = state.tally.scaled(total / state.tally.mass.sum())
            state.latents["weight"][0] = total
            return state
        if self.start == "one":
            K = 1
        shards = placed(batches, state.memo)
        sample = draw_rows(family, shards, max(LEAST_ROWS, ROWS_PER_CLUSTER * K), rng)
        nearest = np.zeros(len(sample), dtype=np.int64)
        if K > 1:
            nearest = seed(sample, K, rng, spread=self.start != "random")
        weights = sample.weights * (total / sample.weights.sum())
        owned = sparse.csr_array((weights, (nearest, np.arange(len(sample)))), (K, len(sample)))
        sums = owned @ sample.features
        state.append(np.array([state.lineage.birth(0) for _ in range(K)]))
        state.tally.mass[:] = owned.sum(axis=1)
        state.tally.stats[:] = family.from_features(sums.toarray() if family.sparse else sums)
        state.take(np.argsort(-state.tally.mass, kind="stable"))
        state.latents["weight"][0] = total  # last: what fails before this can begin anew
        return state

    # ---- batches ---------------------------------------------------------------------------

    def step(
        self, model: Model, state: State, batch: Batch, rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Visit one batch, which is here.   Consumes: state."""
        return self.visit(model, state, Shard(Only(batch), state.memo), [batch.key], rng)

    def told(
        self, state: State, shards: Shards, keys: Sequence[int], sums: "Sums", began: float
    ) -> Info:
        """Return what a step brought.   Consumes: state."""
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

        It is exact once every batch has been visited.
        """
        tally = state.tally
        entropy, base = tally.extras["entropy"], float(state.latents["base"][0])
        return lower_bound(model, tally.mass, tally.stats, entropy, base)

    def lower_bound(self, state: State) -> float:
        """Return the bound of the last whole lap; -inf if it is not known."""
        return float(state.latents["bound"][0])

    def progress(self, state: State) -> dict[str, Any]:
        """Return the laps made and the bound, which is None in the first lap."""
        bound = self.lower_bound(state)
        return super().progress(state) | {"elbo": bound if math.isfinite(bound) else None}

    def for_scoring(self, model: Model, state: State) -> State:
        """Return the state with the family's columns, which laps do without."""
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
        """Whether the last lap has raised the bound by no more than ``tol`` nats."""
        now, before = state.latents["bound"]
        return bool(state.lap > 1 and now - before <= tol)

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError unless the numbers that all laps rely on can be."""
        del model, n_rows
        check_numbers(state, ("dropped", "base", "weight"), ("weight",))

    def log_weights(self, model: Model, state: State) -> Array:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one."""
        assert isinstance(model.prior, HasSticks)  # `needs` says so
        return model.prior.log_stick_weights(state.tally.mass)


class Sums(NamedTuple):
    """What batches say in all."""

    mass: Array  # (K,)
    sums: Array  # (K, F) of features
    entropy: Array  # (K,)
    base: float  # sum of the log base measure
    log_norm: float  # sum of the log normalisers

    @property
    def log_predictive(self) -> float:
        """Sum of the log predictive densities."""
        return self.base + self.log_norm

    @classmethod
    def added(cls, several: Iterable["Sums"]) -> "Sums":
        """Return the sums of sums."""
        return reduce(lambda a, b: cls(*(x + y for x, y in zip(a, b, strict=True))), several)

    def record(self) -> Record:
        """Return the sums over rows as named arrays."""
        base = np.full(1, self.base)
        return {"mass": self.mass, "sums": self.sums, "entropy": self.entropy, "base": base}


@dataclass(frozen=True)
class SumUp(Task[Sums]):
    """Share the rows of batches among clusters, and sum up.

    Attributes
    ----------
    model : Model
    ids : int64 array (K,)
        The clusters.
    beliefs : Beliefs
        What is believed of them.
    top : int or None
        Share each row among at most so many.
    """

    writes: ClassVar = True  # what it says of rows
    anew: ClassVar = True

    model: Model
    ids: Array
    beliefs: Beliefs
    top: int | None = None

    def of(self, shard: Shard, key: int) -> Sums:
        """Sum up one batch."""
        batch = shard[key]
        summary = summarise(self.model, self.beliefs, batch, top=self.top)
        base, log_norm = noted(shard, self.model, self.ids, batch, summary)
        return Sums(summary.mass, summary.sums, summary.entropy, base, log_norm)

    def joined(self, answers: Iterable[Sums]) -> Sums:
        """Return the sums of sums."""
        return Sums.added(answers)


@dataclass(frozen=True)
class Glance(SumUp):
    """Sum up batches that will be looked at again before anybody asks about their rows."""

    writes: ClassVar = False


def noted(
    shard: Shard, model: Model, ids: Array, batch: Batch, summary: Summary
) -> tuple[float, float]:
    """Note what a summary says of each row; return the sums of base measures and normalisers."""
    shard.said[batch.key] = Said(ids, summary.owner, summary.share, summary.log_norm)
    weights, base = batch.weights, shard.base(model, batch)
    weights = doubled(weights)  # sums over all rows
    return float(weights @ doubled(base)), float(weights @ doubled(summary.log_norm))
