"""Births, merges and ends of clusters, numbered over the whole life of a model."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from evermix.estimators import Mixture
from evermix.state import FADED

KEPT = 10_000  # events that can be replayed

Event = dict[str, Any]


class Events:
    """The last events of a model.

    Attributes
    ----------
    number : int
        Of the last event; the first one is 1.
    kept : deque of dict
        The last ones.
    """

    def __init__(self, number: int = 0, kept: Iterable[Event] = ()) -> None:
        self.number = number
        self.kept: deque[Event] = deque(kept, KEPT)
        self._listeners: list[Callable[[Event], None]] = []

    def add(self, **event: Any) -> None:
        """Number an event, keep it, and tell it to all who listen."""
        self.number += 1
        numbered = {"number": self.number, **event}
        self.kept.append(numbered)
        for tell in list(self._listeners):
            tell(numbered)

    def after(self, number: int) -> tuple[list[Event], bool]:
        """Return the events behind a number, and whether some of them are no longer kept."""
        some = [event for event in list(self.kept) if event["number"] > number]
        return some, len(some) < self.number - number

    def listen(self, tell: Callable[[Event], None]) -> None:
        """Have events passed to a function, in the thread that learns."""
        self._listeners.append(tell)

    def leave(self, tell: Callable[[Event], None]) -> None:
        """Undo :meth:`listen`."""
        self._listeners.remove(tell)

    def to_spec(self) -> dict[str, Any]:
        """Return number and events as JSON-ready values."""
        return {"number": self.number, "kept": list(self.kept)}


def at_row(mix: Mixture) -> dict[str, Any]:
    """Return how many rows there were, and when the last of them came, if rows have times."""
    clock = int(mix.state_.clock)
    when = mix.learner_.calendar.at(clock)
    return {"clock": clock} | ({} if when is None else {"row_time": when})


def marked(event: Event) -> str:
    """Return what a birth or an end is on the timeline: "split" if it was from another cluster."""
    return "split" if "from" in event else str(event["type"])


def lives(
    mix: Mixture, next_id: int, alive: Sequence[int], when: Mapping[str, Any]
) -> Iterator[Event]:
    """Yield an event for every cluster that was born or ended since there were ``next_id`` ids.

    ``alive`` are the ids that there were then, ``when`` says when that was noticed.
    """
    lineage, calendar = mix.lineage_, mix.learner_.calendar
    born = range(next_id, lineage.next_id)
    for id in born:
        parent, since = lineage.parents.get(id), calendar.at(lineage.born[id])
        origin = {} if parent is None else {"from": parent}
        began = {"born": lineage.born[id]} | ({} if since is None else {"since": since})
        yield {"type": "birth", "cluster": id, **origin, **began, **when}
    for id in [*alive, *born]:
        into = lineage.into[id]
        if into >= 0:
            yield {"type": "merge", "cluster": id, "into": into, **when}
        elif lineage.ended[id] >= 0:
            why = "faded" if into == FADED else "dropped"
            yield {"type": "death", "cluster": id, "why": why, **when}
