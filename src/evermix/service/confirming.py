"""New clusters that have lasted: which they are, and what is announced of them."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix.engines.filters.keeping import FIRST, next_review
from evermix.estimators import Mixture
from evermix.estimators.answers import FEWEST
from evermix.estimators.mixture.card import Card
from evermix.estimators.mixture.report import naming
from evermix.service.bodies import Observations
from evermix.service.events import Event, at_row

LONGEST_TEXT = 200  # letters of an example
LATEST = 256  # texts that are kept, for clusters whose rows came before they were found


class Questions(NamedTuple):
    """What a model says of its clusters."""

    cards: Callable[..., list[Card]]  # all cards, or that of one ``id``
    words: Callable[[], Mapping[int, Sequence[str]]]  # that name clusters
    labels: Callable[[list[str]], Sequence[int]]  # of texts; none if they are not all it learns by


@dataclass
class Confirming:
    """The clusters that are not confirmed yet.

    Many clusters that a row opens are dropped or merged soon. One is confirmed when it has five
    rows and is still there after a review, after the rows of another request than the one that
    opened it, or when a stream ends or is stopped; and never before the first review, which finds
    all clusters anew.

    Attributes
    ----------
    next_id : int
        Clusters from this id on have not been met.
    waiting : dict of int to dict
        Those that are not confirmed: the id, and perhaps the text, of the last row of each.
    latest : deque of dict
        The latest rows with texts: a cluster that is found later may have had its rows before.
    """

    next_id: int = 0
    waiting: dict[int, dict[str, Any]] = field(default_factory=dict)
    latest: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=LATEST))

    def to_spec(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        waiting = sorted(self.waiting.items())
        return {"next_id": self.next_id, "waiting": waiting, "latest": list(self.latest)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "Confirming":
        """Return what :meth:`to_spec` described."""
        waiting = {int(id): dict(row) for id, row in spec["waiting"]}
        latest = (dict(row) for row in spec.get("latest", ()))
        return cls(int(spec["next_id"]), waiting, deque(latest, LATEST))

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
            again = reviewed and next_review(lineage.found_at(id)) <= clock
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

    def keep(self, given: Observations) -> None:
        """Keep the texts of rows that were learnt, or are to wait."""
        if given.kind == "texts":
            some = range(max(len(given.ids) - LATEST, 0), len(given.ids))
            self.latest.extend(_example(given, i) for i in some if given.rows[i].strip())

    def _see(self, labels: NDArray[np.int64], given: Observations) -> None:
        """Remember the last row of each cluster that waits, of texts the last one that says some.

        Rows of a cluster may all have come before it was found: see :meth:`_look_back`.
        """
        blank = given.kind == "texts" and not all(text.strip() for text in given.rows)
        some = [i for i in range(len(labels)) if not blank or given.rows[i].strip()]
        last = dict(zip(labels[some].tolist(), some, strict=True))
        for id in self.waiting.keys() & last.keys():
            self.waiting[id] = _example(given, last[id])

    def _look_back(self, due: Sequence[int], labels: Callable[[list[str]], Sequence[int]]) -> None:
        """Look for rows of clusters that have none yet among the latest texts."""
        unseen = {id for id in due if not self.waiting.get(id)}
        if unseen and self.latest:
            rows = list(self.latest)
            found = zip(labels([row["text"] for row in rows]), rows, strict=False)
            self.waiting |= {id: row for id, row in found if id in unseen}

    def events(
        self, mix: Mixture, given: Observations | None, ask: Questions, time: float
    ) -> list[Event]:
        """Return an event for each cluster that is confirmed now, after these rows were learnt.

        None: there will be no more.
        """
        due = self.due_at_end(mix) if given is None else self.due(mix, given)
        self._look_back(due, ask.labels)
        found = [ask.cards(id=id)[0] for id in due] if len(due) <= 2 else ask.cards()
        some = sorted((card for card in found if card.id in due), key=lambda card: card.id)
        waited = [(card, self.waiting.pop(card.id, {})) for card in some]
        return [announced(mix, card, row, ask.words(), time) for card, row in waited]


def _example(given: Observations, i: int) -> dict[str, Any]:
    """Return the id, and perhaps the text, of a row."""
    known = given.ids[i]
    row: dict[str, Any] = {} if known is None else {"id": known}
    return row | ({"text": given.rows[i][:LONGEST_TEXT]} if given.kind == "texts" else {})


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
        if card.parent in mix.lineage_.hand.names:
            event["from_name"] = mix.lineage_.hand.names[card.parent]
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
    return event | {"time": time, "iso_time": iso, **at_row(mix)}
