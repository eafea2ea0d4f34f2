"""Looking back: a stream keeps a bounded sample of its rows and reviews its clusters with it.

At clocks that grow by a constant factor, a review looks for splits, merges and deletes of clusters
and learns what is open, on the sample. While the sample holds every row, the clusters found there
simply replace those of the stream, and every other review looks for them anew. Later a row of the
sample stands for many: clusters that were fused have the sum of their statistics, exactly; those
that were split take theirs from the sample; all others keep what they have. Reviews come at fixed
clocks, and which rows are kept depends on the clock alone, so that neither the cuts of a stream nor
questions change what is learnt.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evermix._xp import Array, Bools, Floats, Ints
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info
from evermix.engines.refine.problem import Clusters, Problem
from evermix.engines.refine.search import search
from evermix.engines.variational.seeding import Sample
from evermix.estimators.data.rows import stack
from evermix.estimators.resolve import find
from evermix.model import Model
from evermix.priors import PitmanYor
from evermix.state import State
from evermix.tally import Tally

FIRST = 64  # rows before the first review
RATIO = 2**0.5  # between the clocks of two reviews
ROWS = 1024  # rows that are all kept
PER_CLUSTER = 64  # rows of each cluster that are kept, if there are many
NUMBERS = 2**22  # most numbers in the rows that are kept: 32 MB
FLOWS = 0.02  # share of a cluster that must move for it to be connected with another
MULTIPLIER = 0x9E3779B97F4A7C15  # of Fibonacci hashing


class KeptRows(NamedTuple):
    """Rows that are kept."""

    X: Array  # (M, D)
    weights: Floats  # (M,)
    ids: Ints  # (M,) the cluster of each
    clocks: Ints  # (M,) when each was learnt

    def take(self, some: Ints) -> "KeptRows":
        """Return some of the rows."""
        return KeptRows(self.X[some], self.weights[some], self.ids[some], self.clocks[some])


@dataclass
class Lookback:
    """A sample of the rows of a stream.

    Attributes
    ----------
    complete : bool
        Whether no row was left out so far.
    parts : list of KeptRows
        The rows, as they came since they were last joined.
    """

    complete: bool = True
    parts: list[KeptRows] = field(default_factory=list)

    @property
    def rows(self) -> KeptRows | None:
        """All rows that are kept; None before the first."""
        if len(self.parts) > 1:
            X, *others = zip(*self.parts, strict=True)
            self.parts = [KeptRows(stack(list(X)), *(np.concatenate(some) for some in others))]
        return self.parts[0] if self.parts else None

    @rows.setter
    def rows(self, rows: KeptRows) -> None:
        self.parts = [rows]

    def add(self, batch: Batch, labels: Ints, clock: int) -> None:
        """Keep rows that were just learnt, the last of them at a clock."""
        counts = np.flatnonzero(batch.weights > 0)
        if len(counts):
            clocks = np.arange(clock - len(counts) + 1, clock + 1)
            kept = KeptRows(batch.X[counts], batch.weights[counts], labels[counts], clocks)
            self.parts.append(kept)

    def thin(self, state: State) -> None:
        """Keep no more rows of each cluster than there is room for, by the hash of their clocks."""
        rows = self.rows
        if rows is None:
            return
        rows = rows._replace(ids=state.lineage.current(rows.ids))
        X = rows.X
        width = X.shape[1] if isinstance(X, np.ndarray) else X.nnz // X.shape[0]
        room = min(ROWS, NUMBERS // max(width, 1))
        if len(rows.weights) > room:
            self.complete = False
            each = max(room // max(state.tally.K, 1), min(PER_CLUSTER, room))
            order = np.lexsort((_hashed(rows.clocks), rows.ids))
            ids = rows.ids[order]
            rank = np.arange(len(ids)) - np.searchsorted(ids, ids)
            rows = rows.take(np.sort(order[rank < each]))
        self.rows = rows


def next_review(clock: int) -> int:
    """Return the clock of the first review after a clock: they grow by a factor of RATIO."""
    step = 0
    while _review(step) <= clock:
        step += 1
    return _review(step)


def next_stop(clock: int) -> int:
    """Return the clock after a clock at which rows are reviewed, or only fewer are kept."""
    return min(next_review(clock), (clock // ROWS + 1) * ROWS)


def is_review(clock: int) -> bool:
    """Whether a review is due at a clock."""
    return clock >= FIRST and next_review(clock - 1) == clock


def _is_fresh(clock: int) -> bool:
    """Whether a review of all rows begins anew: before the first clock, and at every other one.

    The others, which begin with the clusters that are there, take a fraction of the time.
    """
    return clock < FIRST or clock in {FIRST << j for j in range(clock.bit_length())}


def stretches(batch: Batch, clock: int) -> Iterator[Batch]:
    """Cut rows that follow a clock where reviews are due, or fewer rows are to be kept."""
    X, weights, key, times = batch
    clocks = np.concatenate([[clock], clock + np.cumsum(weights > 0)])
    start = 0
    while start < len(weights):
        end = int(np.searchsorted(clocks[1:], next_stop(int(clocks[start])))) + 1
        some = slice(start, min(end, len(weights)))
        yield Batch(X[some], weights[some], key, None if times is None else times[some])
        start = end


def _review(step: int) -> int:
    return round(FIRST * RATIO**step)


def _hashed(clocks: Ints) -> NDArray[np.uint64]:
    """Return numbers that are as good as random, by clocks."""
    return (clocks.astype(np.uint64) * np.uint64(MULTIPLIER)) >> np.uint64(16)


class Reviewed(NamedTuple):
    """The model and the state after a review, and what happened."""

    model: Model
    state: State
    info: Info


def review(engine: Engine, model: Model, state: State, lookback: Lookback) -> Reviewed:
    """Return a model and a state with better clusters, as far as the kept rows tell."""
    lookback.thin(state)
    rows = lookback.rows
    assert rows is not None
    state = replace(state, lineage=deepcopy(state.lineage))  # if this fails, nothing has changed
    tally = state.tally
    old = _owners(tally, rows.ids)
    weights = _standing_for(tally, rows, old)
    if lookback.complete and _is_fresh(state.clock):
        found = find(model, rows.X, rows.weights)
    else:
        found = _improved(model, tally, rows)
    new = found.r.argmax(axis=1)
    flow = np.zeros((tally.K, found.K))
    known = old >= 0
    np.add.at(flow, (old[known], new[known]), weights[known])
    learnt = replace(
        model, family=found.model.family, prior=found.model.prior if _open(model) else model.prior
    )
    unseen = flow.sum(axis=1) == 0  # dust, if all rows are kept
    ids, births, merges, dropped = _named(state, flow, unseen & (not lookback.complete))
    clusters = Tally.of(ids, found.mass, found.stats, {}, learnt.family.layout)
    if not lookback.complete:
        clusters.mass[:], clusters.stats[:] = _transferred(tally, found, flow, rows.X, weights)
        clusters = clusters.plus(_bare(tally.take(unseen)))
    after = engine.continued(learnt, clusters, state)
    after.latents["capped"] = state.latents["capped"]
    if not lookback.complete:
        after.latents["dropped"] = state.latents["dropped"]
    lookback.rows = rows._replace(ids=ids[new])
    info = Info(
        rows=0,
        clock=state.clock,
        K=after.tally.K,
        births=births,
        merges=merges,
        dropped=dropped,
        scalars=_numbers(learnt),
    )
    return Reviewed(learnt, after, info)


def _numbers(model: Model) -> dict[str, float]:
    """Return what was learnt, by name, as far as it is single numbers."""
    values = {f"family.{name}": getattr(model.family, name) for name in model.family.learns}
    if _open(model):
        values |= {f"prior.{name}": getattr(model.prior, name) for name in model.prior.tunable}
    return {name: value for name, value in values.items() if isinstance(value, float)}


def _open(model: Model) -> bool:
    return "prior" in model.learns


def _owners(tally: Tally, ids: Ints) -> Ints:
    """Return the position of the cluster of each id, (M,); -1 for clusters that are gone."""
    position = {int(k): row for row, k in enumerate(tally.ids)}
    return np.array([position.get(int(k), -1) for k in ids], dtype=np.int64)


def _standing_for(tally: Tally, rows: KeptRows, owner: Ints) -> Floats:
    """Return how much mass of its cluster each row stands for, (M,)."""
    kept = np.bincount(owner[owner >= 0], rows.weights[owner >= 0], minlength=tally.K)
    factor = np.append(tally.mass / np.maximum(kept, 1e-300), 1.0)
    return rows.weights * factor[owner]


def _improved(model: Model, tally: Tally, rows: KeptRows) -> Clusters:
    """Return better clusters of the rows, starting from those of the tally.

    Every row counts as itself: as many copies as it stands for would pass for evidence.
    """
    prior = model.prior if isinstance(model.prior, PitmanYor) else PitmanYor(1.0, 0.0)
    start = replace(model, prior=prior)
    sample = Sample(model.family, rows.X, rows.weights)
    problem = Problem(sample, start, np.random.default_rng(0))
    found = search(problem, problem.from_sums(tally.mass, tally.stats))
    assert found is not None  # without a floor
    return found


def _named(
    state: State, flow: Floats, unseen: Bools
) -> tuple[Ints, list[int], list[tuple[int, int]], list[int]]:
    """Return the ids of new clusters, given the mass (old, new) that moved; and what happened.

    A new cluster has the id of the old one that it shares most with, unless another has it. Old
    ones that are ``unseen`` stay as they are.
    Consumes: the lineage of the state.
    """
    old = state.tally.ids
    ids = np.full(flow.shape[1], -1, dtype=np.int64)
    taken = np.zeros(len(old), dtype=bool)
    for place in np.argsort(-flow, axis=None, kind="stable"):
        k, j = np.unravel_index(place, flow.shape)
        if flow[k, j] > 0 and not taken[k] and ids[j] < 0:
            ids[j], taken[k] = old[k], True
    births = []
    for j in np.flatnonzero(ids < 0):
        ids[j] = state.lineage.birth(state.clock)
        births.append(int(ids[j]))
    merges, dropped = [], []
    for k in np.flatnonzero(~taken & ~unseen):
        if flow[k].max(initial=0.0) > 0:
            merges.append((int(old[k]), int(ids[flow[k].argmax()])))
            state.lineage.merge(*merges[-1], state.clock)
        else:
            dropped.append(int(old[k]))
            state.lineage.drop(dropped[-1], state.clock)
    return ids, births, merges, dropped


def _transferred(
    tally: Tally, found: Clusters, flow: Floats, X: Array, weights: Floats
) -> tuple[Floats, Floats]:
    """Return masses and statistics of the new clusters, exact wherever nothing was split.

    ``flow`` (old, new) is the mass that moved, ``weights`` (M,) what the rows X (M, D) stand for.
    """
    share = flow / np.maximum(flow.sum(axis=1, keepdims=True), 1e-300)
    n_parts, part = sparse.csgraph.connected_components(
        sparse.bmat([[None, share > FLOWS], [(share > FLOWS).T, None]]), directed=False
    )
    before, after = part[: tally.K], part[tally.K :]
    shares = weights[:, None] * found.r
    mass, stats = shares.sum(axis=0), found.model.family.accumulate(X, shares)
    for p in range(n_parts):
        olds, news = np.flatnonzero(before == p), np.flatnonzero(after == p)
        if len(news) == 1 and len(olds):
            mass[news], stats[news] = tally.mass[olds].sum(), tally.stats[olds].sum(axis=0)
        elif len(news) and len(olds):
            factor = tally.mass[olds].sum() / mass[news].sum()
            mass[news], stats[news] = factor * mass[news], factor * stats[news]
    return mass, stats


def _bare(tally: Tally) -> Tally:
    return Tally.of(tally.ids, tally.mass, tally.stats, {}, tally.layout)
