"""What the checkpoint of a stream notes beside the model: how far it was, and where."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evermix._schema import check_number
from evermix._words import counted, listed
from evermix.cli.options.settings import Settings
from evermix.cli.output import broker_lines
from evermix.cli.runs.going_on import shown_source
from evermix.estimators import Mixture
from evermix.estimators.mixture.held import lasting
from evermix.hand import MERGE
from evermix.io.brokers import is_address
from evermix.io.sources import Mark
from evermix.state import ALIVE, DROPPED, FADED, Lineage

SHOWN = 5  # clusters that were split from ones with names, or merged with them
RELABELLED = 0.1  # share of rows in other clusters than their lines say, from which on it is said


@dataclass
class Totals:
    """Counts since the stream began, before it was resumed included.

    ``without_words`` are the texts without a word that is counted. ``known`` is the number of ids
    that the model had with which it began, and ``came`` are those of the clusters that lived then.
    """

    offset: int = 0
    rows: int = 0
    log_predictive: float = 0.0
    without_words: int = 0
    known: int = 0
    came: list[int] = field(default_factory=list)

    @classmethod
    def beginning_with(cls, mix: Mixture) -> "Totals":
        """Return those of a stream that begins with a model, which may be a new one."""
        if not mix.__sklearn_is_fitted__() or mix.learner_.waiting:
            return cls()
        into = mix.lineage_.into
        return cls(known=len(into), came=[id for id, end in enumerate(into) if end == ALIVE])

    @property
    def skipped(self) -> int:
        """Rows of the source that were blank or bad."""
        return self.offset - self.rows

    def in_words(self, new: int) -> str:
        """Return how many rows there are, and how many of them are new, or were skipped."""
        bad = f", {counted(self.skipped, 'blank or bad row')} skipped" if self.skipped else ""
        now = f", {new:,} of them new" if 0 < new < self.rows else ""
        return f"{counted(self.rows, 'row')}{now}{bad}"


def check_notes(notes: dict[str, Any]) -> None:
    """Raise unless notes say how far the stream was, and which files it had read."""
    totals = Totals(**notes["totals"])
    check_number("rows", totals.rows, (0, check_number("offset", totals.offset)))
    float(totals.log_predictive)
    check_number("texts without words", totals.without_words, (0, totals.rows))
    for id in [totals.known, *totals.came]:
        check_number("a cluster", id)
    if not isinstance(notes.get("ended", True), bool):
        raise TypeError(f"ended must be true or false, got {notes['ended']!r:.80}")
    check_marks([*notes.get("files", []), *notes.get("past", [])])
    waiting = notes.get("confirming", {"next_id": 0, "waiting": []})
    check_number("next_id", waiting["next_id"])
    for id, row in waiting["waiting"]:
        check_number("a cluster", id)
        dict(row)
    for row in waiting.get("latest", []):
        str(row["text"])
    check_units(notes)
    if "to" in notes:
        broker_lines.check_notes(notes["to"])


def check_units(notes: dict[str, Any]) -> None:
    """Raise unless the units of columns are words; files of earlier versions have none."""
    for name, unit in notes.get("units", {}).items():
        if not (isinstance(name, str) and isinstance(unit, str)):
            raise TypeError(f"the unit of {name!r:.80} must be a string, got {unit!r:.80}")


def check_marks(marks: list[Any]) -> None:
    """Raise unless these are marks of files that were read."""
    for mark in marks:
        path, size, rows, digest, inode, offset = Mark(*mark)
        os.fspath(path)
        check_number("size", size)
        check_number("rows", rows or 0)
        check_number("inode", inode or 0)
        for name, text in (("a digest", digest), ("an offset", offset)):
            if not isinstance(text, str | None):
                raise TypeError(f"{name} must be a string, got {text!r:.80}")


def lives(lineage: Lineage, totals: Totals) -> str:
    """Return in words which clusters are new, and how many others there were; "" if none.

    Most of those were opened by a few rows, and merged or dropped soon. Clusters that the first
    review joined with others are left out, as in reports.
    """
    ids = totals.came + [id for id in lasting(lineage) if id >= totals.known]
    into = np.array([lineage.into[id] for id in ids], dtype=np.int64)
    said = []
    if totals.came:
        new = np.sum(into[len(totals.came) :] == ALIVE)
        said += [f"{len(totals.came):,} came with the model", f"{new:,} new"]
    if gone := np.sum((into >= 0) | (into == DROPPED)):
        said.append(f"{counted(f'{gone:,}', 'other')} came and went")
    if faded := np.sum(into == FADED):
        said.append(f"{faded:,} faded")
    return ", ".join(said)


def relabelled(mix: Mixture) -> float:
    """Return the share of rows that have left the clusters of their answers, at least.

    Reviews have moved them to others meanwhile. Those that others have replaced are not known: it
    is by how much clusters were given more rows than they hold now. 0 of models that forget.
    """
    if mix.forgetting is not None:
        return 0.0
    holds = dict(zip(mix.cluster_ids_.tolist(), mix.tally_.mass.tolist(), strict=True))
    given: dict[int, float] = {}
    for some in mix.learner_.course.bins:
        ids = mix.lineage_.current(np.array(list(some.mass), dtype=np.int64)).tolist()
        for id, mass in zip(ids, some.mass.values(), strict=True):
            given[id] = given.get(id, 0.0) + mass
    left = sum(max(mass - holds.get(id, 0.0), 0.0) for id, mass in given.items() if id != -1)
    return left / (sum(given.values()) or 1.0)


def from_named(mix: Mixture, first: int, clock: int) -> Iterator[str]:
    """Yield what has become of clusters with names since a clock, but for what was done by hand.

    These are splits, of which the new clusters have ids from ``first`` on, and merges with others
    that have another name.
    """
    lineage, hand = mix.lineage_, mix.lineage_.hand
    names, parents = hand.names, lineage.parents
    new = (id for id in mix.cluster_ids_.tolist() if id >= first and parents.get(id) in names)
    if said := [f"{id} from {parents[id]} ({names[parents[id]]})" for id in new]:
        yield f"split from clusters with names: {listed(said, SHOWN)}; a pin keeps a cluster whole"
    by_hand = {id for change in hand.changes if change.what == MERGE for id in change.ids[1:]}
    gone = [id for id in hand.former if lineage.ended[id] > clock and id not in by_hand]
    heirs = lineage.current(np.array(gone, dtype=np.int64)).tolist()
    pairs = zip(gone, heirs, strict=True)
    lost = [(id, heir) for id, heir in pairs if names.get(heir) not in (None, hand.former[id])]
    if said := [f"{hand.called(id)} into {heir} ({names[heir]})" for id, heir in lost]:
        yield f"merged with clusters of other names: {listed(said, SHOWN)}; a pin keeps them apart"


def outdated(settings: Settings, mix: Mixture) -> Iterator[str]:
    """Yield what is no longer true of the lines that were written, and how to get true ones."""
    share, path = relabelled(mix), settings.checkpoint
    if share > RELABELLED and path is not None:
        gone = any(name == "-" or is_address(name) for name in settings.sources)  # to be read again
        files = ["FILE"] if gone else map(shown_source, settings.sources)
        predict = shlex.join(["evermix", "predict", str(path), *files])
        yield (
            f"clusters have changed after lines were written: at least {100 * share:.0f} % of "
            f"the rows are in others now. Their present clusters: {predict}"
        )
