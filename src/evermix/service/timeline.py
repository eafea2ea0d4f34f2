"""How a model has gone: clusters, likelihood and shares over its rows, the older the coarser.

A mixture keeps a course of its own, in some 64 bins of equal width. Those who watch a stream for
months want the last minutes in detail too, with the births and ends in them.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evermix.estimators.mixture.calendar import Shown

LEVEL = 64  # points of one width; beyond that, the oldest two become one of twice the width
ROWS, SECONDS = 25, 0.1  # of a point at least
SINGLE = 24  # clusters that a point counts one by one
NAMED = 6  # clusters that a mark names


@dataclass
class Point:
    """Some consecutive rows.

    Attributes
    ----------
    first, rows : int
        How many rows had been learnt before these, and after them.
    time : float
        When the first of them were learnt, in seconds since 1970; 0 if that is not known.
    clusters : int
        After the last of them.
    scored : int
        How many of them have a log predictive density, of which ``log_predictive`` is the sum.
    counts : dict of int to int
        Rows of the largest clusters, by their ids then.
    others : int
        Rows of all other clusters.
    marks : dict of str to (int, list of int)
        How many clusters were born, split off others, merged and ended ("birth", "split",
        "merge", "death"), and the ids of the first few.
    at : str, float or None
        When the last of them came, a date or a number, if rows have times of their own.
    """

    first: int
    rows: int
    time: float
    clusters: int
    scored: int = 0
    log_predictive: float = 0.0
    counts: dict[int, int] = field(default_factory=dict)
    others: int = 0
    marks: dict[str, tuple[int, list[int]]] = field(default_factory=dict)
    at: Shown | None = None

    def take(self, later: "Point") -> None:
        """Take in the rows that come next."""
        self.rows, self.clusters, self.at = later.rows, later.clusters, later.at
        self.scored += later.scored
        self.log_predictive += later.log_predictive
        self.others += later.others
        for id, n in later.counts.items():
            self.counts[id] = self.counts.get(id, 0) + n
        for what, (n, ids) in later.marks.items():
            self.mark(what, ids, n)

    def mark(self, what: str, ids: list[int], n: int = 1) -> None:
        """Note that n clusters were born or ended, these among them."""
        before, some = self.marks.get(what, (0, []))
        self.marks[what] = before + n, [*some, *ids][:NAMED]

    def trim(self) -> None:
        """Count small clusters together."""
        if len(self.counts) > SINGLE:
            order = sorted(self.counts.items(), key=lambda entry: -entry[1])
            self.others += sum(n for _, n in order[SINGLE:])
            self.counts = dict(order[:SINGLE])

    def to_spec(self) -> dict[str, Any]:
        """Return the point as JSON-ready values."""
        return asdict(self) | {"counts": list(map(list, self.counts.items()))}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return what :meth:`to_spec` described, or raise ValueError, TypeError or LookupError."""
        point = cls(int(spec["first"]), int(spec["rows"]), float(spec["time"]), 0)
        for name in ("clusters", "scored", "others"):
            setattr(point, name, int(spec[name]))
        point.log_predictive = float(spec["log_predictive"])
        at = spec.get("at")
        point.at = at if isinstance(at, str | None) else float(at)
        point.counts = {int(id): int(n) for id, n in spec["counts"]}
        for what, (n, ids) in spec["marks"].items():
            point.mark(str(what), list(map(int, ids)), int(n))
        return point


class Timeline:
    """Points, of which there are some 64 for every doubling of the rows.

    One thread adds to it, and others read.
    """

    def __init__(self) -> None:
        self._levels: list[deque[Point]] = [deque()]
        self._open: Point | None = None
        self._lock = Lock()

    @property
    def points(self) -> list[Point]:
        """All points, the oldest first."""
        closed = [point for level in reversed(self._levels) for point in level]
        return closed if self._open is None else [*closed, self._open]

    def add(self, points: Sequence[Point]) -> None:
        """Add the points of rows that were learnt together.   Consumes: points.

        The first is joined to the last one before, if that has few rows or was just now.
        """
        with self._lock:
            for i, new in enumerate(points):
                now = self._open
                if now is None:
                    self._open = new
                elif now.rows - now.first < ROWS or (i == 0 and new.time < now.time + SECONDS):
                    now.take(new)
                else:
                    now.trim()
                    self._close(now)
                    self._open = new

    def mark(self, what: str, id: int) -> None:
        """Note a birth or an end among the last rows."""
        with self._lock:
            if self._open is not None:
                self._open.mark(what, [id])

    def after(self, first: int | None) -> list[dict[str, Any]]:
        """Return the points from the one on that begins there, or all if there is none."""
        with self._lock:
            points = self.points
            places = [i for i, point in enumerate(points) if point.first == first]
            return [point.to_spec() for point in points[places[0] if places else 0 :]]

    def to_spec(self) -> list[list[dict[str, Any]]]:
        """Return all points as JSON-ready values, those of each width in a list."""
        with self._lock:
            last = [] if self._open is None else [self._open]
            return [[point.to_spec() for point in level] for level in [*self._levels, last]]

    @classmethod
    def of(cls, points: Sequence[Point], width: int) -> Self:
        """Return the timeline of points that follow each other, 64 at most, of so many rows each.

        It goes on as if it had got coarser as far as they are.
        """
        timeline = cls()
        coarser = max(width // ROWS, 1).bit_length() - 1
        timeline._levels = [deque[Point]() for _ in range(coarser)] + [deque(points)]
        return timeline

    @classmethod
    def from_spec(cls, spec: list[list[dict[str, Any]]]) -> Self:
        """Return what :meth:`to_spec` described."""
        timeline = cls()
        *levels, last = [[Point.from_spec(point) for point in level] for level in spec]
        timeline._levels = [deque(level) for level in levels] or [deque()]
        timeline._open = last[0] if last else None
        return timeline

    def _close(self, point: Point) -> None:
        """Keep a point that is whole, and make room for it."""
        for level in self._levels:
            level.append(point)
            if len(level) <= LEVEL:
                return
            point = level.popleft()
            point.take(level.popleft())
            point.trim()
        self._levels.append(deque([point]))


def counted(labels: NDArray[np.int64]) -> dict[int, int]:
    """Return how many rows (n,) each cluster has got; -1 is none."""
    ids, n = np.unique(labels[labels >= 0], return_counts=True)
    return dict(zip(ids.tolist(), n.tolist(), strict=True))
