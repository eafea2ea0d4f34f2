"""Expectation propagation for normalized random measure mixtures: as many laps as it takes.

Every row is removed from its clusters and learnt again given all other rows. The contribution of a
row, its *site*, is stored sparsely, so memory does not grow as rows times clusters.

References
----------
Tank, Foti, Fox (2015). Streaming variational inference for Bayesian nonparametric mixture models.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from evermix._xp import Bools, Floats, Ints
from evermix.engines.batch import ROWS, Batch, Info, RowResults, cap_of, warn_once
from evermix.engines.ep.parallel import SumSites, UpdateBatches, commit, snapshot
from evermix.engines.ep.review import reviewed
from evermix.engines.ep.sites import check_sites, entropy_lost, no_sites, to_record, to_sites
from evermix.engines.ep.updates import EPBatch, update_sites
from evermix.engines.filters.filter import CHECK_EVERY, IDLE, Filter
from evermix.engines.filters.review import reviewable
from evermix.engines.memo import recorded_batches
from evermix.engines.merging.stream import join
from evermix.engines.prune import drop, prune
from evermix.engines.settings import check_number, check_switch, check_whole
from evermix.engines.shards import Shard, Shards, as_shards, interleaved
from evermix.kernels.engines import ep
from evermix.model import Model
from evermix.state import State

UNDAMPED = 10  # largest number of batches updated together without damping


@dataclass(frozen=True)
class EP(Filter):
    """Many-pass inference: one streaming pass, then every row is reconsidered, lap after lap.

    The first lap is that of :class:`ADF`. Laps end early when the assignments have settled.

    Parameters
    ----------
    laps : int
        The largest number of passes over the data.
    birth : float
        A new cluster is opened when its responsibility exceeds this (see :class:`ADF`).
    rule : {"expected", "paper"}
        Predictive weight of a cluster (see :class:`ADF`).
    merge : float or None
        After each lap, fuse two clusters when the log odds for it exceed this many nats; None for
        no merges.
    tol : float
        Stop when no responsibility has changed by more than this in a lap.
    shuffle : bool
        Update rows in a new random order in every lap after the first.
    validation : float
        Fraction of the rows, chosen at random, that are scored and not learnt. If it is positive,
        stop when their log predictive density has not risen for ``patience`` laps.
    patience : int
        Laps without a better score of the validation rows after which to stop.
    batch_size : int
        Rows in a batch. It matters if several batches are updated together, and for memory.
    stride : int or None
        Number of batches that are updated in parallel, from the same snapshot of the clusters.
        None: the number of workers for a Dask collection, and 1 for all other rows.
    damping : float or None
        How far assignments move, in (0, 1], if batches are updated together. None: 1, or 0.5 if
        there are more than ten.
    """

    laps: int = 50
    birth: float = 0.1
    rule: str = "expected"
    merge: float | None = 5.0
    tol: float = 1e-3
    shuffle: bool = False
    validation: float = 0.0
    patience: int = 5
    batch_size: int = ROWS
    stride: int | None = None
    damping: float | None = None

    streams: ClassVar[bool] = False
    forgets: ClassVar[bool] = False
    by_hand: ClassVar[bool] = False
    divides: ClassVar[bool] = True
    may_change: ClassVar[tuple[str, ...]] = ("laps", "tol", "patience")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("laps", "patience"):
            check_whole(name, getattr(self, name))
        for name in ("tol", "validation"):
            check_number(name, getattr(self, name))
        check_switch("shuffle", self.shuffle)
        check_whole("batch_size", self.batch_size)
        if self.stride is not None:
            check_whole("stride", self.stride)
        if self.damping is not None:
            check_number("damping", self.damping)
            if not 0 < self.damping <= 1:
                raise ValueError(f"damping must lie in (0, 1], got {self.damping}.")
        if not self.tol >= 0:
            raise ValueError(f"tol must be >= 0, got {self.tol}.")
        if not 0 <= self.validation < 1:
            raise ValueError(f"validation must lie in [0, 1), got {self.validation}.")

    def initial(self, model: Model, rng: Generator) -> State:
        """Return the state before any data."""
        state = super().initial(model, rng)
        state.latents["seed"] = rng.integers(2**63 - 1, size=1)
        # Of this lap: largest change of a responsibility, mass moved, log predictive density of
        # the rows that are learnt, and of those that are held out.
        state.latents["progress"] = np.zeros(4)
        # Of the last lap: the largest change; of the best one: its held-out score and its number.
        state.latents["settled"] = np.array([np.inf, -np.inf, 0.0])
        state.latents["stride"] = np.ones(1, dtype=np.int64)
        return state

    def begin(self, model: Model, state: State, batches: Sequence[Batch], rng: Generator) -> State:
        """Set the number of batches that are updated together.   Consumes: state."""
        width = as_shards(batches, state.memo).width
        state.latents["stride"][0] = width if self.stride is None else self.stride
        return state

    def batch_rows(self, n: int, n_features: int) -> int:
        """Return the number of rows of a batch, for n rows in all."""
        del n_features
        return min(self.batch_size, n)

    def order(self, state: State, n: int) -> Ints:
        """Return the order (n,) in which this lap takes the n batches."""
        if not self.shuffle or state.lap == 0:
            return interleaved(n, int(state.latents["stride"][0]))
        return np.random.default_rng([state.latents["seed"][0], state.lap]).permutation(n)

    @property
    def max_laps(self) -> int:
        """The largest number of laps."""
        return self.laps

    def finished(self, state: State) -> bool:
        """Whether all laps are done, or the assignments have converged."""
        return state.lap >= self.laps or self.converged(state)

    def converged(self, state: State) -> bool:
        """Whether the last lap moved rows by at most ``tol``, or validation says it is enough."""
        change, _, best = state.latents["settled"]
        idle = self.validation > 0 and state.lap - best >= self.patience
        return bool(state.lap > 1 and (change <= self.tol or idle))

    def together(self, state: State, shards: Shards) -> int:
        """Return how many batches are updated together; the very first is alone.

        Otherwise each of them would open all clusters.
        """
        del shards
        return int(state.latents["stride"][0]) if state.tally.K else 1

    def visit(
        self, model: Model, state: State, shards: Shards, keys: Sequence[int], rng: Generator
    ) -> tuple[State, Info]:
        """Update batches, from the same snapshot if there are several.   Consumes: state."""
        before = state.clock
        state, info = self._together(model, state, shards, keys, rng)
        if state.lap == 0 and before < _next_join(before) <= state.clock:
            seen = [int(key) for key in self.order(state, len(shards))[: state.at + len(keys)]]
            merges = self._join(model, state, shards, seen)
            info = replace(info, K=state.tally.K, merges=merges)
        return state, info

    def _together(
        self, model: Model, state: State, shards: Shards, keys: Sequence[int], rng: Generator
    ) -> tuple[State, Info]:
        """Update batches; clusters are not joined.   Consumes: state."""
        if isinstance(shards, Shard) and state.latents["stride"][0] == 1:
            return super().visit(model, state, shards, keys, rng)
        began, checks = time.perf_counter(), state.clock // CHECK_EVERY
        records = {key: state.memo[str(key)] for key in keys if str(key) in state.memo}
        task = UpdateBatches(self, model, snapshot(state), records, self._damping(state))
        updates = shards.do(task, keys)
        found = commit(state, [(key, updates[key]) for key in keys], cap_of(model))
        if any(updates[key].capped for key in keys):
            warn_once(model, state)
        if "lightest" not in state.derived:
            state.derived["lightest"] = _lightest(shards)
        empty = state.tally.mass < ep.negligible_mass(state.derived["lightest"])
        found.dropped += [] if empty.all() else drop(state, empty)
        if state.lap == 0 and state.clock // CHECK_EVERY > checks:
            found.dropped += prune(state, IDLE)
        state.columns |= model.family.columns(state.tally)
        return state, Info(
            rows=len(found.results.labels),
            clock=state.clock,
            K=state.tally.K,
            births=found.births,
            dropped=found.dropped,
            log_predictive=found.learnt,
            seconds=time.perf_counter() - began,
            results=found.results,
            lap=state.lap,
            batches=len(keys),
            scalars={"change": found.change, "moved": found.moved},
        )

    def _damping(self, state: State) -> float:
        """Return how far sites move in a step of several batches."""
        if self.damping is not None:
            return self.damping
        return 1.0 if state.latents["stride"][0] <= UNDAMPED else 0.5

    def step(self, model: Model, state: State, batch: Batch, rng: Generator) -> tuple[State, Info]:
        """Update the sites of one batch.   Consumes: state."""
        began = time.perf_counter()
        self.check_weights(model, batch.weights)
        n, first_id = len(batch.weights), state.lineage.next_id
        record = state.memo.setdefault(str(batch.key), to_record(no_sites(n)))
        if len(record["begin"]) != n:
            raise ValueError(
                f"batch {batch.key} had {len(record['begin'])} rows when it was first seen, now it "
                f"has {n}. Cut the data in the same way in every lap."
            )
        if "held" not in record:
            record["held"] = _held_out(rng, batch.weights, self.validation)
            record["base"] = model.family.log_base(batch.X)
        weights = np.where(record["held"], 0.0, batch.weights)
        order = rng.permutation(n) if self.shuffle and state.lap > 0 else np.arange(n)
        results, moved = RowResults.empty(n), np.zeros(3)
        rows = EPBatch(batch.X, weights, order, to_sites(record), results, moved)
        sites, dropped = update_sites(self, model, state, rows)
        record |= to_record(sites)
        results.log_predictive[:] += record["base"]
        learnt = float(results.log_predictive[~record["held"]].sum())
        progress = state.latents["progress"]
        progress[0] = max(progress[0], moved[0])
        progress[1] += moved[1]
        progress[2] += learnt
        progress[3] += results.log_predictive.sum() - learnt
        state.latents["dropped"] -= moved[2]
        return state, Info(
            rows=n,
            clock=state.clock,
            K=state.tally.K,
            births=list(range(first_id, state.lineage.next_id)),
            dropped=dropped,
            log_predictive=learnt,
            seconds=time.perf_counter() - began,
            results=results,
            lap=state.lap,
            scalars={"change": float(moved[0]), "moved": float(moved[1])},
        )

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: Generator
    ) -> tuple[State, Info]:
        """Drop dust, join or review, and recompute the sums of sites.   Consumes: state."""
        began = time.perf_counter()
        shards = as_shards(batches, state.memo)
        dust = state.tally.mass < self.birth * _lightest(shards)
        dropped = [] if dust.all() else drop(state, dust)
        births: list[int] = []
        if state.lap == 0 and self._reviews(model):
            state, births, merges, gone = reviewed(self, model, state, shards, rng)
            dropped += gone
        else:
            merges = self._join(model, state, shards, range(len(shards)))
        records = {key: state.memo[str(key)] for key in range(len(shards))}
        task = SumSites(model, state.tally, state.lineage, records)
        state.tally, state.latents["dropped"][0] = shards.do(task, range(len(shards)))
        state.reserve(state.tally.capacity)
        state.columns |= model.family.columns(state.tally)
        change, moved, learnt, held = state.latents["progress"]
        settled = state.latents["settled"]
        settled[0] = change
        scalars = {"change": float(change), "moved": float(moved)}
        if self.validation > 0:
            scalars["held_out"] = float(held)
            # The first lap scores rows given the earlier ones only.
            if state.lap == 0 or held > settled[1]:
                settled[1:] = held if state.lap else -np.inf, state.lap + 1
        state.latents["progress"][:] = 0.0
        return state, Info(
            rows=0,
            clock=state.clock,
            K=state.tally.K,
            births=births,
            dropped=dropped,
            merges=merges,
            log_predictive=float(learnt),
            seconds=time.perf_counter() - began,
            lap=state.lap,
            scalars=scalars,
        )

    def _reviews(self, model: Model) -> bool:
        """Whether clusters are reviewed after the first lap: not if the published rule is used."""
        return self.merge is not None and not self.paper and self.laps > 1 and reviewable(model)

    def _join(
        self, model: Model, state: State, shards: Shards, keys: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Join similar clusters until none gains, given the sites of batches.   Consumes: state."""
        merges: list[tuple[int, int]] = []
        sites = [(shards.weights_of(key), state.memo[str(key)]) for key in keys]
        more = self.merge is not None
        while more:
            some = join(model, state, self.merge_threshold, partial(entropy_lost, state, sites))
            merges, more = merges + some, bool(some)
        state.columns |= model.family.columns(state.tally)
        return merges

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError unless there are sites of all rows of the batches seen so far."""
        del model
        size = self.batch_size
        order = self.order(state, -(-n_rows // size))
        for key, rows in recorded_batches(state, size, n_rows, order).items():
            check_sites(f"batch {key}", state.memo[str(key)], rows, state.lineage.next_id)


def _next_join(clock: int) -> int:
    """Return the first clock after a clock at which clusters are joined in the first lap."""
    return int(max(CHECK_EVERY, 2 ** int(clock).bit_length()))


def _held_out(rng: Generator, weights: Floats, fraction: float) -> Bools:
    """Return a mask (N,) of held-out rows; at least one counted row is kept."""
    held = rng.random(len(weights)) < fraction
    if not weights[~held].any():
        held[np.flatnonzero(weights)[:1]] = False
    return held


def _lightest(shards: Shards) -> float:
    """Return the smallest positive weight of a row."""
    each = (shards.weights_of(key) for key in range(len(shards)))
    return min(float(w[w > 0].min(initial=np.inf)) for w in each)
