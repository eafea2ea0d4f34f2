"""What can be read of a model, as JSON-ready values, from a snapshot of it."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from evermix.estimators.mixture.held import absent, held
from evermix.estimators.mixture.report import naming
from evermix.service.core import Core
from evermix.service.edits import LISTED
from evermix.service.models import AbsentError
from evermix.service.served import Served

MOST_STEPS = 1000  # of a history in one answer
WORDED = 100  # clusters that are listed with their words
MOST_CARDS = 20


def about(name: str, worker: Served) -> dict[str, Any]:
    """Return the settings and the state of a model."""
    facts: dict[str, Any] = {
        "name": name,
        "status": worker.status,
        "settings": worker.plan.to_spec(),
        "rows": worker.core.rows,
        "clusters": worker.clusters,
        "sequence": worker.core.sequence,
        "last_event": worker.core.events.number,
        "waiting": worker.waiting,
        "learnt_at": worker.core.learnt_at,
    }
    return facts if worker.problem is None else facts | {"problem": worker.problem}


def clusters(core: Core, words: bool = False) -> dict[str, Any]:
    """Return the clusters that people are shown, the largest first, perhaps with their words."""
    found, hidden = list[dict[str, Any]](), 0
    if core.begun:
        mix, hand, some = core.mix, core.mix.lineage_.hand, held(core.mix)
        columns = mix.cluster_ids_, mix.tally_.mass, mix.weights_
        rows = zip(*(values[some].tolist() for values in columns), strict=True)
        hidden = int(np.sum(~some))
        for id, size, share in sorted(rows, key=lambda row: (-row[1], row[0])):
            life = {"name": hand.names.get(id), "pinned": id in hand.pinned}
            found.append({"id": id, **life, "size": size, "share": share})
    if words:
        worded = {card.id: card for card in core.cards(top=WORDED)}
        for entry in found:
            card = worded.get(entry["id"])
            if card is not None:
                named = naming(core.mix, card, core.naming)
                entry |= {"words": named, "trend": card.trend, "growing": card.growing}
                entry["born"] = card.born
                entry |= {} if card.since is None else {"since": card.since}
    return {**_as_of(core), "clusters": found} | ({"hidden": hidden} if hidden else {})


def card(core: Core, id: str) -> dict[str, Any]:
    """Return what there is to know of a cluster."""
    if not re.fullmatch("[0-9]{1,18}", id) or int(id) not in core.ids:
        if core.begun and re.fullmatch("[0-9]{1,18}", id):
            raise AbsentError(absent(core.mix.lineage_, int(id), LISTED))
        raise AbsentError(f"there is no cluster {id:.40}; {LISTED}.")
    (found,) = core.cards(id=int(id))
    words = naming(core.mix, found, core.naming)
    parts = [trait.parts() for trait in found.traits]
    rows = [example.parts() for example in found.examples]
    answer = {"card": found.to_dict(), "words": words, "traits": parts, "examples": rows}
    return {**_as_of(core), **answer}


def cards(core: Core, ids: Iterable[int]) -> dict[str, Any]:
    """Return the cards of those of some clusters that there are, by id, 20 at most."""
    there = set(core.ids)
    some = [id for id in dict.fromkeys(ids) if id in there][:MOST_CARDS]
    return {str(id): card(core, str(id))["card"] for id in some}


def history(core: Core) -> dict[str, Any]:
    """Return what happened in the last steps."""
    steps = core.mix.history_[-MOST_STEPS:] if core.begun else []
    return {**_as_of(core), "steps": [step.to_event() for step in steps]}


def lineage(core: Core) -> dict[str, Any]:
    """Return birth, parent, end and heir of every cluster that there ever was."""
    lives: list[dict[str, Any]] = []
    if core.begun:
        known = core.mix.lineage_
        for id, (born, ended, into) in enumerate(
            zip(known.born, known.ended, known.into, strict=True)
        ):
            end = {"ended": None if ended < 0 else ended, "into": None if into < 0 else into}
            origin = {"found": known.found_at(id), "from": known.parents.get(id)}
            lives.append({"id": id, "born": born, **origin, **end})
    return {**_as_of(core), "lineage": lives}


def _as_of(core: Core) -> dict[str, Any]:
    """Return which requests an answer knows of."""
    known: dict[str, Any] = {"sequence": core.sequence, "rows": core.rows}
    return known | ({"provisional": True} if core.provisional else {})
