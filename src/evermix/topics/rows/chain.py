"""A chain of a dependent mixture: its rows, and where it stands."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.families.base import Family
from evermix.kernels.scoring import add_rows
from evermix.state import State
from evermix.tally import Tally
from evermix.topics.measures import Measure, Occupancy


@dataclass(frozen=True, eq=False)
class Data:
    """Rows in times.

    Attributes
    ----------
    family : Family
        A resolved family.
    X : array or CSR matrix (N, D)
    times : int64 array (N,)
        Numbers 0..T-1, all in use.
    n_times : int
    """

    family: Family
    X: Array
    times: Array
    n_times: int

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def rows(self) -> Any:
        """The rows as kernels want them."""
        return self.family.rows(self.X)

    def state(self, labels: Array, K: int) -> State:
        """Return mass and statistics of K clusters of these labels (N,), -1 for none."""
        family = self.family
        tally = Tally.empty(family.n_stats, (), family.layout)
        tally.append(np.arange(K))
        if K:
            work = family.workspace(tally, family.columns(tally))
            add_rows(work, self.rows, labels, tally.mass_buffer)
        return State(tally, family.columns(tally), {})

    def counts(self, labels: Array, K: int) -> Array:
        """Rows of each time in each of K clusters, (T, K)."""
        flat = np.bincount(self.times * K + labels, minlength=self.n_times * K)
        return flat.reshape(self.n_times, K)


@dataclass
class Chain:
    """Where a chain stands.

    Attributes
    ----------
    measure : Measure
    labels : int64 array (N,)
        The cluster of each row: 0..K-1 in order of appearance; -1 before the first sweep.
    region : int64 array (K,)
        The region that each cluster lies in.
    on : bool array (T, K)
        Whether it is there at each time.
    memo : dict of arrays
        What a sampler carries along beside these.
    """

    measure: Measure
    labels: Array
    region: Array
    on: Array
    memo: dict[str, Array] = field(default_factory=dict)

    @property
    def K(self) -> int:
        """Number of clusters."""
        return len(self.region)

    @property
    def started(self) -> bool:
        """Whether rows have clusters."""
        return bool(self.labels[0] >= 0)

    def occupancy(self, data: Data) -> Occupancy:
        """Return the clusters as the measure sees them."""
        if not self.started:
            return Occupancy.of(np.zeros((data.n_times, 0), dtype=np.int64), self.region, self.on)
        return Occupancy.of(data.counts(self.labels, self.K), self.region, self.on)

    def settle(self, labels: Array, region: Array, on: Array) -> None:
        """Take labels (N,), numbers of any clusters of region (C,) and on (T, C), and renumber."""
        used, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        self.labels = rank[inverse]
        self.region = region[used[order]].astype(np.int64)
        self.on = np.ascontiguousarray(on[:, used[order]])


def start(measure: Measure, data: Data) -> Chain:
    """Return a chain before its first sweep: no row has a cluster."""
    return Chain(
        measure,
        np.full(len(data), -1, dtype=np.int64),
        np.empty(0, dtype=np.int64),
        np.empty((data.n_times, 0), dtype=bool),
    )
