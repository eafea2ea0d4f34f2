"""What people have decided about clusters: names, pins, merges and splits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MERGE, SPLIT, PIN, UNPIN, RENAME = "merge", "split", "pin", "unpin", "rename"
UNDO = "undo"  # which leaves no change
CHANGES = MERGE, SPLIT, PIN, UNPIN, RENAME
LONGEST = 200  # letters of a name

NOTHING_TO_UNDO = (
    "there is nothing to undo: only the last change by hand can be undone, and only until rows are "
    "learnt. What is done then can be changed by hand: rename a cluster again; split a merged one, "
    "into two parts by the rows that are there; merge those that were split; pin or unpin."
)


class Change(NamedTuple):
    """Something that a person has done.

    Attributes
    ----------
    what : str
        One of "merge", "split", "pin", "unpin" and "rename".
    clock : int
        How many rows had been learnt.
    ids : tuple of int
        Of the clusters. Of a merge the first is what is left, of a split the last is new.
    """

    what: str
    clock: int
    ids: tuple[int, ...]


@dataclass
class Hand:
    """What people have decided about clusters.

    Attributes
    ----------
    names : dict of int to str
        By id.
    pinned : set of int
        Ids of clusters that are never dropped, merged or split but by hand.
    changes : list of Change
        All that was done, in order.
    former : dict of int to str
        Names of clusters that have become part of others, by their ids.
    """

    names: dict[int, str] = field(default_factory=dict)
    pinned: set[int] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)
    former: dict[int, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names or self.pinned or self.changes)

    def pins(self, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which of these ids (n,) are pinned, (n,)."""
        if not self.pinned:
            return np.zeros(len(ids), dtype=np.bool_)
        return np.isin(ids, sorted(self.pinned))

    def called(self, gone: int) -> str:
        """Return the id of a cluster that has become part of another, and the name that it had."""
        return f"{gone} ({self.former[gone]})" if gone in self.former else str(gone)

    def merge(self, gone: int, into: int) -> None:
        """Give the name of a cluster to the one that it has become part of, if that has none."""
        self.pinned.discard(gone)
        if gone in self.names:
            name = self.former[gone] = self.names.pop(gone)
            self.names.setdefault(into, name)

    def give_back(self, gone: int, new: int, left: int) -> None:
        """Give the name of a cluster that is gone to a new one, which was split from ``left``.

        It stays where it is if another cluster is called so now.
        """
        name = self.former.pop(gone, None)
        if name is not None and self.names.get(left) == name:
            del self.names[left]
        if name is not None and name not in self.names.values():
            self.names[new] = name

    def rename(self, new_ids: Mapping[int, int]) -> "Hand":
        """Return names and pins under new ids; what happened under the old ones is left out."""
        names = {new_ids[id]: name for id, name in self.names.items() if id in new_ids}
        return Hand(names, {new_ids[id] for id in self.pinned if id in new_ids})

    def to_spec(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        former = [[id, name] for id, name in sorted(self.former.items())]
        return {
            "names": [[id, name] for id, name in sorted(self.names.items())],
            "pinned": sorted(self.pinned),
            "changes": [[what, clock, list(ids)] for what, clock, ids in self.changes],
        } | ({"former": former} if former else {})

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], next_id: int, alive: NDArray[Any]) -> "Hand":
        """Return what :meth:`to_spec` described, or raise ValueError unless it could be so.

        Parameters
        ----------
        spec : mapping
        next_id : int
            How many clusters there ever were.
        alive : int array (K,)
            Ids of those that there are.
        """
        if spec.keys() - {"former"} != {"names", "pinned", "changes"}:
            raise ValueError(f"what was done by hand must be whole, got {sorted(spec)}.")
        names = {_known(id, next_id): checked_name(name) for id, name in spec["names"]}
        pinned = {_known(id, next_id) for id in spec["pinned"]}
        if not pinned <= set(alive.tolist()) or len(names) < len(spec["names"]):
            raise ValueError("clusters that are pinned must be there, and have one name at most.")
        changes = []
        for what, clock, ids in spec["changes"]:
            if what not in CHANGES or type(clock) is not int or clock < 0 or not ids:
                raise ValueError(f"nobody can have done {what!r} at {clock!r:.80}.")
            changes.append(Change(what, clock, tuple(_known(id, next_id) for id in ids)))
        former = {_known(id, next_id): checked_name(name) for id, name in spec.get("former", ())}
        return cls(names, pinned, changes, former)


def checked_name(name: Any, noun: str = "cluster") -> str:
    """Return the name of a cluster or topic, or raise TypeError or ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a {noun} must be a string, got {name!r:.80}.")
    if not 0 < len(name) <= LONGEST or not name.isprintable() or name != name.strip():
        raise ValueError(
            f"the name of a {noun} must be 1 to {LONGEST} printable letters without blanks at its "
            f"ends, got {name!r:.80}."
        )
    return name


def new_name(name: Any, noun: str = "cluster") -> str:
    """Return a name that may be given, which no id can be mistaken for, or raise an error."""
    if isinstance(name, str) and not name.strip():
        raise ValueError(
            f"the name of a {noun} must not be empty, got {name!r:.80}: give a name, or None (null "
            "in JSON) to take it away."
        )
    checked_name(name, noun)
    try:
        int(name)
    except ValueError:
        return str(name)
    raise ValueError(
        f"the name of a {noun} must not be a whole number, as ids are, got {name!r:.80}: add a "
        "word, such as 'group 1'."
    )


def _known(id: Any, next_id: int) -> int:
    if type(id) is not int or not 0 <= id < next_id:
        raise ValueError(f"there never was a cluster {id!r:.80}.")
    return id
