"""A chain of a dependent mixture: its rows, and where it stands."""

import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from evermix._xp import Array, Bools, Floats, Ints
from evermix.families.base import Family
from evermix.kernels.scoring import add_rows
from evermix.state import State
from evermix.tally import Tally
from evermix.topics.measures import Measure, Occupancy


@dataclass(frozen=True, eq=False)
class Past:
    """What rows chose that were learnt before. It is counted, and never moves."""

    counts: Ints  # (T, K) rows of each cluster at each time; every cluster has some
    stats: Floats  # (K, S) their statistics

    @property
    def K(self) -> int:
        """Number of clusters: those that are born later have numbers from here on."""
        return self.counts.shape[1]


@dataclass(frozen=True, eq=False)
class RowData:
    """Rows in times."""

    family: Family  # with every hyperparameter set
    X: Array  # or CSR matrix (N, D)
    times: Ints  # (N,) numbers 0..T-1, all in use here or in the past
    n_times: int
    past: Past | None = None

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def rows(self) -> Any:
        """The rows in the form that kernels take."""
        return self.family.rows(self.X)

    def state(self, labels: Ints, K: int) -> State:
        """Return mass and statistics of K clusters of these labels (N,), -1 for none."""
        family, past = self.family, self.past
        tally = Tally.empty(family.n_stats, (), family.layout)
        tally.append(np.arange(K))
        if past is not None:
            tally.mass[: past.K], tally.stats[: past.K] = past.counts.sum(axis=0), past.stats
        if K:
            work = family.workspace(tally, family.columns(tally))
            add_rows(work, self.rows, labels, tally.mass_buffer)
        return State(tally, family.columns(tally), {})

    def counts(self, labels: Ints, K: int) -> Ints:
        """Rows of each time in each of K clusters, (T, K); labels (N,) are -1 for none."""
        there = labels >= 0
        flat = np.bincount(self.times[there] * K + labels[there], minlength=self.n_times * K)
        counts = flat.reshape(self.n_times, K)
        if self.past is not None:
            counts[:, : self.past.K] += self.past.counts
        return counts


@dataclass
class RowChain:
    """Where a chain stands."""

    measure: Measure
    labels: Ints  # (N,) clusters 0..K-1 in order of appearance; -1 before the first sweep
    region: Ints  # (K,) that each cluster lies in
    on: Bools  # (T, K) whether it is on at each time
    memo: dict[str, Floats] = field(default_factory=dict)  # what a sampler remembers
    kept: int = 0  # clusters of the past, which keep their numbers

    @classmethod
    def start(cls, measure: Measure, data: RowData) -> Self:
        """Return a chain before its first sweep: no row has a cluster."""
        labels = np.full(len(data), -1, dtype=np.int64)
        return cls(measure, labels, np.empty(0, dtype=np.int64), np.empty((data.n_times, 0), bool))

    def copy(self) -> Self:
        """Return a chain to move: sweeps write into the measure, and replace all other arrays."""
        other = copy.copy(self)
        other.measure, other.memo = self.measure.copy(), dict(self.memo)
        return other

    @property
    def K(self) -> int:
        """Number of clusters."""
        return len(self.region)

    @property
    def started(self) -> bool:
        """Whether rows have clusters."""
        return bool(self.labels[0] >= 0)

    def occupancy(self, data: RowData) -> Occupancy:
        """Return the clusters as the measure sees them."""
        return Occupancy.of(data.counts(self.labels, self.K), self.region, self.on)

    def log_joint(self, data: RowData) -> float:
        """Log density of rows, clusters and all that is learnt, up to a constant.

        It is that of logs of positive numbers, and of log odds of those below one.
        """
        tally = data.state(self.labels, self.K).tally
        joint = self.measure.log_joint(self.occupancy(data)) + self.measure.log_jacobian()
        return joint + float(data.family.log_marginals(tally).sum())

    def relabel(self, labels: Ints, region: Ints, on: Bools) -> None:
        """Take labels (N,), numbers of any clusters of region (C,) and on (T, C), and renumber.

        The first ones are those of the past, and stay.
        """
        born = labels >= self.kept
        used, first, inverse = np.unique(labels[born], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(self.kept, self.kept + len(order))
        self.labels = labels.astype(np.int64)
        self.labels[born] = rank[inverse]
        clusters = np.append(np.arange(self.kept), used[order])
        self.region = region[clusters].astype(np.int64)
        self.on = np.ascontiguousarray(on[:, clusters])
