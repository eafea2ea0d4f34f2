"""Mass and sufficient statistics of K clusters: what engines, families and priors exchange."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIRST_NUMBERS = 2**19  # statistics that the first buffers hold: a few MB, so they seldom grow
RUNS = 8  # most runs of rows that are copied one by one


class Layout(Enum):
    """The order of statistics in memory."""

    CLUSTER_MAJOR = "cluster"  #: (capacity, S): the statistics of a cluster are contiguous
    STATISTIC_MAJOR = "statistic"  #: (S, capacity): a statistic of all clusters is contiguous


@dataclass
class Tally:
    """Ids, mass, statistics and extras of K clusters, in buffers that can grow.

    Row ``K`` and the rows after it are zero in every buffer, so kernels can score a new cluster as
    one more row, and open it without a copy.

    Attributes
    ----------
    K : int
        Number of clusters.
    id_buffer : int64 array (capacity,)
    mass_buffer : array (capacity,)
    stats_buffer : array (capacity, S) or (S, capacity), see ``layout``
    extra_buffers : dict of arrays (capacity,)
        Other numbers per cluster that add up, by the names that the prior declares.
    """

    K: int
    id_buffer: NDArray[Any]
    mass_buffer: NDArray[Any]
    stats_buffer: NDArray[Any]
    layout: Layout = Layout.CLUSTER_MAJOR
    extra_buffers: dict[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def empty(
        cls,
        size: int,
        extras: Iterable[str] = (),
        layout: Layout = Layout.CLUSTER_MAJOR,
        room: int = 0,
    ) -> "Tally":
        """Return a tally without clusters, for ``size`` statistics each, with room for some."""
        capacity = int(np.clip(FIRST_NUMBERS // max(size, 1), 4, 64))
        if room > capacity:
            capacity = max(room, 2 * capacity)
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
        ids: NDArray[Any],
        mass: NDArray[Any],
        stats: NDArray[Any],
        extras: Mapping[str, NDArray[Any]],
        layout: Layout = Layout.CLUSTER_MAJOR,
    ) -> "Tally":
        """Return a tally with copies of these arrays: ids (K,), mass (K,), stats (K, S)."""
        tally = cls.empty(stats.shape[1], extras, layout, room=len(ids) + 1)
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
    def ids(self) -> NDArray[Any]:
        """Stable ids, a view (K,)."""
        return self.id_buffer[: self.K]

    @property
    def mass(self) -> NDArray[Any]:
        """Mass of each cluster, a view (K,)."""
        return self.mass_buffer[: self.K]

    @property
    def stats(self) -> NDArray[Any]:
        """Sufficient statistics, a view (K, S) in either layout."""
        if self.layout is Layout.CLUSTER_MAJOR:
            return self.stats_buffer[: self.K]
        return self.stats_buffer[:, : self.K].T

    @property
    def extras(self) -> dict[str, NDArray[Any]]:
        """Additive extras, views (K,)."""
        return {name: buffer[: self.K] for name, buffer in self.extra_buffers.items()}

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` rows; buffers at least double, so growth is cheap."""
        if capacity <= self.capacity:
            return
        capacity = max(capacity, 2 * self.capacity)
        self.id_buffer = grown(self.id_buffer, capacity, axis=0)
        self.mass_buffer = grown(self.mass_buffer, capacity, axis=0)
        axis = 0 if self.layout is Layout.CLUSTER_MAJOR else 1
        self.stats_buffer = grown(self.stats_buffer, capacity, axis)
        self.extra_buffers = {
            name: grown(buffer, capacity, axis=0) for name, buffer in self.extra_buffers.items()
        }

    def append(self, ids: Sequence[int] | NDArray[Any]) -> None:
        """Add empty clusters with these ids (n,), and keep an empty row after them."""
        new = len(ids)
        self.reserve(self.K + new + 1)
        self.id_buffer[self.K : self.K + new] = ids
        self.K += new

    def take(self, index: slice | NDArray[Any]) -> "Tally":
        """Return a tally of the rows ``index`` (positions, or a mask), in that order."""
        rows = np.arange(self.K)[index]
        tally = Tally.empty(self.size, self.extras, self.layout, room=len(rows) + 1)
        tally.append(self.ids[rows])
        tally.mass[:] = self.mass[rows]
        for name, values in self.extras.items():
            tally.extras[name][:] = values[rows]
        begins = np.flatnonzero(np.diff(rows, prepend=-2) != 1).tolist()
        if len(begins) > RUNS:
            tally.stats[:] = self.stats_of(rows)
            return tally
        for begin, end in pairwise([*begins, len(rows)]):  # no copy in between
            tally.stats[begin:end] = self.stats[rows[begin] : rows[begin] + end - begin]
        return tally

    def stats_of(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the statistics (n, S) of some rows (n,), read along the buffer."""
        if self.layout is Layout.CLUSTER_MAJOR:
            return self.stats_buffer[rows]
        return np.take(self.stats_buffer, rows, axis=1).T

    def copy(self) -> "Tally":
        """Return a tally with buffers of its own."""
        return self.take(slice(None))

    def fuse(self, into: int, gone: int) -> None:
        """Add row ``gone`` to row ``into``; the caller removes ``gone`` with :meth:`take`."""
        self.mass[into] += self.mass[gone]
        self.stats[into] += self.stats[gone]
        for values in self.extras.values():
            values[into] += values[gone]

    def plus(self, other: "Tally") -> "Tally":
        """Return the sum, rows matched by id; ids that are only in ``other`` come last."""
        return self._combined(other, 1.0)

    def minus(self, other: "Tally") -> "Tally":
        """Return the difference, rows matched by id; every id of ``other`` must be in this one."""
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


def grown(buffer: NDArray[Any], capacity: int, axis: int) -> NDArray[Any]:
    """Return a copy of a buffer with zeros appended along an axis, up to a capacity."""
    shape = list(buffer.shape)
    shape[axis] = capacity
    larger = np.zeros(shape, dtype=buffer.dtype)
    larger[tuple(slice(0, n) for n in buffer.shape)] = buffer
    return larger
