"""The one currency: what is known of K clusters, as numbers that add up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from evermix._xp import Array

FIRST_NUMBERS = 2**19  # statistics for which room is made at first: a few MB, so seldom to grow


class Layout(Enum):
    """How the statistics lie in memory."""

    CLUSTER_MAJOR = "cluster"  #: buffer (capacity, S): one cluster's statistics are contiguous
    STATISTIC_MAJOR = (
        "statistic"  #: buffer (S, capacity): one statistic of all clusters is contiguous
    )


@dataclass
class Tally:
    """Ids, mass, statistics and extras of K clusters, in buffers that can grow.

    Row ``K`` and those after it are kept empty (zero) in every buffer, so that kernels can score
    "a new cluster" as one more row and open it without a copy.

    Attributes
    ----------
    K : int
        Number of clusters.
    id_buffer : int64 array (capacity,)
    mass_buffer : array (capacity,)
    stats_buffer : array (capacity, S) or (S, capacity), see ``layout``
    extra_buffers : dict of arrays (capacity,)
        Further additive numbers per cluster, by the name that the prior declares.
    """

    K: int
    id_buffer: Array
    mass_buffer: Array
    stats_buffer: Array
    layout: Layout = Layout.CLUSTER_MAJOR
    extra_buffers: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def empty(
        cls, size: int, extras: Iterable[str] = (), layout: Layout = Layout.CLUSTER_MAJOR
    ) -> "Tally":
        """Return a tally of no clusters, for statistics of ``size`` numbers."""
        capacity = int(np.clip(FIRST_NUMBERS // max(size, 1), 4, 64))
        shape = (capacity, size) if layout is Layout.CLUSTER_MAJOR else (size, capacity)
        return cls(
            K=0,
            id_buffer=np.zeros(capacity, dtype=np.int64),
            mass_buffer=np.zeros(capacity),
            stats_buffer=np.zeros(shape),
            layout=layout,
            extra_buffers={name: np.zeros(capacity) for name in extras},
        )

    @classmethod
    def of(
        cls,
        ids: Array,
        mass: Array,
        stats: Array,
        extras: Mapping[str, Array],
        layout: Layout = Layout.CLUSTER_MAJOR,
    ) -> "Tally":
        """Return a tally that holds copies of these rows: ids (K,), mass (K,), stats (K, S)."""
        tally = cls.empty(stats.shape[1], extras, layout)
        tally.append(ids)
        tally.mass[:] = mass
        tally.stats[:] = stats
        for name, values in extras.items():
            tally.extras[name][:] = values
        return tally

    @property
    def capacity(self) -> int:
        """Number of rows that the buffers hold."""
        return int(self.mass_buffer.shape[0])

    @property
    def size(self) -> int:
        """Number of statistics per cluster, S."""
        return int(self.stats_buffer.shape[1 if self.layout is Layout.CLUSTER_MAJOR else 0])

    @property
    def ids(self) -> Array:
        """Stable ids, a view (K,)."""
        return self.id_buffer[: self.K]

    @property
    def mass(self) -> Array:
        """Mass of each cluster, a view (K,)."""
        return self.mass_buffer[: self.K]

    @property
    def stats(self) -> Array:
        """Sufficient statistics, a view (K, S) whatever the layout."""
        if self.layout is Layout.CLUSTER_MAJOR:
            return self.stats_buffer[: self.K]
        return self.stats_buffer[:, : self.K].T

    @property
    def extras(self) -> dict[str, Array]:
        """Additive extras, views (K,)."""
        return {name: buffer[: self.K] for name, buffer in self.extra_buffers.items()}

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` rows; buffers at least double, so that growth is cheap."""
        if capacity <= self.capacity:
            return
        capacity = max(capacity, 2 * self.capacity)
        self.id_buffer = _grown(self.id_buffer, capacity, axis=0)
        self.mass_buffer = _grown(self.mass_buffer, capacity, axis=0)
        axis = 0 if self.layout is Layout.CLUSTER_MAJOR else 1
        self.stats_buffer = _grown(self.stats_buffer, capacity, axis)
        self.extra_buffers = {
            name: _grown(buffer, capacity, axis=0) for name, buffer in self.extra_buffers.items()
        }

    def append(self, ids: Array) -> None:
        """Add empty clusters with these ids (n,), and keep one empty row behind them."""
        new = len(ids)
        self.reserve(self.K + new + 1)
        self.id_buffer[self.K : self.K + new] = ids
        self.K += new

    def take(self, index: Array) -> "Tally":
        """Return a tally of the rows ``index`` (positions, or a mask), in that order."""
        return Tally.of(
            self.ids[index],
            self.mass[index],
            self.stats[index],
            {name: values[index] for name, values in self.extras.items()},
            self.layout,
        )

    def copy(self) -> "Tally":
        """Return a tally with buffers of its own."""
        return self.take(slice(None))

    def fuse(self, into: int, gone: int) -> None:
        """Add row ``gone`` to row ``into``; the caller removes the row with :meth:`take`."""
        self.mass[into] += self.mass[gone]
        self.stats[into] += self.stats[gone]
        for values in self.extras.values():
            values[into] += values[gone]

    def plus(self, other: "Tally") -> "Tally":
        """Return the sum, rows matched by id; ids that only ``other`` has come last."""
        return self._combined(other, 1.0)

    def minus(self, other: "Tally") -> "Tally":
        """Return the difference, rows matched by id; every id of ``other`` must be here."""
        missing = np.setdiff1d(other.ids, self.ids)
        if missing.size:
            raise ValueError(f"cannot subtract clusters that are not here: ids {missing.tolist()}.")
        return self._combined(other, -1.0)

    def scaled(self, factor: float) -> "Tally":
        """Return a tally with mass, statistics and extras multiplied by ``factor``."""
        result = self.copy()
        result.scale(factor)
        return result

    def scale(self, factor: float) -> None:
        """Multiply mass, statistics and extras by ``factor``, in place."""
        for values in (self.mass, self.stats, *self.extras.values()):
            values *= factor

    def _combined(self, other: "Tally", sign: float) -> "Tally":
        result = self.copy()
        result.append(other.ids[~np.isin(other.ids, self.ids)])
        position = {int(k): row for row, k in enumerate(result.ids)}
        rows = np.array([position[int(k)] for k in other.ids], dtype=np.int64)
        result.mass[rows] += sign * other.mass
        result.stats[rows] += sign * other.stats
        for name, values in other.extras.items():
            result.extras[name][rows] += sign * values
        return result


def _grown(buffer: Array, capacity: int, axis: int) -> Array:
    shape = list(buffer.shape)
    shape[axis] = capacity
    grown = np.zeros(shape, dtype=buffer.dtype)
    grown[tuple(slice(0, n) for n in buffer.shape)] = buffer
    return grown
