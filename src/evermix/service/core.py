"""A model of the service: what it has learnt, and how requests change it.

The same requests in the same order give the same model, bit for bit: this is what makes replaying
a log right.
"""

import math
import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evermix.engines.filters.filter import Filter
from evermix.estimators import Mixture
from evermix.estimators.answers import row_answers
from evermix.estimators.data.tables import check_first_names
from evermix.estimators.mixture.card import Card
from evermix.estimators.mixture.held import n_held
from evermix.estimators.mixture.new_words import proba_with_new_words
from evermix.estimators.mixture.validation import rows_to_score
from evermix.hand import UNDO
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.io.text import from_spec
from evermix.io.text_counter import CountedTexts, TextCounter
from evermix.service.bodies import BodyError, Observations, columns
from evermix.service.confirming import Confirming, Questions
from evermix.service.edits import check_edit, edited, parsed_edit
from evermix.service.events import Events, at_row, lives, marked
from evermix.service.forms import taken
from evermix.service.log import Record, Safe
from evermix.service.plans import Plan
from evermix.service.points import Before, points
from evermix.service.remembered import Remembered
from evermix.service.timeline import Timeline
from evermix.service.times import check_times, in_seconds, kind_of_times, times_of

LEARN = "learn"
FATAL = MemoryError, OSError  # errors that need not come again when a request is done again
UNBOUNDED = 2**62  # observations in a body that was taken before


