"""The state of a fit: all that the next step needs, and all that a checkpoint holds.

:meth:`State.to_arrays` lists the arrays of a checkpoint by name; ``io/checkpoint.py`` writes them
to a file, and the estimators add their settings.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evermix.hand import Hand
from evermix.lookback import Lookback, Recent
from evermix.tally import Layout, Tally, grown

ALIVE, DROPPED, FADED = -1, -2, -3  # in Lineage.into, in place of an id
STRAYS = 1 / 3  # share of a cluster's rows that may have come before it began

Record: TypeAlias = dict[str, NDArray[Any]]
"""Named arrays that belong together; an array named ``ids`` holds ids of clusters."""


@dataclass
class Lineage:
    """The history of cluster ids: when each was born and ended, and what it came from and became.

    Ids are 0, 1, 2, ... in order of birth and are never reused.

    Attributes
    ----------
    born : list of int
        Clock at which the rows of each cluster began to come, as far as it is known, by id.
    ended : list of int
        Clock at the end, or -1 while the cluster lives.
    into : list of int
        The id that it was merged into, -1 while it lives, -2 if it was dropped, -3 if it faded.
    last : list of float
        When a row was last assigned to the cluster, by the times of rows or else by the clock;
        empty in models that forget nothing.
    hand : Hand
        Names, and what people have done.
    parents : dict of int to int
        The id that a cluster was split from, by a review or by hand; the others were opened by a
        row. Of a fit it is empty, as ids are given anew when it ends.
    found : dict of int to int
        Clock at which clusters got their ids, of those that did not begin with that: a review has
        found them among rows that it keeps, or others were merged into them.
    """

    born: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    into: list[int] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    hand: Hand = field(default_factory=Hand)
    parents: dict[int, int] = field(default_factory=dict)
    found: dict[int, int] = field(default_factory=dict)

    @property
    def next_id(self) -> int:
        """The id that the next cluster gets."""
        return len(self.born)

    def birth(self, clock: int, parent: int | None = None) -> int:
        """Record a birth, of a cluster that was split from its parent if there is one.

        Returns the new id.
        """
        self.born.append(clock)
        self.ended.append(ALIVE)
        self.into.append(ALIVE)
        new = len(self.born) - 1
        if parent is not None:
            self.parents[new] = parent
        return new

    def newcomers(self, ids: Iterable[int], clock: int) -> dict[int, int | None]:
        """Return which of these clusters got their ids after a clock, and their parents."""
        return {id: self.parents.get(id) for id in ids if id >= 0 and self.found_at(id) > clock}

    def found_at(self, id: int) -> int:
        """Return the clock at which a cluster got its id, perhaps after its first row."""
        return self.found.get(id, self.born[id])

    def begin(self, id: int, clock: int) -> None:
        """Record that a cluster began at a clock, which may be before it was found."""
        if clock != self.born[id]:
            self.found.setdefault(id, self.born[id])
            self.born[id] = clock

    def merge(self, gone: int, into: int, clock: int) -> None:
        """Record that cluster ``gone`` was merged into another one, ``into``."""
        if gone == into:  # current() would never end
            raise ValueError(f"cluster {gone} cannot be merged into itself.")
        self.ended[gone], self.into[gone] = clock, into
        self.hand.merge(gone, into)
        if self.last:
            self.last[into] = max(self.last[into], self.last[gone])

    def drop(self, gone: int, clock: int) -> None:
        """Record that cluster ``gone`` was dropped."""
        self.ended[gone], self.into[gone] = clock, DROPPED

    def fade(self, gone: int, clock: int) -> None:
        """Record that cluster ``gone`` has faded."""
        self.ended[gone], self.into[gone] = clock, FADED

    def current(self, ids: NDArray[Any]) -> NDArray[Any]:
        """Return the ids that these ids (n,) were merged into; -2 for dropped ones, -1 stays -1.

        Clusters that faded keep their ids.
        """
        ids = np.asarray(ids, dtype=np.int64)
        known: dict[int, int] = {}
        if len(ids) == 1:  # a stream of single rows
            return np.array([self._follow(int(ids[0]), known)], dtype=np.int64)
        unique, position = np.unique(ids, return_inverse=True)
        followed = np.array([self._follow(int(id), known) for id in unique], dtype=np.int64)
        return followed[position]

    def _follow(self, id: int, known: dict[int, int]) -> int:
        """Follow merges from an id; ``known`` are the ends of those that were followed before."""
        path = []
        while id >= 0 and id not in known and self.into[id] not in (ALIVE, FADED):
            path.append(id)
            id = self.into[id]
        end = known.get(id, id)
        known.update(dict.fromkeys(path, end))
        return end

    def check(self) -> None:
        """Raise ValueError unless every cluster that ended has gone somewhere, in no circle."""
        into, ended = np.array(self.into, dtype=np.int64), np.array(self.ended, dtype=np.int64)
        n = self.next_id
        if not len(into) == len(ended) == n or len(self.last) not in (0, n):
            raise ValueError("the lineage must have one entry for each cluster.")
        if np.any((into < FADED) | (into >= n)) or np.any((into == ALIVE) != (ended == ALIVE)):
            raise ValueError("the lineage must say when, and into which cluster, clusters went.")
        end = np.where(into >= 0, into, np.arange(n))
        for _ in range(n.bit_length()):  # each time twice as far
            end = end[end]
        if np.any(into[end] >= 0):
            raise ValueError("clusters of the lineage were merged into each other, in a circle.")
        if not all(0 <= parent < id < n for id, parent in self.parents.items()):
            raise ValueError("clusters of the lineage were split from others that were not there.")
        if not all(0 <= id < n and clock >= 0 for id, clock in self.found.items()):
            raise ValueError("clusters of the lineage were found that do not exist.")


@dataclass
class State:
    """Everything that the next step needs.

    Attributes
    ----------
    tally : Tally
        Mass and statistics of the clusters.
    columns : dict of arrays (capacity, ...)
        Per-cluster arrays that do not add up (time last seen, a Cholesky factor), with the rows of
        the tally's buffers. The engine and the family declare them.
    latents : dict of arrays
        Arrays of the whole model (dropped mass, the last weight of a new cluster).
    lineage : Lineage
        The history of cluster ids.
    clock : int
        Observations of positive weight so far; repeated visits count.
    lap : int
        Number of finished laps over the data.
    at : int
        Number of finished batches of the current lap.
    now, faded : float or None
        In models that forget: the time of the last row, and of the last scaling.
    memo : dict of records
        What an engine remembers of the data themselves, by key: the assignments of each batch, the
        draws of a chain. Engines that see data once have none.
    lookback : Lookback or None
        A sample of the rows of a stream, for reviews of its clusters; None for no reviews.
    recent : Recent or None
        The latest rows of a stream of short texts, in which new clusters are looked for.
    derived : dict
        Values computed from the rest and kept for speed. They are not saved.
    """

    tally: Tally
    columns: dict[str, NDArray[Any]]
    latents: dict[str, NDArray[Any]]
    lineage: Lineage = field(default_factory=Lineage)
    clock: int = 0
    lap: int = 0
    at: int = 0
    now: float | None = None
    faded: float | None = None
    memo: dict[str, Record] = field(default_factory=dict)
    lookback: Lookback | None = None
    recent: Recent | None = None
    derived: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"derived": {}}

    @property
    def keeps_rows(self) -> bool:
        """Whether rows of a stream are kept, in which clusters may be found later."""
        return self.lookback is not None or self.recent is not None

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` clusters."""
        self.tally.reserve(capacity)
        for name, column in self.columns.items():
            if column.shape[0] < self.tally.capacity:
                self.columns[name] = grown(column, self.tally.capacity, axis=0)

    def append(self, ids: Sequence[int] | NDArray[Any]) -> None:
        """Add empty clusters with these ids (n,)."""
        self.tally.append(ids)
        self.reserve(self.tally.capacity)

    def take(self, index: NDArray[Any]) -> None:
        """Keep the clusters ``index`` (positions, or a mask), in that order."""
        kept = {name: column[: self.tally.K][index] for name, column in self.columns.items()}
        self.tally = self.tally.take(index)
        for name, column in kept.items():
            self.columns[name] = grown(column, self.tally.capacity, axis=0)

    def part(self, index: NDArray[Any]) -> "State":
        """Return a new state with only the clusters ``index``."""
        part = replace(self, columns=dict(self.columns))
        part.take(index)
        return part

    def rename(self, ids: NDArray[Any]) -> None:
        """Give the clusters these ids (K,), a permutation of 0..K-1, and start a new lineage."""
        new_id = np.full(self.lineage.next_id + 1, DROPPED)  # the last entry: clusters that ended
        new_id[self.tally.ids] = ids
        for record in self.memo.values():
            if "ids" in record:
                current = self.lineage.current(record["ids"])
                record["ids"][:] = new_id[np.maximum(current, -1)]
        if self.lookback is not None and self.lookback.rows is not None:
            rows = self.lookback.rows
            current = self.lineage.current(rows.ids)
            self.lookback.rows = rows._replace(ids=new_id[np.maximum(current, -1)])
        born = [self.lineage.born[k] for k in self.tally.ids]
        new_ids = dict(zip(self.tally.ids.tolist(), ids.tolist(), strict=True))
        hand = self.lineage.hand.rename(new_ids)
        self.tally.ids[:] = ids
        order = np.argsort(ids)
        alive = [ALIVE] * len(born)
        self.lineage = Lineage([born[j] for j in order], alive, alive.copy(), hand=hand)
        if self.recent is not None:
            self.recent = Recent.after(self.tally, self.clock)

    def to_arrays(self, copy: bool = True) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what a checkpoint holds: named arrays and a JSON-ready header.

        The arrays are ``tally.ids``, ``tally.mass``, ``tally.stats``, ``tally.extra.NAME``,
        ``column.NAME``, ``latent.NAME``, ``lineage.born``, ``.ended``, ``.into`` and ``.last``, and
        ``memo.KEY.NAME``, ``lookback.NAME`` and ``recent.NAME``. The header has ``clock``, ``lap``,
        ``at``, ``now``, ``faded`` and the ``layout`` of the statistics, ``parents`` and ``found``
        if there are some, and ``hand`` if people have named clusters or changed them. Without a
        copy, arrays are valid until the next step.
        """
        t, K = self.tally, self.tally.K
        arrays = {"tally.ids": t.ids, "tally.mass": t.mass, "tally.stats": t.stats}
        arrays |= {f"tally.extra.{name}": values for name, values in t.extras.items()}
        arrays |= {f"column.{name}": values[:K] for name, values in self.columns.items()}
        arrays |= {f"latent.{name}": values for name, values in self.latents.items()}
        for name in ("born", "ended", "into"):
            values = getattr(self.lineage, name)
            arrays[f"lineage.{name}"] = np.array(values, dtype=np.int64)
        arrays["lineage.last"] = np.array(self.lineage.last, dtype=np.float64)
        for key, record in self.memo.items():
            arrays |= {f"memo.{key}.{name}": values for name, values in record.items()}
        if self.lookback is not None:
            kept = self.lookback.to_arrays()
            arrays |= {f"lookback.{name}": values for name, values in kept.items()}
        if self.recent is not None:
            latest = self.recent.to_arrays()
            arrays |= {f"recent.{name}": values for name, values in latest.items()}
        if copy:
            arrays = {name: np.array(values, order="C") for name, values in arrays.items()}
        counters = {"clock": self.clock, "lap": self.lap, "at": self.at}
        times = {"now": self.now, "faded": self.faded}
        header: dict[str, Any] = {**counters, **times, "layout": t.layout.value}
        hand = self.lineage.hand
        for name in ("parents", "found"):
            if known := getattr(self.lineage, name):
                header[name] = [[id, value] for id, value in sorted(known.items())]
        return arrays, header | ({"hand": hand.to_spec()} if hand else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> "State":
        """Return the state of :meth:`to_arrays`; the arrays of the memo are not copied.

        ValueError: the arrays are inconsistent.
        """

        def group(prefix: str) -> dict[str, NDArray[Any]]:
            return {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}

        extras = group("tally.extra.")
        ids, mass, stats = (arrays[f"tally.{name}"] for name in ("ids", "mass", "stats"))
        for name, values in {"ids": ids, "mass": mass, "stats": stats[:, 0], **extras}.items():
            if values.shape != (len(ids),):  # it would be broadcast
                raise ValueError(f"{name} must have {len(ids)} rows, got shape {values.shape}.")
        tally = Tally.of(ids, mass, stats, extras, Layout(header["layout"]))
        columns = {}
        for name, column in group("column.").items():
            if len(column) != tally.K:
                raise ValueError(f"column {name} must have {tally.K} rows, got {len(column)}.")
            columns[name] = grown(column, tally.capacity, axis=0)
        latents = {name: np.array(values) for name, values in group("latent.").items()}
        lives = [arrays[f"lineage.{name}"] for name in ("born", "ended", "into", "last")]
        if any(values.ndim != 1 for values in lives):
            raise ValueError("the arrays of the lineage must have one dimension.")
        lineage = Lineage(*(values.tolist() for values in lives))
        for name in ("parents", "found"):
            pairs = {int(id): int(value) for id, value in header.get(name, [])}
            setattr(lineage, name, pairs)
        if "hand" in header:
            lineage.hand = Hand.from_spec(header["hand"], lineage.next_id, ids)
        memo: dict[str, Record] = {}
        for path, values in group("memo.").items():
            key, name = path.split(".", 1)
            memo.setdefault(key, {})[name] = values
        clock, lap, at = (int(header[name]) for name in ("clock", "lap", "at"))
        now, faded = header["now"], header["faded"]
        kept = group("lookback.")
        lookback = Lookback.from_arrays(kept) if kept else None
        latest = group("recent.")
        recent = Recent.from_arrays(latest) if latest else None
        return cls(
            tally, columns, latents, lineage, clock, lap, at, now, faded, memo, lookback, recent
        )
