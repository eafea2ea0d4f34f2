"""What an engine needs to go on, and nothing else: the content of a checkpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from evermix._xp import Array
from evermix.tally import Layout, Tally, _grown

ALIVE, DROPPED, FADED = -1, -2, -3

Record: TypeAlias = dict[str, Array]
"""Named arrays that belong together; an array called ``ids`` holds ids of clusters."""


@dataclass
class Lineage:
    """The life of every cluster id: when it was born, when it ended, and into which id it went.

    Ids are 0, 1, 2, ... in order of birth and are never reused.

    Attributes
    ----------
    born : list of int
        Clock at birth, by id.
    ended : list of int
        Clock at the end, or -1 while the cluster lives.
    into : list of int
        The id that took the cluster over, -1 while it lives, -2 if it was dropped, -3 if it faded.
    last : list of float
        When the cluster was last seen, by the time stamps of the rows or else by the clock; empty
        in models that forget nothing.
    """

    born: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    into: list[int] = field(default_factory=list)
    last: list[float] = field(default_factory=list)

    @property
    def next_id(self) -> int:
        """The id that the next cluster gets."""
        return len(self.born)

    def birth(self, clock: int) -> int:
        """Record a birth and return the new id."""
        self.born.append(clock)
        self.ended.append(ALIVE)
        self.into.append(ALIVE)
        return len(self.born) - 1

    def merge(self, gone: int, into: int, clock: int) -> None:
        """Record that cluster ``gone`` went into another one, ``into``."""
        if gone == into:  # following it later would never end
            raise ValueError(f"cluster {gone} cannot be merged into itself.")
        self.ended[gone], self.into[gone] = clock, into
        if self.last:
            self.last[into] = max(self.last[into], self.last[gone])

    def drop(self, gone: int, clock: int) -> None:
        """Record that cluster ``gone`` was dropped."""
        self.ended[gone], self.into[gone] = clock, DROPPED

    def fade(self, gone: int, clock: int) -> None:
        """Record that cluster ``gone`` has faded."""
        self.ended[gone], self.into[gone] = clock, FADED

    def current(self, ids: Array) -> Array:
        """Return what these ids (n,) are called today; -2 for what was dropped, -1 stays -1.

        What has faded keeps its name.
        """
        names, position = np.unique(np.asarray(ids, dtype=np.int64), return_inverse=True)
        today = np.array([self._follow(int(name)) for name in names], dtype=np.int64)
        return today[position]

    def _follow(self, name: int) -> int:
        while name >= 0 and self.into[name] not in (ALIVE, FADED):
            name = self.into[name]
        return name


@dataclass
class State:
    """Everything that the next step needs.

    Attributes
    ----------
    tally : Tally
        Mass and statistics of the clusters.
    columns : dict of arrays (capacity, ...)
        Per-cluster arrays that do not add up (time last seen, a Cholesky factor), row for row
        beside the tally's buffers. The engine and the family declare them.
    latents : dict of arrays
        Arrays of the whole model (dropped mass, the last new-cluster weight).
    lineage : Lineage
        The life of every id.
    clock : int
        Observations of positive weight seen so far; revisits count.
    lap : int
        Laps over the data that are finished.
    at : int
        Batches of the current lap that are done.
    now, faded : float or None
        In models that forget: when the last row was seen, and when all was last scaled.
    memo : dict of records
        What an engine remembers of the data themselves, by a key: the assignments of each batch,
        the draws of a chain. Engines that see data once have none.
    derived : dict
        What follows from the rest and takes time to compute. It is not saved.
    """

    tally: Tally
    columns: dict[str, Array]
    latents: dict[str, Array]
    lineage: Lineage = field(default_factory=Lineage)
    clock: int = 0
    lap: int = 0
    at: int = 0
    now: float | None = None
    faded: float | None = None
    memo: dict[str, Record] = field(default_factory=dict)
    derived: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def reserve(self, capacity: int) -> None:
        """Make room for ``capacity`` clusters."""
        self.tally.reserve(capacity)
        for name, column in self.columns.items():
            if column.shape[0] < self.tally.capacity:
                self.columns[name] = _grown(column, self.tally.capacity, axis=0)

    def append(self, ids: Array) -> None:
        """Add empty clusters with these ids (n,)."""
        self.tally.append(ids)
        self.reserve(self.tally.capacity)

    def take(self, index: Array) -> None:
        """Keep the clusters ``index`` (positions, or a mask), in that order."""
        kept = {name: column[: self.tally.K][index] for name, column in self.columns.items()}
        self.tally = self.tally.take(index)
        for name, column in kept.items():
            self.columns[name] = _grown(column, self.tally.capacity, axis=0)

    def part(self, index: Array) -> "State":
        """Return a state with the clusters ``index`` only; this one stays as it is."""
        part = replace(self, columns=dict(self.columns))
        part.take(index)
        return part

    def rename(self, ids: Array) -> None:
        """Give the clusters these ids (K,), a permutation of 0..K-1, and start a new lineage."""
        name = np.full(self.lineage.next_id + 1, DROPPED)  # the last is that of clusters gone
        name[self.tally.ids] = ids
        for record in self.memo.values():
            if "ids" in record:
                today = self.lineage.current(record["ids"])
                record["ids"][:] = name[np.maximum(today, -1)]
        born = [self.lineage.born[k] for k in self.tally.ids]
        self.tally.ids[:] = ids
        order = np.argsort(ids)
        self.lineage = Lineage([born[j] for j in order], [ALIVE] * len(born), [ALIVE] * len(born))

    def to_arrays(self, copy: bool = True) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return the state as named arrays and a JSON-ready header.

        Without a copy, the arrays are those of the state, and good until its next step.
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
        if copy:
            arrays = {name: np.array(values, order="C") for name, values in arrays.items()}
        counters = {"clock": self.clock, "lap": self.lap, "at": self.at}
        times = {"now": self.now, "faded": self.faded}
        return arrays, {**counters, **times, "layout": t.layout.value}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], header: Mapping[str, Any]) -> "State":
        """Return the state that :meth:`to_arrays` described; it takes over the memo's arrays."""

        def group(prefix: str) -> dict[str, Array]:
            return {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}

        extras = group("tally.extra.")
        ids, mass, stats = (arrays[f"tally.{name}"] for name in ("ids", "mass", "stats"))
        for name, values in {"ids": ids, "mass": mass, "stats": stats[:, 0], **extras}.items():
            if values.shape != (len(ids),):  # which would be stretched
                raise ValueError(f"{name} must be of {len(ids)} clusters, got {values.shape}.")
        tally = Tally.of(ids, mass, stats, extras, Layout(header["layout"]))
        columns = {}
        for name, column in group("column.").items():
            if len(column) != tally.K:
                raise ValueError(f"column {name} must have {tally.K} rows, got {len(column)}.")
            columns[name] = _grown(column, tally.capacity, axis=0)
        latents = {name: np.array(values) for name, values in group("latent.").items()}
        lives = [arrays[f"lineage.{name}"] for name in ("born", "ended", "into", "last")]
        if any(values.ndim != 1 for values in lives):
            raise ValueError("the lineage must hold a number for each cluster.")
        lineage = Lineage(*(values.tolist() for values in lives))
        memo: dict[str, Record] = {}
        for path, values in group("memo.").items():
            key, name = path.split(".", 1)
            memo.setdefault(key, {})[name] = values
        clock, lap, at = (int(header[name]) for name in ("clock", "lap", "at"))
        now, faded = header["now"], header["faded"]
        return cls(tally, columns, latents, lineage, clock, lap, at, now, faded, memo)
