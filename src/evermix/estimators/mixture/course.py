"""The course of a stream: how its rows were shared among clusters and explained, over time.

It is kept in bins of rows. When there are too many, two become one, so that endless streams stay
bounded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from evermix._schema import COUNT, FLOAT, ORDERED, WHOLE, Field, check_arrays
from evermix._xp import Array, Floats, Ints
from evermix.engines.batch import RowResults
from evermix.estimators.mixture.schema import MASS

BINS, FINEST = 64, 25  # most bins, and the rows of each in the beginning


@dataclass
class Bin:
    """Rows that follow each other.

    Attributes
    ----------
    rows : int
        Those of positive weight.
    log_predictive : float
        The sum of their log predictive densities, each before it was learnt.
    mass : dict of int to float
        Their weight by the cluster that each was given.
    """

    rows: int = 0
    log_predictive: float = 0.0
    mass: dict[int, float] = field(default_factory=dict)

    def plus(self, other: "Bin") -> "Bin":
        """Return the bin of the rows of both."""
        mass = self.mass.copy()
        for id, more in other.mass.items():
            mass[id] = mass.get(id, 0.0) + more
        return Bin(self.rows + other.rows, self.log_predictive + other.log_predictive, mass)


@dataclass
class Course:
    """The rows of a stream in bins, whatever the batches they came in.

    Attributes
    ----------
    start : int
        The clock before the first bin.
    width : int
        Rows in a bin.
    bins : list of Bin
        The last one may not be full.
    """

    start: int = 0
    width: int = FINEST
    bins: list[Bin] = field(default_factory=list)

    def add(self, results: RowResults, weights: Floats, clock: int) -> None:
        """Add rows with their weights (N,), which have been learnt up to a clock."""
        labels, logs = results.labels, results.log_predictive
        if len(weights) == 1:  # as below, in a fraction of the time
            if weights[0] > 0:
                self._open(clock - 1)
                last, id = self.bins[-1], int(labels[0])
                last.rows += 1
                last.log_predictive += float(logs[0])
                last.mass[id] = last.mass.get(id, 0.0) + float(weights[0])
            return
        counts = weights > 0
        if not counts.all():
            labels, logs, weights = labels[counts], logs[counts], weights[counts]
        at, n = 0, len(weights)
        while at < n:
            self._open(clock - n + at)
            last = self.bins[-1]
            some = slice(at, at + self.width - last.rows)
            ids, place = np.unique(labels[some], return_inverse=True)
            found = np.bincount(place, weights[some])
            for id, mass in zip(ids.tolist(), found.tolist(), strict=True):
                last.mass[id] = last.mass.get(id, 0.0) + mass
            last.rows += len(place)
            # One by one, so that the sum does not depend on the batches.
            last.log_predictive = float(np.append(last.log_predictive, logs[some]).cumsum()[-1])
            at += len(place)

    def _open(self, clock: int) -> None:
        """Have a bin with room for the row after a clock."""
        if not self.bins:
            self.start, self.bins = clock, [Bin()]
        elif self.bins[-1].rows == self.width:
            if len(self.bins) == BINS:
                self.width *= 2
                self.bins = [a.plus(b) for a, b in zip(*[iter(self.bins)] * 2, strict=True)]
            self.bins.append(Bin())

    def __len__(self) -> int:
        return len(self.bins)

    @property
    def edges(self) -> Ints:
        """The clocks (B + 1,) before and behind the bins."""
        return self.start + np.cumsum([0, *(bin.rows for bin in self.bins)])

    def entries(self, current: Callable[[Ints], Ints]) -> tuple[Ints, Ints, Floats]:
        """Return bins, clusters and masses (E,): how much of which bin which cluster has.

        ``current`` returns what ids have become since.
        """
        where, ids, mass = self._triples()
        return where, current(ids), mass

    def _triples(self) -> tuple[Ints, Ints, Floats]:
        each = ((b, sorted(bin.mass.items())) for b, bin in enumerate(self.bins))
        found = [(b, id, mass) for b, some in each for id, mass in some]
        where, ids, mass = zip(*found, strict=True) if found else ((), (), ())
        whole = np.int64
        return np.array(where, whole), np.array(ids, whole), np.array(mass, np.float64)

    # ---- files -----------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, Array]:
        """Return what a checkpoint holds, as named arrays; nothing of an empty course."""
        if not self.bins:
            return {}
        where, ids, mass = self._triples()
        return {
            "span": np.array([self.start, self.width]),
            "rows": np.array([bin.rows for bin in self.bins]),
            "log_predictive": np.array([bin.log_predictive for bin in self.bins]),
            "bin": where,
            "ids": ids,
            "mass": mass,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], next_id: int, clock: int) -> "Course":
        """Return the course of :meth:`to_arrays`, or raise ValueError unless it could be so.

        ``next_id`` is how many clusters there ever were, ``clock`` how many rows.
        """
        if not arrays:  # files of earlier versions have none
            return cls()
        fields = {
            "span": Field(WHOLE, (2,), (0, COUNT[1])),
            "rows": Field(WHOLE, ("B",), (1, COUNT[1])),
            "log_predictive": Field(FLOAT, ("B",), ORDERED),
            "bin": Field(WHOLE, ("E",), (0, BINS - 1)),
            "ids": Field(WHOLE, ("E",), (-1, next_id - 1)),
            "mass": Field(FLOAT, ("E",), MASS),
        }
        check_arrays("the course", arrays, fields)
        (start, width), rows = arrays["span"].tolist(), arrays["rows"].tolist()
        whole = all(n == width for n in rows[:-1]) and 0 < rows[-1] <= width
        if not (0 < len(rows) <= BINS and whole and start + sum(rows) <= clock):
            raise ValueError("the course must be full bins of rows that were learnt, and one more.")
        if arrays["bin"].max(initial=0) >= len(rows):
            raise ValueError("the course tells of bins that it has not.")
        bins = [Bin(n, log) for n, log in zip(rows, arrays["log_predictive"].tolist(), strict=True)]
        for b, id, mass in zip(*(arrays[n].tolist() for n in ("bin", "ids", "mass")), strict=True):
            bins[b].mass[id] = mass
        return cls(start, width, bins)
