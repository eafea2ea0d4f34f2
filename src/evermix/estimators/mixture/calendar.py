"""The calendar of a stream: when its rows came, for those who look at its clusters.

Times are kept at evenly spaced rows, of which there are at most a few hundred, and at those where
clusters began or ended. Learning never reads them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from evermix._schema import COUNT, FLOAT, WHOLE, Field, check_arrays
from evermix._xp import Array, Floats
from evermix.lookback import COUNT_ROWS, ROWS
from evermix.state import Lineage

POINTS = 256  # evenly spaced rows at most
LATEST = COUNT_ROWS + ROWS  # rows in which clusters are found, or most of these
FINEST = 4  # ticks of an axis that must differ: shorter units are shown for shorter streams
UNITS = {"D": 86_400, "m": 60, "s": 1}  # of dates on an axis, in seconds

Shown = str | float


@dataclass
class Calendar:
    """Times of rows by the clock: how many rows had been learnt, that row included.

    Attributes
    ----------
    dated : bool or None
        Whether times are dates, in seconds since 1970; None if there are no times.
    width : int
        How many rows lie between two that are kept.
    even, events : dict of int to float
        Times at multiples of ``width``, and where something happened to clusters.
    last : tuple of int and float, or None
        The clock and the time of the last row.
    latest : array (n,)
        Times of the latest rows, where clusters may be found that began with one of them.
    """

    dated: bool | None = None
    width: int = 1
    even: dict[int, float] = field(default_factory=dict)
    events: dict[int, float] = field(default_factory=dict)
    last: tuple[int, float] | None = None
    latest: Floats = field(default_factory=lambda: np.empty(0), compare=False)

    def __bool__(self) -> bool:
        return self.last is not None

    def add(self, times: Floats, clock: int, events: Iterable[int], back: bool = False) -> None:
        """Add the times (N,) of rows that have been learnt up to a clock, and what happened when.

        What is kept does not depend on how rows are cut into batches. ``back``: something may
        be found out later that has happened with one of these rows.
        """
        if not len(times):
            return
        first = clock - len(times) + 1
        if self.last is None:
            self.events[first] = float(times[0])
        start = next(iter(self.events))
        while (clock - start) // self.width >= POINTS:
            self.width *= 2
        self.even = {at: time for at, time in self.even.items() if at % self.width == 0}
        for at in range(-(-first // self.width) * self.width, clock + 1, self.width):
            self.even[at] = float(times[at - first])
        follow = self.last is not None and self.last[0] == clock - len(times)
        known = np.append(self.latest, times) if follow else times
        first = clock - len(known) + 1
        self.events |= {at: float(known[at - first]) for at in events if first <= at <= clock}
        self.last = clock, float(times[-1])
        self.latest = known[-LATEST:] if back else np.empty(0)

    def mark(self, clock: int) -> None:
        """Keep the time of the last row, after which something happens."""
        if self.last is not None and self.last[0] == clock:
            self.events[clock] = self.last[1]

    def at(self, clock: int | None) -> Shown | None:
        """Return when the row of a clock came, or one of those shortly before; None if unknown."""
        time = self.time(clock)
        return None if time is None else self.shown(time)

    def shown(self, time: float) -> Shown:
        """Return a time as people read it."""
        return shown_time(time, bool(self.dated))

    def time(self, clock: int | None) -> float | None:
        """Return what :meth:`at` shows, as a number; dates in seconds since 1970."""
        if clock is None or self.last is None:
            return None
        if not next(iter(self.events)) <= clock <= self.last[0]:
            return None
        time = self.events.get(clock)
        if time is None:
            known = self.known
            time = known[max(at for at in known if at <= clock)]
        return time

    @property
    def known(self) -> dict[int, float]:
        """All times that are kept, but for the latest, in order of the clock."""
        known = self.events | self.even | dict([] if self.last is None else [self.last])
        return dict(sorted(known.items()))

    @property
    def ends(self) -> tuple[Shown, Shown] | None:
        """The earliest and the latest time that is kept, None if there are none."""
        times = self.known.values()
        return (self.shown(min(times)), self.shown(max(times))) if times else None

    @property
    def course(self) -> tuple[list[int], list[Shown]]:
        """Clocks and the times at them, dates as briefly as their span allows, for axes."""
        clocks, times = list(self.known), list(self.known.values())
        if not self.dated or not times:
            return clocks, [float(time) for time in times]
        span = max(times) - min(times)
        unit = next((unit for unit, size in UNITS.items() if span >= FINEST * size), "ms")
        return clocks, [str(_date(time).astype(f"datetime64[{unit}]")) for time in times]

    # ---- files -----------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, Array]:
        """Return what a checkpoint holds, as named arrays; nothing of an empty calendar."""
        if self.last is None:
            return {}
        parts = {"even": self.even, "events": self.events, "last": dict([self.last])}
        arrays: dict[str, Array] = {"width": np.array([self.width])}
        for name, known in parts.items():
            arrays[name] = np.array(list(known), np.int64)
            arrays[f"{name}_times"] = np.array(list(known.values()), np.float64)
        return arrays | ({"latest": self.latest} if len(self.latest) else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], dated: bool | None, clock: int) -> "Calendar":
        """Return the calendar of :meth:`to_arrays`, or raise ValueError unless it could be so.

        ``clock`` is how many rows there were.
        """
        if dated is not None and not isinstance(dated, bool):
            raise ValueError(f"times are dates or they are not, got {dated!r:.80}.")
        if not arrays:  # files of earlier versions, and of streams without times, have none
            return cls(dated)
        fields = {"width": Field(WHOLE, (1,), (1, COUNT[1]))}
        sizes: dict[str, int | str] = {"even": "A", "events": "B", "last": 1}
        for name, size in sizes.items():
            fields[name] = Field(WHOLE, (size,), (0, clock))
            fields[f"{name}_times"] = Field(FLOAT, (size,))
        if "latest" in arrays:
            fields["latest"] = Field(FLOAT, ("C",))
        check_arrays("the calendar", arrays, fields)
        even, events, last = (
            dict(zip(arrays[n].tolist(), arrays[f"{n}_times"].tolist(), strict=True))
            for n in ("even", "events", "last")
        )
        if not events or len(even) > POINTS + 1:
            raise ValueError("the calendar must know its first row, and not too many others.")
        end, latest = next(iter(last.items())), arrays.get("latest", np.empty(0))
        if len(latest) > min(LATEST, end[0]):
            raise ValueError("the calendar must not know more times than there were rows.")
        return cls(dated, int(arrays["width"][0]), even, events, end, np.array(latest))


def of_clusters(lineage: Lineage, first_id: int) -> list[int]:
    """Return the clocks of first rows, finds and ends of clusters from an id on.

    First rows are left out where they came long before: their times are no longer known.
    """
    some = range(first_id, lineage.next_id)
    late = (id for id in some if lineage.found_at(id) - lineage.born[id] < LATEST)
    found = (lineage.found_at(id) for id in some)
    return [*found, *(lineage.born[id] for id in late), *lineage.ended[first_id:]]


def _date(time: float) -> np.datetime64:
    return np.datetime64(round(time * 1e6), "us")


def shown_time(time: float, dated: bool) -> Shown:
    """Return a time as a number, or as a date in UTC if it is seconds since 1970."""
    if not dated:
        return float(time)
    return str(_date(time)).removesuffix(".000000").removesuffix("T00:00:00")