@dataclass
class Core:
    """A model and everything that its answers depend on.

    Attributes
    ----------
    plan : Plan
    mix : Mixture
    text : TextCounter or None
    sequence : int
        Number of the last request that was taken.
    rows : int
        How many rows were learnt.
    learnt_at : float or None
        When the last of them were, in seconds since 1970.
    remembered : Remembered
        Ids of what was learnt.
    events : Events
    timeline : Timeline
    confirming : Confirming
        Clusters that are too new to be announced.
    columns : sequence of str or None
        Names of the columns, where there is no ``text`` to know them.
    naming : dict of int to list of str
        Words that name clusters, by their ids, where columns do not.
    """

    plan: Plan
    mix: Mixture
    text: TextCounter | None
    sequence: int = 0
    rows: int = 0
    remembered: Remembered = field(default_factory=Remembered)
    events: Events = field(default_factory=Events)
    timeline: Timeline = field(default_factory=Timeline)
    confirming: Confirming = field(default_factory=Confirming)
    columns: Sequence[str] | None = None
    naming: dict[int, list[str]] = field(default_factory=dict)
    learnt_at: float | None = None

    @classmethod
    def new(cls, plan: Plan) -> "Core":
        """Return a model that has learnt nothing."""
        return cls(plan, plan.mixture(), plan.counter())

    # ---- files -----------------------------------------------------------------------------

    def to_extra(self) -> dict[str, Any]:
        """Return what is saved beside the mixture, JSON-ready."""
        service = {
            "sequence": self.sequence,
            "rows": self.rows,
            "learnt_at": self.learnt_at,
            "remembered": self.remembered.to_spec(),
            "events": self.events.to_spec(),
            "timeline": self.timeline.to_spec(),
            "confirming": self.confirming.to_spec(),
        }
        return {"text": None if self.text is None else self.text.to_spec(), "service": service}

    @classmethod
    def from_file(cls, plan: Plan, mix: Mixture, extra: dict[str, Any]) -> "Core":
        """Return the model of a checkpoint."""
        text = from_spec(extra["text"]) if extra.get("text") else None
        saved = extra["service"]
        core = cls(
            plan,
            mix,
            text,
            int(saved["sequence"]),
            int(saved["rows"]),
            Remembered.from_spec(saved["remembered"]),
            Events(**saved["events"]),
            Timeline.from_spec(saved.get("timeline", [[]])),
        )
        core.learnt_at = None if (at := saved.get("learnt_at")) is None else float(at)
        if "confirming" in saved:
            core.confirming = Confirming.from_spec(saved["confirming"])
        else:  # an older file: what is there needs no announcement
            core.confirming.next_id = core.lives()[0]
        return core

    def snapshot(self) -> "Core":
        """Return a copy to read from while this one learns; it has no ids and no listeners."""
        memo: dict[int, Any] = {}
        if self.begun:  # steps of the history are only read
            history = self.mix.learner_.history
            memo[id(history)] = history.copy()
        mix = deepcopy(self.mix, memo)
        return Core(self.plan, mix, deepcopy(self.text), self.sequence, self.rows)

    # ---- questions -------------------------------------------------------------------------

    @property
    def begun(self) -> bool:
        """Whether there is something to ask about."""
        return bool(self.mix.__sklearn_is_fitted__())

    @property
    def provisional(self) -> bool:
        """Whether clusters may get other ids, since the first rows wait for more."""
        return self.begun and bool(self.mix.learner_.waiting)

    @property
    def ids(self) -> list[int]:
        """The ids of the clusters."""
        return self.mix.cluster_ids_.tolist() if self.begun else []

    @property
    def n_clusters(self) -> int:
        """The number of clusters that hold a row."""
        return n_held(self.mix) if self.begun else 0

    @property
    def times(self) -> str | None:
        """What the times of observations are; None if they have none."""
        return kind_of_times(self.mix, self.plan.times, self.plan.imported is not None)

    @property
    def clock(self) -> int:
        """How many rows the mixture has learnt; those that wait are not among them."""
        return int(self.mix.state_.clock) if self.begun else 0

    @property
    def names(self) -> Sequence[str] | None:
        """Names of the columns, where the mixture does not know them itself."""
        return self.columns if self.text is None else self.text.words

    def cards(self, *, id: int | None = None, top: int | None = None) -> list[Card]:
        """Return the cards of the largest clusters, or that of one."""
        if id is not None:
            return [self.mix.card(id, names=self.names)]
        return self.mix.cards(names=self.names, top=top) if self.begun else []

    def features(self, given: Observations) -> Any:
        """Return observations to ask about in the form that the mixture takes.

        BodyError: they are of another kind.
        """
        self.check_kind(given)
        if given.kind == "vectors":
            return given.rows
        if given.kind == "records":
            family: Any = self.mix.learner_.model.family if self.begun else None
            return columns(given.rows, [] if family is None else list(map(str, family.names)))
        assert self.text is not None
        return self.text.counts_with_new(given.rows)

    def check_kind(self, given: Observations) -> None:
        """Raise BodyError if the model learns something else."""
        if given.kind != self.plan.kind:
            raise BodyError(f"this model learns {self.plan.kind}, got {given.kind}.")

    def check(self, given: Observations) -> None:
        """Raise ValueError if observations cannot be learnt."""
        self.check_kind(given)
        check_times(given, self.times, time.time())
        if self.begun and self.text is None:
            self._check_fields(given)
            rows_to_score(self.mix, self.mix.learner_.model.family, self.features(given))

    def _check_fields(self, given: Observations) -> None:
        """Raise ValueError if records have fields that the model does not know."""
        if self.begun and given.kind == "records":
            family: Any = self.mix.learner_.model.family
            fields = [name for name in self.features(given) if name not in family.ignored]
            check_first_names(fields, list(map(str, family.names)))

    def predicted(self, given: Observations) -> list[dict[str, Any]]:
        """Return an answer for every row, which is not learnt."""
        proba = self.proba(given)
        best = proba[:, :-1].argmax(axis=1)
        labels = self.mix.cluster_ids_[best].tolist()
        highest = proba[np.arange(len(best)), best].tolist()
        names, answers = self.mix.lineage_.hand.names, list[dict[str, Any]]()
        rows = zip(given.ids, labels, highest, proba[:, -1].tolist(), strict=True)
        for id, cluster, probability, novelty in rows:
            answer: dict[str, Any] = {} if id is None else {"id": id}
            answer |= {"cluster": cluster, "probability": probability, "novelty": novelty}
            if cluster in names:
                answer["name"] = names[cluster]
            answers.append(answer)
        return answers

    def proba(self, given: Observations) -> Any:
        """Return the probability of each cluster and of a new one, (N, K + 1)."""
        if (words := self.words(given)) is not None:
            return proba_with_new_words(self.mix, words)
        return self.mix.predict_proba(self.features(given), new_cluster=True)

    def words(self, given: Observations) -> Any:
        """Return the counts of texts, the last of words without a column; None of other kinds.

        BodyError: nothing was learnt yet, or observations of another kind.
        """
        if not self.begun:
            raise BodyError("the model has learnt nothing yet. Send observations to learn first.")
        self.check_kind(given)
        if self.text is None or isinstance(self.text, EmbeddedTexts):
            return None
        return self.text.with_unknown(given.rows)

    # ---- requests --------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """Do what a record of the log says; what was refused then is refused again."""
        try:
            if record.action == LEARN:
                given = taken(record.body, record.form, UNBOUNDED)
                self.learn(record, given, answered=False)
            else:
                self.edit(record)
        except FATAL:
            raise
        except Exception:
            pass
        self.sequence = record.number

    def learn(
        self, record: Record, given: Observations, answered: bool = True, safe: Safe | None = None
    ) -> Any:
        """Learn observations; those known by id are not learnt.

        Return an answer for each, unless they are not ``answered``. ``safe`` waits until the
        record is on the disk, before which nobody may hear of what was learnt.
        """
        self.sequence = record.number
        places, n = self.remembered.new(given.ids), len(given.rows)
        new = given if len(places) == n else given.part(places)
        learnt = self._learn_new(record, new, answered, safe)
        if len(places) == n or not answered:
            return learnt
        answers: list[dict[str, Any]] = [{} for _ in given.rows]
        again = sorted(set(range(n)) - set(places))
        for place, answer in zip(places, learnt, strict=True):
            answers[place] = answer
        for place, answer in zip(again, self.known(given.part(again)), strict=True):
            answers[place] = answer
        return answers

    def known(self, given: Observations) -> list[dict[str, Any]]:
        """Return answers for rows that were learnt before, as the model sees them now."""
        more = {"new": False, "duplicate": True}
        if self.provisional:
            more["provisional"] = True
        return [answer | more for answer in self.predicted(given)]

    def _learn_new(
        self, record: Record, given: Observations, answered: bool, safe: Safe | None
    ) -> list[dict[str, Any]]:
        """Learn rows, and return an answer for each if they are ``answered``."""
        self._check_fields(given)
        answers = list[dict[str, Any]]()
        times = times_of(given, self.times, record.time, self.mix)
        for some, X, freed in self._parts(given, times):
            before = self.lives()
            if freed:
                self.mix.forget_columns(freed)
            ids, scored = given.ids[some], answered and self.begun  # at first, all rows are new
            novelty = self._novelty(X, len(ids)) if scored else None
            self.mix.partial_fit(X, times=None if times is None else times[some])
            if safe is not None:
                safe()
            if novelty is None and scored:
                novelty = self.mix.learner_.results.novelty.tolist()
            self.remembered.add(ids)
            self.learnt(before, len(ids), record.time)
            self._confirm(given, some, record.time)
            if answered:
                answers += row_answers(
                    self.mix,
                    ids,
                    before.clock,
                    provisional=self.provisional or None,
                    novelty=novelty,
                )
        return answers

    def _confirm(self, given: Observations, some: slice, time: float) -> None:
        """Tell of new clusters that have lasted, now that some of the rows were learnt."""
        whole = len(given.ids[some]) == len(given.ids)
        rows = given if whole else given.part(range(*some.indices(len(given.ids))))
        self.confirming.keep(rows)
        if self.provisional:
            return
        ask = Questions(self.cards, lambda: self.naming, self._labels)
        for event in self.confirming.events(self.mix, rows, ask, time):
            self.events.add(**event)

    def _labels(self, texts: list[str]) -> Sequence[int]:
        """Return the clusters of texts that were learnt before, as the model sees them now."""
        if self.text is None:
            return []
        labels: list[int] = self.mix.predict(self.text.again(texts)).tolist()
        return labels

    def _parts(self, given: Observations, times: Any) -> Iterator[CountedTexts]:
        """Yield observations as rows to learn, cut where columns stand for other words."""
        if self.text is not None:
            yield from self.text.stream(given.rows, in_seconds(times, self.mix))
        elif given.ids:
            yield CountedTexts(slice(0, len(given.ids)), self.features(given), [])

    def _novelty(self, X: Any, n: int) -> list[float] | None:
        """Return the probability of a new cluster for each of n rows; nothing depends on it.

        None: the engine will say it when it learns them.
        """
        if isinstance(self.mix.learner_.engine, Filter) and not self.provisional:
            return None
        try:
            return self.mix.novelty(X).tolist()
        except FATAL:
            raise
        except Exception:  # whether they can be learnt is for the mixture to say
            return [math.nan] * n

    def edit(self, record: Record) -> dict[str, Any]:
        """Do what a person wants with clusters, once for each id."""
        self.sequence = record.number
        given = self.checked_edit(record.action, record.body)
        if given["id"] in self.remembered:
            return {"duplicate": True}
        before, mix, action = self.lives(), self.mix, record.action
        done = edited(mix, action, given)
        if action == UNDO:
            before = self.lives()  # nothing was born, and nothing ended: it was never so
        self.remembered.add([given["id"]])
        self.events.add(**done | {"type": action, "time": record.time, "clock": mix.state_.clock})
        for event in self._tell(before, record.time):
            self.timeline.mark(marked(event), event["cluster"])
        return done

    def checked_edit(self, action: str, body: bytes) -> dict[str, Any]:
        """Return the entries of the body of an edit, or raise BodyError."""
        given = parsed_edit(action, body)
        if given["id"] not in self.remembered:
            return check_edit(self.mix, action, given, self.begun)
        return given

    def lives(self) -> Before:
        """Return how many ids there were, those of the clusters that there are, and the clock."""
        if not self.begun or self.provisional:
            return Before(0, [], self.clock)
        return Before(self.mix.lineage_.next_id, self.ids, self.clock)

    def learnt(self, before: Before, n: int, time: float) -> None:
        """Note that n rows were learnt; ``before`` is how it was before them."""
        first, self.rows, self.learnt_at = self.rows, self.rows + n, time
        if not self.provisional:
            new = self._tell(before, time)
            self.timeline.add(points(self.mix, before, first, n, time, new))

    def _tell(self, before: Before, time: float) -> list[dict[str, Any]]:
        """Tell of births and ends since then, and return them."""
        if self.provisional:
            return []
        when = {"time": time, **at_row(self.mix)}
        found = list(lives(self.mix, before.next_id, before.ids, when))
        for event in found:
            self.events.add(**event)
        return found
