"""Filters: engines that learn rows one by one, each from what is known of the rows before it."""

import time
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from evermix._xp import Array, Floats, Ints
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info, RowResults, cap_of, warn_of_many, warn_once
from evermix.engines.filters.assignment import (
    AssignmentRule,
    Soft,
    StepRows,
    learn_row,
    name_births,
)
from evermix.engines.filters.keeping import fade_rows
from evermix.engines.filters.last_pass import LastPass
from evermix.engines.merging.stream import join
from evermix.engines.prune import prune
from evermix.engines.run import record_times
from evermix.engines.settings import check_number
from evermix.kernels.engines import adf as kernels
from evermix.kernels.weights import MODE, QUADRATURE, new_weight
from evermix.model import Model
from evermix.priors.base import GibbsScalars, GibbsType, HasPredictive, occupancy
from evermix.state import Lineage, State
from evermix.tally import Tally

CHECK_EVERY = 1000  # observations between two rounds of pruning, joining and rebuilding of caches
IDLE = 10  # observations per cluster after which dust that no row has joined is dropped
PASS = "pass"  # the key of LastPass among the derived values of a state


class Filter(Engine):
    """An engine that learns rows one by one, by default in one pass.

    Filters differ in how they assign rows: see :attr:`assignment`.
    """

    merge: float | None

    needs: ClassVar[tuple[type, ...]] = (HasPredictive,)
    streams: ClassVar[bool] = True
    forgets: ClassVar[bool] = True
    by_hand: ClassVar[bool] = True
    not_mergeable: ClassVar[str | None] = None

    @property
    def birth(self) -> float:
        """The responsibility above which a new cluster is opened."""
        return 0.0

    @property
    def rule(self) -> str:
        """Predictive weights of clusters: "expected" is exact for hard assignments."""
        return "expected"

    @property
    def assignment(self) -> AssignmentRule:
        """The rule by which rows are assigned to clusters."""
        return Soft(self.birth)

    def __post_init__(self) -> None:
        check_number("birth", self.birth)
        if self.merge is not None:
            check_number("merge", self.merge)
        if not 0 <= self.birth < 1:
            raise ValueError(f"birth must lie in [0, 1), got {self.birth}.")
        if self.rule not in ("expected", "paper"):
            raise ValueError(f"rule must be 'expected' or 'paper', got {self.rule!r}.")
        if self.merge is not None and not self.merge >= 0:
            raise ValueError(f"merge must be >= 0 nats or None, got {self.merge}.")

    @property
    def merge_threshold(self) -> float:
        """Log odds above which clusters are fused."""
        return float(self.merge or 0.0)

    @property
    def paper(self) -> bool:
        """Whether the published rule is used."""
        return self.rule == "paper"

    def check(self, model: Model) -> None:
        """Raise if this engine cannot work with the model."""
        super().check(model)
        if not self.paper:
            return
        if not isinstance(model.prior, GibbsType):
            raise TypeError(
                "rule='paper' needs a Gibbs-type prior (DP, NGGP, PitmanYor), got "
                f"{type(model.prior).__name__}. Use rule='expected'."
            )
        sigma = model.prior.scalars().sigma
        if self.birth < sigma:
            raise ValueError(
                f"rule='paper' needs birth >= sigma, got birth={self.birth} and sigma={sigma}: "
                "a cluster of mass below sigma would have no weight and never grow. "
                f"Use birth={sigma} or rule='expected'."
            )

    def check_weights(self, model: Model, weights: Floats) -> None:
        """Raise ValueError if the published rule could open a cluster that has no weight."""
        if not self.paper:
            return
        assert isinstance(model.prior, GibbsType)  # `check` ensures it
        sigma = model.prior.scalars().sigma
        positive = weights[weights > 0]
        if len(positive) and positive.min() * self.birth < sigma:
            raise ValueError(
                "rule='paper' needs sample weights of 0 or at least sigma / birth = "
                f"{sigma / self.birth:g}, got {positive.min():g}: a cluster of mass below sigma "
                "would have no weight and never grow. Use rule='expected'."
            )

    def initial(self, model: Model, rng: Generator) -> State:
        """Return the state before any data."""
        del rng
        assert isinstance(model.prior, HasPredictive)  # `needs` ensures it
        tally = Tally.empty(model.family.n_stats, model.prior.extras, model.family.layout)
        columns = {
            "last_seen": np.zeros(tally.capacity, dtype=np.int64),
            "judged": np.zeros(tally.capacity),  # mass when merges were last considered
            **model.family.columns(tally),
        }
        latents = {"dropped": np.zeros(1), "new_weight": np.zeros(3), "capped": np.zeros(1)}
        return State(tally, columns, latents)

    def continued(self, model: Model, tally: Tally, before: State) -> State:
        """Return a state that goes on from clusters that another engine has learnt.

        Ids, lineage and clock are those of the state ``before``, which gives them away.
        """
        state = self.initial(model, np.random.default_rng(0))  # nothing is drawn
        state.lookback = None  # there are no rows of these clusters
        state.append(tally.ids)
        state.tally.mass[:], state.tally.stats[:] = tally.mass, tally.stats
        state.tally.extras["hard"][:] = tally.mass
        state.columns["last_seen"][: tally.K] = before.clock
        if before.lineage.last:  # a model that forgets, and rows since then were not seen twice
            state.columns["last_seen"][: tally.K] = _last_seen(before, tally.ids)
        state.columns |= model.family.columns(state.tally)
        state.lineage, state.clock = before.lineage, before.clock
        state.now, state.faded = before.now, before.faded
        if state.lineage.next_id <= tally.ids.max(initial=-1):  # draws have names of their own
            state.lineage = Lineage()
            for _ in range(int(tally.ids.max()) + 1):
                state.lineage.birth(state.clock)
        return state

    def log_weights(self, model: Model, state: State) -> Floats:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one."""
        prior, mass = model.prior, state.tally.mass
        occupied = occupancy(mass, state.tally.extras)
        if not self.paper:
            assert isinstance(prior, HasPredictive)  # `needs` ensures it
            return prior.log_weights(mass, occupied)
        assert isinstance(prior, GibbsType)  # `check` ensures it
        kind, a, sigma, tau = self.scalars(prior)
        new = new_weight(kind, a, sigma, tau, mass.sum(), occupied.sum()) if len(mass) else 1.0
        least = np.where(mass > 0, kernels.DEAD, 0.0)
        weights = np.append(np.maximum(mass - sigma, least), new)
        with np.errstate(divide="ignore"):
            return np.log(weights / weights.sum())

    def likeliest(self, model: Model, state: State, X: Array) -> int | None:
        """Return the id of the most probable cluster of one row, if the last pass can tell it."""
        if type(self).log_weights is not Filter.log_weights:  # a pass knows only these
            return None
        last = self._last_pass(model, state)
        if last is None:
            return None
        try:
            slot = last.best(model.family.rows(X), state.tally.K)
        finally:
            last.release()
        return None if slot < 0 else int(state.tally.id_buffer[slot])

    # ---- one pass --------------------------------------------------------------------------

    def step(self, model: Model, state: State, batch: Batch, rng: Generator) -> tuple[State, Info]:
        """Learn one batch.   Consumes: state."""
        began, before, n = time.perf_counter(), state.clock, len(batch.weights)
        if n == 1 and (info := self._step_of_one(model, state, batch, rng)) is not None:
            return state, info
        self.check_weights(model, batch.weights)
        results = RowResults.empty(n)
        compiled = isinstance(model.prior, GibbsType)
        learn = self._learn_compiled if compiled else self._learn_by_arrays
        rows = model.family.rows(batch.X) if compiled else batch.X
        uniforms = self.assignment.uniforms(batch.weights, rng)
        step = StepRows(rows, batch.weights, uniforms, results)
        dropped: list[int] = []
        merges: list[tuple[int, int]] = []
        first_id, at = state.lineage.next_id, 0
        while at < n:
            at, why = learn(model, state, step, at)
            if why == kernels.CHECK:
                record_times(state, before, batch)  # clusters may end now
                gone, fused = self.tidy(model, state)
                dropped, merges = dropped + gone, merges + fused
                warn_of_many(model, state)
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

    def _step_of_one(self, model: Model, state: State, batch: Batch, rng: Generator) -> Info | None:
        """Learn one row as :meth:`step` does, in half of the time, where only the loop has to run.

        Returns None if there is more to do.   Consumes: state.
        """
        began, tally = time.perf_counter(), state.tally
        due = (state.clock + 1) % CHECK_EVERY == 0
        if due or self.paper or tally.K + 2 > tally.capacity:
            return None
        last = self._last_pass(model, state)
        if last is None:
            return None
        try:
            results, first_id = RowResults.empty(1), len(state.lineage.born)
            uniforms = last.rule.uniforms(batch.weights, rng)
            step = StepRows(model.family.rows(batch.X), batch.weights, uniforms, results)
            _, tally.K, state.clock, refused, _ = last.run(step, tally.K, 0)
        finally:
            last.release()
        name_births(state, results, batch.weights, slice(0, 1))
        if refused:
            warn_once(model, state)
        results.log_predictive[0] += model.family.log_base(batch.X)[0]
        return Info(
            rows=1,
            clock=state.clock,
            K=tally.K,
            births=list(range(first_id, len(state.lineage.born))),
            log_predictive=float(results.log_predictive[0]),
            seconds=time.perf_counter() - began,
            results=results,
        )

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: Generator
    ) -> tuple[State, Info]:
        """Drop what is more likely empty than not, and join once more.   Consumes: state."""
        del batches, rng
        dropped = prune(state, faded=model.forgetting is not None)
        merges = self.join_similar(model, state)
        info = Info(rows=0, clock=state.clock, K=state.tally.K, dropped=dropped, merges=merges)
        return state, info

    def tidy(self, model: Model, state: State) -> tuple[list[int], list[tuple[int, int]]]:
        """Drop dust and what has faded, and join similar clusters.   Consumes: state.

        In models that do not forget, clusters are joined at clocks that double.
        """
        forgets = model.forgetting is not None
        dropped = prune(state, IDLE, faded=forgets)
        if forgets or (state.clock // CHECK_EVERY).bit_count() == 1:
            return dropped, self.join_similar(model, state)
        state.columns |= model.family.columns(state.tally)
        return dropped, []

    def fade(self, model: Model, state: State, factor: float) -> None:
        """Scale all statistics by ``factor``, at most 1.   Consumes: state.

        Of pinned clusters the weight of a row is left.
        """
        tally = state.tally
        held = state.lineage.hand.pins(tally.ids) & (factor * tally.mass < 1.0)
        for values in (tally.mass, tally.stats, *tally.extras.values()) if held.any() else ():
            values[held] /= factor
        super().fade(model, state, factor)
        fade_rows(state, factor)
        state.derived.pop(PASS, None)
        nothing = state.tally.mass < kernels.DEAD  # or else a row might find no cluster at all
        state.tally.mass[nothing] = state.tally.extras["hard"][nothing] = kernels.DEAD
        state.columns["judged"] *= factor  # so that merges are considered again

    # ---- also for filters that revisit rows -------------------------------------------------

    def scalars(self, prior: GibbsType) -> GibbsScalars:
        """Return the prior's scalars; the published rule plugs in the mode of log U."""
        scalars = prior.scalars()
        if self.paper and scalars.kind == QUADRATURE:
            return scalars._replace(kind=MODE)
        return scalars

    def filter_data(self, model: Model, state: State) -> kernels.FilterData:
        """Return the state's buffers for the kernels, with predictive weights up to date."""
        assert isinstance(model.prior, GibbsType)  # else there is no compiled loop
        tally, scalars = state.tally, self.scalars(model.prior)
        clusters = kernels.ClusterBuffers(
            tally.mass_buffer, **tally.extra_buffers, last_seen=state.columns["last_seen"]
        )
        scratch = kernels.FilterScratch(*np.empty((4, tally.capacity)))
        kernels.reweigh_all(tally.K, scalars.sigma, self.paper, clusters, scratch)
        return kernels.FilterData(
            model.family.workspace(tally, state.columns),
            scalars,
            clusters,
            scratch,
            state.latents["new_weight"],
            kernels.FilterSettings(float(self.birth), self.paper, cap_of(model), CHECK_EVERY),
        )

    def maintenance_due(self, state: State) -> bool:
        """Whether caches and similar clusters are due for a check."""
        return state.clock % CHECK_EVERY == 0

    def join_similar(self, model: Model, state: State) -> list[tuple[int, int]]:
        """Join similar clusters, unless ``merge`` is None or reviews do it; rebuild all caches.

        Consumes: state.
        """
        merges: list[tuple[int, int]] = []
        if self.merge is not None and state.lookback is None:
            merges = join(model, state, self.merge)
        state.columns |= model.family.columns(state.tally)
        return merges

    # ---- inside ----------------------------------------------------------------------------

    def _learn_compiled(
        self, model: Model, state: State, step: StepRows, start: int
    ) -> tuple[int, int]:
        """Learn rows with the compiled loop, until they end or maintenance is due.

        Returns the next row, and why the loop stopped.
        """
        at, refused, why = start, False, kernels.ROOM
        tally = state.tally
        if tally.K + 2 > tally.capacity:
            state.reserve(tally.K + 2)
        while why == kernels.ROOM:
            last = self._last_pass(model, state) or self._new_pass(model, state)
            try:
                at, tally.K, state.clock, capped, why = last.run(step, tally.K, at)
            finally:
                last.release()
            refused |= capped
            if why == kernels.ROOM:
                state.reserve(2 * tally.capacity)
        name_births(state, step.results, step.weights, slice(start, at))
        if refused:
            warn_once(model, state)
        return at, why

    def _last_pass(self, model: Model, state: State) -> LastPass | None:
        """Take the last pass, if nothing else has changed the clusters since and nobody uses it."""
        last: LastPass | None = state.derived.get(PASS)
        taken = last is not None and last.take(self._sources(model, state), state.clock)
        return last if taken else None

    def _new_pass(self, model: Model, state: State) -> LastPass:
        """Take a pass with newly derived data, which becomes the last one."""
        sources = self._sources(model, state)
        data = self.filter_data(model, state)
        last = LastPass(sources, state.clock, data, self.assignment)
        last.take(sources, state.clock)
        state.derived[PASS] = last
        return last

    def _sources(self, model: Model, state: State) -> tuple[Any, ...]:
        """Return what the data of a pass are made from; whatever changes clusters makes it anew."""
        tally, last_weight = state.tally, state.latents["new_weight"]
        buffers = tally.mass_buffer, tally.stats_buffer, last_weight
        return (self, model, tally, *buffers, *state.columns.values())

    def _learn_by_arrays(
        self, model: Model, state: State, step: StepRows, start: int
    ) -> tuple[int, int]:
        """Learn rows with array maths, until they end or maintenance is due."""
        for i in range(start, len(step.weights)):
            log_weights = self.log_weights(model, state)
            q = learn_row(model, state, self.assignment, log_weights, step, i)
            if len(q) and self.maintenance_due(state):
                return i + 1, kernels.CHECK
        return len(step.weights), kernels.DONE


def _last_seen(state: State, ids: Ints) -> Ints:
    """Return when clusters were last seen, (K,); those that are new as those they came from."""
    seen = dict(zip(state.tally.ids.tolist(), state.columns["last_seen"].tolist(), strict=False))
    parents = state.lineage.parents
    known = [seen.get(id, seen.get(parents.get(id, -1), state.clock)) for id in ids.tolist()]
    return np.array(known, dtype=np.int64)
