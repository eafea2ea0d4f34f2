"""Expectation propagation for normalized random measure mixtures: as many laps as it takes.

Every row is taken out of its clusters and learnt again from what all other rows say. What a row has
added, its *site*, is remembered sparsely: memory follows the number of responsibilities above
rounding, not rows times clusters.

References
----------
Tank, Foti, Fox (2015). Streaming variational inference for Bayesian nonparametric mixture models.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evermix._xp import Array
from evermix.engines.batch import ROWS, Batch, Info, RowResults
from evermix.engines.ep.parallel import SumSites, Visit, commit, snapshot
from evermix.engines.ep.sites import check_sites, no_sites, to_record, to_sites
from evermix.engines.ep.updates import IDLE, BatchVisit, Revisiting
from evermix.engines.filters.filter import CHECK_EVERY, warn_once
from evermix.engines.memo import check_stride, remembered
from evermix.engines.prune import drop, prune
from evermix.engines.settings import check_number, check_switch, check_whole
from evermix.engines.shards import Shard, Shards, interleaved, placed
from evermix.kernels.engines import ep
from evermix.model import Model
from evermix.state import State

UNDAMPED = 10  # batches visited together up to which assignments move all the way


@dataclass(frozen=True)
class EP(Revisiting):
    """Many-pass inference: one streaming pass, then every row is reconsidered, lap after lap.

    The first lap is that of :class:`ADF`. Laps end early when the assignments have settled.

    Parameters
    ----------
    laps : int
        At most so many passes over the data.
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
        Visit rows in a new random order in every lap after the first.
    validation : float
        Share of the rows, drawn at random, that is only scored and not learnt. If it is positive,
        stop when their log predictive density has not risen for ``patience`` laps.
    patience : int
        See ``validation``.
    batch_size : int
        Rows in a batch. It matters if several batches are visited together, and for memory.
    stride : int or None
        Batches that are visited from the same snapshot of the clusters: as many as places that
        shall work at the same time. None: as many as a Dask collection has workers, and 1 for all
        other rows.
    damping : float or None
        How far assignments move, in (0, 1], if batches are visited together. None: 1, or 0.5 if
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

    divides: ClassVar = True
    may_change: ClassVar = ("laps", "tol", "patience")

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

    def initial(self, model: Model, rng: np.random.Generator) -> State:
        """Return the state before any data."""
        state = super().initial(model, rng)
        state.latents["seed"] = rng.integers(2**63 - 1, size=1)
        # Of this lap: largest change of a responsibility, mass that moved, log predictive density
        # of the rows that are learnt, and of those that are held out.
        state.latents["progress"] = np.zeros(4)
        # Of the last lap: the largest change; of the best one: its held-out score and its number.
        state.latents["settled"] = np.array([np.inf, -np.inf, 0.0])
        state.latents["stride"] = np.ones(1, dtype=np.int64)
        return state

    def begin(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> State:
        """Find out how many batches are visited together.   Consumes: state."""
        width = placed(batches, state.memo).width
        state.latents["stride"][0] = width if self.stride is None else self.stride
        return state

    def batch_rows(self, n: int, n_features: int) -> int:
        """Return how many of n rows a batch shall have."""
        del n_features
        return min(self.batch_size, n)

    def order(self, state: State, n: int) -> Array:
        """Return the order (n,) in which this lap visits the n batches."""
        if not self.shuffle or state.lap == 0:
            return interleaved(n, int(state.latents["stride"][0]))
        return np.random.default_rng([state.latents["seed"][0], state.lap]).permutation(n)

    @property
    def max_laps(self) -> int:
        """The largest number of laps."""
        return self.laps

    def finished(self, state: State) -> bool:
        """Whether all laps are done, or nothing has changed in the last one."""
        if state.lap >= self.laps:
            return True
        change, _, best = state.latents["settled"]
        idle = self.validation > 0 and state.lap - best >= self.patience
        return bool(state.lap > 1 and (change <= self.tol or idle))

    def together(self, state: State, shards: Shards) -> int:
        """Return how many batches are visited together; the very first is alone.

        Else each of them would open all clusters anew.
        """
        del shards
        return int(state.latents["stride"][0]) if state.tally.K else 1

    def visit(
        self,
        model: Model,
        state: State,
        shards: Shards,
        keys: Sequence[int],
        rng: np.random.Generator,
    ) -> tuple[State, Info]:
        """Visit batches, from the same snapshot if they are several.   Consumes: state."""
        if isinstance(shards, Shard) and state.latents["stride"][0] == 1:
            return super().visit(model, state, shards, keys, rng)
        began = time.perf_counter()
        records = {key: state.memo[str(key)] for key in keys if str(key) in state.memo}
        eta = self.damping
        if eta is None:
            eta = 1.0 if state.latents["stride"][0] <= UNDAMPED else 0.5
        visits = shards.do(Visit(self, model, snapshot(state), records, eta), keys)
        rounds = state.clock // CHECK_EVERY
        cap = np.inf if model.max_clusters is None else model.max_clusters
        told = commit(state, [(key, visits[key]) for key in keys], cap)
        if any(visits[key].capped for key in keys):
            warn_once(model, state)
        if "lightest" not in state.derived:
            state.derived["lightest"] = _lightest(shards)
        empty = state.tally.mass < ep.crumbs(state.derived["lightest"])
        told.dropped += [] if empty.all() else drop(state, empty)
        merges: list[tuple[int, int]] = []
        if state.lap == 0 and state.clock // CHECK_EVERY > rounds:
            told.dropped += prune(state, IDLE)
            merges = self._join(model, state)
        state.columns |= model.family.columns(state.tally)
        return state, Info(
            rows=len(told.results.labels),
            clock=state.clock,
            K=state.tally.K,
            births=told.births,
            dropped=told.dropped,
            merges=merges,
            log_predictive=told.learnt,
            seconds=time.perf_counter() - began,
            results=told.results,
            lap=state.lap,
            batches=len(keys),
            scalars={"change": told.change, "moved": told.moved},
        )

    def step(
        self, model: Model, state: State, batch: Batch, rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Visit the rows of one batch.   Consumes: state."""
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
        visit = BatchVisit(batch.X, weights, order, to_sites(record), results, moved)
        sites, dropped, merges = self._visited(model, state, visit)
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
            merges=merges,
            log_predictive=learnt,
            seconds=time.perf_counter() - began,
            results=results,
            lap=state.lap,
            scalars={"change": float(moved[0]), "moved": float(moved[1])},
        )

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Drop dust, join, and sum the sites anew against drift.   Consumes: state."""
        del rng
        began = time.perf_counter()
        shards = placed(batches, state.memo)
        dust = state.tally.mass < self.birth * _lightest(shards)
        dropped = [] if dust.all() else drop(state, dust)
        merges = self._join(model, state)
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
            # The first lap scores rows before the others are known.
            if state.lap == 0 or held > settled[1]:
                settled[1:] = held if state.lap else -np.inf, state.lap + 1
        state.latents["progress"][:] = 0.0
        return state, Info(
            rows=0,
            clock=state.clock,
            K=state.tally.K,
            dropped=dropped,
            merges=merges,
            log_predictive=float(learnt),
            seconds=time.perf_counter() - began,
            lap=state.lap,
            scalars=scalars,
        )

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError unless there are sites of all batches seen, and of all their rows."""
        del model
        check_stride(state)
        size = self.batch_size
        order = self.order(state, -(-n_rows // size))
        for key, rows in remembered(state, size, n_rows, order).items():
            record = state.memo[str(key)]
            n = check_sites(record, state.lineage.next_id)
            held, base = record["held"], record["base"]
            kinds = held.dtype == bool and base.dtype == np.float64
            if not kinds or held.shape != (n,) or base.shape != (n,):
                raise ValueError(f"the record {key} does not hold the sites of a batch.")
            if n != rows:
                raise ValueError(f"batch {key} wants sites of {rows} rows, got those of {n}.")


def _held_out(rng: np.random.Generator, weights: Array, share: float) -> Array:
    """Return which rows (N,) are held out; never all that count."""
    held = rng.random(len(weights)) < share
    if not weights[~held].any():
        held[np.flatnonzero(weights)[:1]] = False
    return held


def _lightest(shards: Shards) -> float:
    """Return the smallest positive weight of a row."""
    each = (shards.weights_of(key) for key in range(len(shards)))
    return min(float(w[w > 0].min(initial=np.inf)) for w in each)
