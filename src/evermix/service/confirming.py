"""New clusters that have lasted: which they are, and what is announced of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix.engines.filters.review import FIRST, next_review
from evermix.estimators import Mixture
from evermix.estimators.mixture.card import Card
from evermix.estimators.mixture.report import naming
from evermix.service.bodies import Observations
from evermix.service.events import Event

FEWEST = 5.0  # rows of a cluster that is confirmed
LONGEST_TEXT = 200  # letters of an example


@dataclass
class Confirming:
    """The clusters that are not confirmed yet.

    Many clusters that a row opens are dropped or merged soon. One is confirmed when it has five
    rows and is still there after a review, after the rows of another request than the one that
    opened it, or at the end of a stream; and never before the first review, which finds all
    clusters anew.

    Attributes
    ----------
    next_id : int
        Clusters from this id on have not been met.
    waiting : dict of int to dict
        Those that are not confirmed: the id, and perhaps the text, of the last row of each.
    """

    next_id: int = 0
    waiting: dict[int, dict[str, Any]] = field(default_factory=dict)

    def to_spec(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {"next_id": self.next_id, "waiting": sorted(self.waiting.items())}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "Confirming":
        """Return what :meth:`to_spec` described."""
        return cls(int(spec["next_id"]), {int(id): dict(row) for id, row in spec["waiting"]})

    def due(self, mix: Mixture, given: Observations) -> list[int]:
        """Return the ids of the clusters that are confirmed now, after these rows were learnt."""
        lineage, clock = mix.lineage_, mix.state_.clock
        met, self.next_id = self.next_id, lineage.next_id
        if not self.waiting and met == self.next_id:
            return []
        reviewed = mix.state_.lookback is not None
        found = list[int]()
        for id, mass in zip(mix.cluster_ids_.tolist(), mix.tally_.mass.tolist(), strict=True):
            if id < met and id not in self.waiting:
                continue
            self.waiting.setdefault(id, {})
            early = reviewed and clock < FIRST
            again = reviewed and next_review(lineage.born[id]) <= clock
            if (again or (id < met and not early)) and mass >= FEWEST:
                found.append(id)
        alive = set(mix.cluster_ids_.tolist())
        self.waiting = {id: row for id, row in self.waiting.items() if id in alive}
        self._see(mix.labels_, given)
        return sorted(found)

    def due_at_end(self, mix: Mixture) -> list[int]:
        """Return the ids of the clusters that are confirmed since no more rows come."""
        if mix.state_.lookback is not None and mix.state_.clock < FIRST:
            return []
        masses = dict(zip(mix.cluster_ids_.tolist(), mix.tally_.mass.tolist(), strict=True))
        for id in masses:
            if id >= self.next_id:
                self.waiting.setdefault(id, {})
        self.next_id = mix.lineage_.next_id
        return sorted(id for id in self.waiting if masses.get(id, 0.0) >= FEWEST)

    def _see(self, labels: NDArray[np.int64], given: Observations) -> None:
        """Remember the last row of each cluster that waits."""
        last = dict(zip(labels.tolist(), range(len(labels)), strict=True))
        for id in self.waiting.keys() & last.keys():
            known = given.ids[last[id]]
            row: dict[str, Any] = {} if known is None else {"id": known}
            if given.kind == "texts":
                row["text"] = given.rows[last[id]][:LONGEST_TEXT]
            self.waiting[id] = row

    def events(
        self,
        mix: Mixture,
        given: Observations | None,
        cards: Callable[..., list[Card]],
        words: Callable[[], Mapping[int, Sequence[str]]],
        time: float,
    ) -> list[Event]:
        """Return an event for each cluster that is confirmed now, after these rows were learnt.

        None: there will be no more. ``cards`` returns all cards, or that of one ``id``; ``words``
        returns those that name clusters.
        """
        due = self.due_at_end(mix) if given is None else self.due(mix, given)
        found = [cards(id=id)[0] for id in due] if len(due) <= 2 else cards()
        some = sorted((card for card in found if card.id in due), key=lambda card: card.id)
        waited = [(card, self.waiting.pop(card.id, {})) for card in some]
        return [announced(mix, card, row, words(), time) for card, row in waited]


def announced(
    mix: Mixture,
    card: Card,
    example: Mapping[str, Any],
    words: Mapping[int, Sequence[str]],
    time: float,
) -> Event:
    """Return the event that says that a cluster is confirmed, and what it is."""
    event: Event = {"type": "confirmed", "cluster": card.id}
    if card.name is not None:
        event["name"] = card.name
    if card.parent is not None:
        event["from"] = card.parent
    if card.since is not None:
        event["since"] = card.since
    event |= {
        "size": round(card.size),
        "share": round(card.share, 6),
        "words": list(naming(mix, card, {id: list(some) for id, some in words.items()})),
        "traits": [str(trait) for trait in card.traits],
    }
    if example:
        event["example"] = dict(example)
    elif card.examples:
        event["example"] = {"row": card.examples[0].row, "values": dict(card.examples[0].values)}
    iso = datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds")
    return event | {"time": time, "iso_time": iso, "clock": mix.state_.clock}
