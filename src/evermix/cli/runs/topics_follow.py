"""``evermix topics --follow``: documents are learnt time by time, as they come.

The documents that are there when the run begins are fitted. Those that come later wait until one of
another time comes; then all of a time are learnt at once, from what is known. So what is learnt
does not depend on when documents come, nor on where the run is stopped and resumed.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from evermix._words import counted
from evermix.cli.console import note
from evermix.cli.input.awaited import note_awaited
from evermix.cli.input.documents import (
    Documents,
    documents_of,
    model_times,
    no_documents,
    read_documents,
    split,
)
from evermix.cli.input.model_rows import n_columns
from evermix.cli.input.rows import open_rows
from evermix.cli.options.settings import Settings
from evermix.cli.runs.interrupts import Interrupts
from evermix.cli.runs.learnt_documents import Learnt, note_known_times
from evermix.cli.runs.resuming import Saved, check_resumed, read_checkpoint, resumed_settings
from evermix.cli.runs.stream_notes import check_marks
from evermix.cli.runs.topics import FREE, Topics, check_whole
from evermix.estimators import TopicModel
from evermix.estimators.data.times import shown_label
from evermix.estimators.files import load_topics
from evermix.io.sources import Chunk, Mark, Source
from evermix.io.sources.several import joined


class FollowedTopics(Topics):
    """Fits the documents of files, and learns those that are added to them, time by time."""

    reading: ClassVar[Mapping[str, Any]] = {"marked": True, "complete": False}

    def __init__(
        self,
        settings: Settings,
        documents: Documents,
        model: TopicModel,
        notes: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(settings, documents, model, notes)
        self.marks, self.rows_of_fit = list(documents.marks), documents.offset
        if notes is not None and "files" in notes:
            self.marks = [Mark(*mark) for mark in notes["files"]]
            self.rows_of_fit = notes["rows_of_fit"]

    @classmethod
    def resume(cls, settings: Settings, place: Any) -> Self:
        """Go on with the fit, or after the last time that was learnt."""
        saved = read_checkpoint(settings, cls, load_topics)
        notes, before = saved.notes, settings.changed(**saved.notes["settings"])
        settings = resumed_settings(settings, saved, (*FREE, "source"))
        cls.check_settings(settings)
        check_resumed(settings, saved)
        if settings.sources != before.sources:
            check_whole(before, saved)
            notes |= {"files": [], "rows_of_fit": 0}  # another file, from its start
        elif "files" not in notes:
            raise ValueError(
                f"the run of {settings.checkpoint} was begun without --follow, so it does not say "
                f"how far {', '.join(before.sources)} was read. Follow a file of new documents, or "
                "start again with --follow and --overwrite."
            )
        saved.model.set_params(draws=settings.draws)
        documents = no_documents(saved.text, notes["kind"], saved.model.n_features_in_)
        if not _is_whole(settings, saved):
            source = open_rows(settings, None, True, kind=notes["kind"], complete=False)
            until = notes["rows_of_fit"]
            documents = read_documents(source, settings, saved.text, settings.quiet, until)
        return cls(settings, documents, saved.model, notes)

    @staticmethod
    def check_settings(settings: Settings) -> None:
        """Raise ValueError for what cannot be followed, before anything is read."""
        Topics.check_settings(settings)
        if settings.time_field is None:
            raise ValueError(
                "--follow learns the documents of one time after another: name the field that "
                "holds their times with --time-field."
            )
        if "-" in settings.sources:
            raise ValueError("--follow waits for more at the end of files, got standard input (-).")

    def _histories(self, before: list[Learnt], now: Learnt) -> list[Learnt]:
        if not now.documents or (before and before[-1].sources == now.sources):
            return before
        return [*before, now]

    def _learn(self, interrupts: Interrupts) -> None:
        if len(self.documents):
            self._sweep(interrupts)
            self._finish()
            self.save()
        self.say_found()
        if not self.settings.quiet:
            note(f"following {', '.join(self.settings.sources)} until a signal (Ctrl-C) ends it.")
            note("documents of a time are learnt together, once one of another time has come.")
            note_awaited(self.settings)
        with interrupts.allowed():  # it waits for a file that does not exist yet
            source = self._followed()
        times = _by_time(source, self.settings)
        while True:
            with interrupts.allowed():
                chunk, marks = next(times)
            self._take(source, chunk, marks)

    def _followed(self) -> Source:
        """Open the files after what was learnt."""
        features = None if self.text is not None else n_columns(self.model)
        reading: dict[str, Any] = {"kind": self.documents.kind, "marks": self.marks}
        return open_rows(
            self.settings, features, time_labels=True, follow=True, marked=True, **reading
        )

    def _take(self, source: Source, chunk: Chunk, marks: list[Mark]) -> None:
        """Learn the documents of a time, report, and save: in this order, so that none is lost."""
        settings = self.settings
        documents = documents_of(chunk, source, settings, self.text)
        if len(documents):
            self.documents = documents
            self.parts = split(documents, settings.held_out, settings.seed, some=False)
            rows = self.rows(self.parts.learnt)
            if rows["times"] is not None and not settings.quiet:
                note_known_times(self.model, rows["times"])
            try:
                self.model.partial_fit(**rows)
            except ValueError as error:  # a time before those that are known
                raise ValueError(f"{error} {self.farewell()}") from error
            self.sweeps, now = self.model.n_sweeps_, Learnt.of(settings.sources, documents)
            self._count(now)
            self._finish()
        self.marks = marks
        self.save()
        if len(documents) and not settings.quiet:
            assert documents.times is not None
            time, n = shown_label(documents.times[0]), len(documents)
            note(
                f"{time}: {counted(n, 'document')} learnt; "
                f"{counted(self.model.n_topics_, 'topic')}."
            )
            for warning in self._lost_words():
                note(warning)

    def _count(self, now: Learnt) -> None:
        """Take note of documents that were learnt."""
        last = self.history[-1:]
        if last and last[0].sources == now.sources:
            now = now._replace(documents=now.documents + last[0].documents)
            self.history = self.history[:-1]
        self.history = [*self.history, now]

    def save(self) -> None:
        """Write a checkpoint, unless no documents were learnt since the last."""
        if len(self.documents):
            super().save()

    @classmethod
    def check_notes(cls, notes: dict[str, Any]) -> None:
        """Raise unless notes are those of topics, with marks of what was read if there are any."""
        super().check_notes(notes)
        check_marks(notes.get("files", []))

    def _notes(self) -> dict[str, Any]:
        files = [list(mark) for mark in self.marks]
        return super()._notes() | {"files": files, "rows_of_fit": self.rows_of_fit}

    def _progress(self) -> str:
        n = sum(run.documents for run in self.history)
        return counted(n, "document") if self.model.gone_on_ else super()._progress()


def _by_time(source: Source, settings: Settings) -> Iterator[tuple[Chunk, list[Mark]]]:
    """Yield consecutive documents of the same time, once one of another time has come.

    With them come marks of what was read up to the last of them.
    """
    waiting: list[Chunk] = []
    marks: list[Mark] = []
    last = None
    for chunk in source.chunks(0, 1):
        if not chunk.ids:
            continue
        assert chunk.times is not None
        time = model_times(chunk.times, settings.period, settings.time_field)[0]
        if waiting and time != last:
            yield joined(waiting), marks
            waiting = []
        waiting.append(chunk)
        last, marks = time, source.marks(chunk.offset, chunk.read)


def _is_whole(settings: Settings, saved: Saved) -> bool:
    """Whether all draws of the fit were made."""
    model = saved.model
    return bool(model.gone_on_ or model.n_draws_ >= settings.draws)
