"""What variational engines share: settings, starts, the local step of a batch, the bound.

Beliefs about the clusters are those that a tally makes: the posterior of its statistics, and sticks
broken by its masses in its order. The entropy of the responsibilities is the tally's extra.
"""

import time
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy import sparse

from evermix._xp import Array, host
from evermix.engines.base import Batch, Engine, Info, RowResults, weights_of
from evermix.engines.bound import lower_bound
from evermix.engines.local import NO_PLAN, Plan, Summary, believe, summarise
from evermix.engines.memo_checks import check_numbers
from evermix.engines.moves.sample import draw_rows
from evermix.engines.seeding import seed
from evermix.engines.settings import check_whole
from evermix.model import Model
from evermix.priors.base import HasSticks
from evermix.state import State
from evermix.tally import Tally

__all__ = ["STARTS", "Variational"]

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
        state.latents["weight"][0] = total
        if state.tally.K:
            state.tally = state.tally.scaled(total / state.tally.mass.sum())
            return state
        if self.start == "one":
            K = 1
        sample = draw_rows(family, batches, max(LEAST_ROWS, ROWS_PER_CLUSTER * K), rng)
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
        return state

    # ---- a batch ---------------------------------------------------------------------------

    def summarise(self, model: Model, tally: Tally, batch: Batch, plan: Plan = NO_PLAN) -> Summary:
        """Return what a batch says, given the clusters of a tally; changes nothing."""
        return summarise(model, believe(model, tally.mass, tally.stats), batch, plan, self.top)

    def told(
        self, model: Model, state: State, batch: Batch, summary: Summary, began: float
    ) -> Info:
        """Return what a step brought."""
        log_norm = summary.log_norm + host(model.family.log_base(batch.X))
        n = len(summary.owner)
        results = RowResults(
            state.tally.ids[summary.owner], summary.share, log_norm, np.zeros(n, dtype=bool)
        )
        return Info(
            rows=n,
            clock=state.clock,
            K=state.tally.K,
            log_predictive=float(host(batch.weights) @ log_norm),
            seconds=time.perf_counter() - began,
            results=results,
            lap=state.lap,
        )

    # ---- the bound -------------------------------------------------------------------------

    def bound(self, model: Model, state: State) -> float:
        """Return the lower bound on the log evidence of all rows, constants included.

        It is exact once every batch has been visited.
        """
        tally = state.tally
        entropy, base = tally.extras["entropy"], float(state.latents["base"][0])
        return lower_bound(model, tally.mass, tally.stats, entropy, base)

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
