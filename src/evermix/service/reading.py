"""What can be read of a model, as JSON-ready values, from a snapshot of it."""

import re
from typing import Any

from evermix.service.core import Core
from evermix.service.models import AbsentError
from evermix.service.worker import Worker

MOST_STEPS = 1000  # of a history in one answer


def about(name: str, worker: Worker) -> dict[str, Any]:
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
    }
    return facts if worker.problem is None else facts | {"problem": worker.problem}


def clusters(core: Core) -> dict[str, Any]:
    """Return the clusters, the largest first."""
    found: list[dict[str, Any]] = []
    if core.begun:
        mix, hand = core.mix, core.mix.lineage_.hand
        rows = zip(core.ids, mix.tally_.mass.tolist(), mix.weights_.tolist(), strict=True)
        for id, size, share in sorted(rows, key=lambda row: (-row[1], row[0])):
            life = {"name": hand.names.get(id), "pinned": id in hand.pinned}
            found.append({"id": id, **life, "size": size, "share": share})
    return {**_as_of(core), "clusters": found}


def card(core: Core, id: str) -> dict[str, Any]:
    """Return what there is to know of a cluster."""
    if not re.fullmatch("[0-9]{1,18}", id) or int(id) not in core.ids:
        raise AbsentError(f"there is no cluster {id:.40}; GET clusters lists those that there are.")
    words = None if core.text is None else core.text.words
    return {**_as_of(core), "card": core.mix.card(int(id), names=words).to_dict()}


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
            lives.append({"id": id, "born": born, "from": known.parents.get(id), **end})
    return {**_as_of(core), "lineage": lives}


def _as_of(core: Core) -> dict[str, Any]:
    """Return which requests an answer knows of."""
    known: dict[str, Any] = {"sequence": core.sequence, "rows": core.rows}
    return known | ({"provisional": True} if core.provisional else {})
