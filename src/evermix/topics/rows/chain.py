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
class RowData:
    """Rows in times."""

    family: Family  # with every hyperparameter set
    X: Array  # or CSR matrix (N, D)
    times: Ints  # (N,) numbers 0..T-1, all in use
    n_times: int

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def rows(self) -> Any:
        """The rows in the form that kernels take."""
        return self.family.rows(self.X)

    def state(self, labels: Ints, K: int) -> State:
        """Return mass and statistics of K clusters of these labels (N,), -1 for none."""
        family = self.family
        tally = Tally.empty(family.n_stats, (), family.layout)
        tally.append(np.arange(K))
        if K:
            work = family.workspace(tally, family.columns(tally))
            add_rows(work, self.rows, labels, tally.mass_buffer)
        return State(tally, family.columns(tally), {})

    def counts(self, labels: Ints, K: int) -> Ints:
        """Rows of each time in each of K clusters, (T, K)."""
        flat = np.bincount(self.times * K + labels, minlength=self.n_times * K)
        return flat.reshape(self.n_times, K)


@dataclass
class RowChain:
    """Where a chain stands."""

    measure: Measure
    labels: Ints  # (N,) clusters 0..K-1 in order of appearance; -1 before the first sweep
    region: Ints  # (K,) that each cluster lies in
    on: Bools  # (T, K) whether it is on at each time
    memo: dict[str, Floats] = field(default_factory=dict)  # what a sampler remembers

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
        if not self.started:
            return Occupancy.of(np.zeros((data.n_times, 0), dtype=np.int64), self.region, self.on)
        return Occupancy.of(data.counts(self.labels, self.K), self.region, self.on)

    def log_joint(self, data: RowData) -> float:
        """Log density of rows, clusters and all that is learnt, up to a constant.

        It is that of logs of positive numbers, and of log odds of those below one.
        """
        tally = data.state(self.labels, self.K).tally
        joint = self.measure.log_joint(self.occupancy(data)) + self.measure.log_jacobian()
        return joint + float(data.family.log_marginals(tally).sum())

    def relabel(self, labels: Ints, region: Ints, on: Bools) -> None:
        """Take labels (N,), numbers of any clusters of region (C,) and on (T, C), and renumber."""
        used, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        self.labels = rank[inverse]
        self.region = region[used[order]].astype(np.int64)
        self.on = np.ascontiguousarray(on[:, used[order]])
