"""Rows that a stream keeps: a bounded sample, or the latest ones, to review its clusters with.

Which rows are kept depends on the clock alone, so that neither the cuts of a stream nor questions
change what is learnt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evermix.tally import Tally

ROWS, FEATURES = 1024, 2**13  # rows that are all kept, or more if they have few columns
PER_COLUMN, MOST_ROWS = 32, 4096  # or if they have many
EVEN_ROWS = 4096  # rows of wide families, of which a sample is kept without regard to clusters
COUNT_ROWS, COUNTS, FEW = 4096, 2**15, 256  # rows of counts, their entries, and least rows
NUMBERS = 2**22  # most numbers in the rows that are kept: 32 MB
CSR = ("data", "indices", "indptr", "shape")
MULTIPLIER = 0x9E3779B97F4A7C15  # of Fibonacci hashing


class KeptRows(NamedTuple):
    """Rows that are kept."""

    X: Any  # array or CSR matrix (M, D)
    weights: NDArray[np.float64]  # (M,)
    ids: NDArray[np.int64]  # (M,) the cluster of each
    clocks: NDArray[np.int64]  # (M,) when each was learnt

    def take(self, some: NDArray[Any]) -> "KeptRows":
        """Return some of the rows."""
        return KeptRows(*(values[some] for values in self))

    @property
    def room(self) -> int:
        """How many such rows are all kept."""
        if isinstance(self.X, np.ndarray):
            D = max(self.X.shape[1], 1)
            rows = max(ROWS, FEATURES // D, min(PER_COLUMN * D, MOST_ROWS))
            return min(rows, NUMBERS // D)
        width = max(self.X.nnz // max(self.X.shape[0], 1), 1)
        return int(min(COUNT_ROWS, max(FEW, COUNTS // width), NUMBERS // width))


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
            stack = sparse.vstack if sparse.issparse(X[0]) else np.concatenate
            self.parts = [KeptRows(stack(X), *map(np.concatenate, others))]
        return self.parts[0] if self.parts else None

    @rows.setter
    def rows(self, rows: KeptRows) -> None:
        self.parts = [rows]

    def add(self, X: Any, weights: NDArray[Any], ids: NDArray[Any], clock: int) -> None:
        """Keep the rows X (N, D) of positive weight, which were learnt up to a clock."""
        if len(weights) == 1 and weights[0] > 0:  # as below, in a fraction of the time
            rows = KeptRows(X.copy(), weights.copy(), ids.copy(), np.array([clock]))
            self.parts.append(rows)
            return
        counts = np.flatnonzero(weights > 0)
        if len(counts):
            clocks = np.arange(clock - len(counts) + 1, clock + 1)
            self.parts.append(KeptRows(X[counts], weights[counts], ids[counts], clocks))

    def thin(self, K: int, per_cluster: int, even: bool = False) -> None:
        """Keep no more rows of each of K clusters than there is room for, by hashed clocks.

        The room is that for all rows, or ``per_cluster`` rows for each cluster if this is more. If
        ``even``, all rows have the same chance, whatever their cluster.
        """
        rows = self.rows
        if rows is None:
            return
        room = rows.room if not even else min(EVEN_ROWS, NUMBERS // rows.X.shape[1])
        if len(rows.weights) <= room:
            return
        self.complete = False
        if even:
            self.rows = rows.take(np.sort(np.argsort(hashed(rows.clocks))[:room]))
            return
        each = max(room // max(K, 1), min(per_cluster, room))
        order = np.lexsort((hashed(rows.clocks), rows.ids))
        ids = rows.ids[order]
        rank = np.arange(len(ids)) - np.searchsorted(ids, ids)
        self.rows = rows.take(np.sort(order[rank < each]))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint holds, as named arrays."""
        rows = self.rows
        arrays = {} if rows is None else rows._asdict()
        if rows is not None and not isinstance(rows.X, np.ndarray):
            del arrays["X"]
            arrays |= {name: np.asarray(getattr(rows.X, name)) for name in CSR}
        return arrays | {"complete": np.array([self.complete])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Lookback":
        """Return the sample of :meth:`to_arrays`."""
        complete = bool(arrays["complete"][0])
        if "ids" not in arrays:
            return cls(complete)
        others = [np.array(arrays[name]) for name in KeptRows._fields[1:]]
        if "X" in arrays:
            return cls(complete, [KeptRows(np.array(arrays["X"]), *others)])
        data, indices, indptr, shape = (np.array(arrays[name]) for name in CSR)
        X = sparse.csr_matrix((data, indices, indptr), tuple(shape.tolist()))
        return cls(complete, [KeptRows(X, *others)])


@dataclass
class Recent:
    """The latest rows of a stream of counts, and its clusters as they were before them.

    Attributes
    ----------
    before : KeptRows
        A row for each cluster: the counts of all its rows, weighted by its mass.
    since : Lookback
        All rows since then.
    left : float
        What is left of the clusters before, in a model that forgets.
    """

    before: KeptRows
    since: Lookback = field(default_factory=Lookback)
    left: float = 1.0

    @classmethod
    def after(cls, tally: Tally, clock: int) -> "Recent":
        """Return what begins now, without rows; the last statistic of clusters is their length."""
        clocks = np.full(tally.K, clock)
        counts = sparse.csr_matrix(tally.stats[:, :-1])
        return cls(KeptRows(counts, tally.mass.copy(), tally.ids.copy(), clocks))

    @classmethod
    def cut(cls, rows: KeptRows, clock: int, ids: NDArray[np.int64]) -> "Recent":
        """Return what began after a clock, given all rows; those of other clusters are late too."""
        early = (rows.clocks <= clock) & np.isin(rows.ids, ids)
        names, place = np.unique(rows.ids[early], return_inverse=True)
        shape = len(names), len(place)
        own = sparse.csr_matrix((rows.weights[early], (place, np.arange(len(place)))), shape)
        sums = sparse.csr_matrix(own @ rows.X[early])
        mass = np.asarray(own.sum(axis=1), dtype=np.float64).ravel()
        before = KeptRows(sums, mass, names, np.full(len(names), clock))
        return cls(before, Lookback(parts=[rows.take(~early)]))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint holds, as named arrays."""
        before = Lookback(parts=[self.before]).to_arrays()
        named = {f"before.{name}": values for name, values in before.items() if name != "complete"}
        named |= {f"since.{name}": v for name, v in self.since.to_arrays().items()}
        return named | ({} if self.left == 1.0 else {"left": np.array([self.left])})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Recent":
        """Return what :meth:`to_arrays` described."""
        groups: dict[str, dict[str, NDArray[Any]]] = {"before": {}, "since": {}}
        left = float(arrays["left"][0]) if "left" in arrays else 1.0
        for path, values in arrays.items():
            if path == "left":
                continue
            group, name = path.split(".")
            groups[group][name] = values
        before = Lookback.from_arrays(groups["before"] | {"complete": np.array([True])}).rows
        assert before is not None
        return cls(before, Lookback.from_arrays(groups["since"]), left)


def hashed(clocks: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return numbers that are as good as random, by clocks."""
    return (clocks.astype(np.uint64) * np.uint64(MULTIPLIER)) >> np.uint64(16)
