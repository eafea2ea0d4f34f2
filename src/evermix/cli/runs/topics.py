"""The run of ``evermix topics``: sweeps over the documents of a source, then a report."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

from evermix._schema import check_number
from evermix._words import counted
from evermix.cli.console import note, progress_bar
from evermix.cli.input.documents import Documents, read_documents, split
from evermix.cli.input.rows import open_rows
from evermix.cli.options.settings import Settings
from evermix.cli.options.topics import DEFAULT_SAMPLER, parts
from evermix.cli.output.output_files import check_suffix
from evermix.cli.output.topic_report import TopicReport
from evermix.cli.runs.going_on import command_to_go_on
from evermix.cli.runs.interrupts import Interrupts
from evermix.cli.runs.learnt_documents import (
    PIPE,
    Learnt,
    check_learnt,
    note_known_times,
    read_learnt,
    with_these,
)
from evermix.cli.runs.lost_words import lost_words
from evermix.cli.runs.resuming import (
    Saved,
    check_resumed,
    open_again,
    read_checkpoint,
    resumed_settings,
)
from evermix.cli.runs.run import Run
from evermix.cli.runs.taken_names import names_output, other_rows
from evermix.estimators import TopicModel
from evermix.estimators.data.times import shown_label
from evermix.estimators.files import load_topics, save
from evermix.estimators.plain_words import topics_in_words
from evermix.estimators.topics.card import OverTime
from evermix.estimators.topics.report import course_of
from evermix.io.sources import Source
from evermix.report.canvas import check_picture
from evermix.report.lifetimes import UNCERTAIN, span_of
from evermix.topics.words.snapshots import TopicSweep

TIMELESS = ("hdp", "hngg")  # priors that take no times
FLAT = ("mngg", "tngg")  # priors without a level of documents, which can do without times
OF_RESULTS = "out", "figure", "curves", "documents", "top_words", "share", "min_documents"
FREE = *OF_RESULTS, "draws", "follow"  # what may change at --resume


class Topics(Run):
    """Sweeps over the documents of a source."""

    command, save_model = "topics", staticmethod(save)
    of_results = frozenset(OF_RESULTS)
    reading: ClassVar[Mapping[str, Any]] = {"fields": "values"}  # how documents there are read
    model: TopicModel

    def __init__(
        self,
        settings: Settings,
        documents: Documents,
        model: TopicModel,
        notes: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(settings, model, documents.text, notes)
        self.documents = documents
        self.parts = split(documents, settings.held_out, settings.seed)
        self.sweeps: int = 0 if notes is None else notes["sweeps"]
        # Whether these documents are still to be learnt, from what is known of others.
        self.waits: bool = notes is not None and notes.get("waits", False)
        self.chosen: list[str] = [] if notes is None else notes.get("chosen", [])
        self.nothing_new = False
        self.added: list[str] = []  # times that no document had that was learnt before
        self.report: TopicReport | None = None
        before = [] if notes is None else read_learnt(notes)
        self.history = self._histories(before, Learnt.of(settings.sources, documents))

    def _histories(self, before: list[Learnt], now: Learnt) -> list[Learnt]:
        """Return the documents of all runs, those of this one last."""
        return with_these(before, now, self.resumed and self.model.gone_on_)

    @classmethod
    def source_of(cls, settings: Settings) -> Source:
        """Open the documents of a run that begins."""
        return open_rows(settings, None, time_labels=True, **cls.reading)

    @classmethod
    def begin(cls, settings: Settings, place: Any) -> Self:
        """Read the source; a checkpoint that is there will be replaced."""
        cls.check_settings(settings)
        model = make_model(settings)
        source = cls.source_of(settings)
        documents = read_documents(source, settings, None, settings.quiet, first=True)
        _check_one_time(documents, settings)
        if settings.prior not in TIMELESS:
            model.set_params(period=documents.period)
        run = cls(settings.changed(period=documents.period), documents, model)
        run.chosen = ["period"] if documents.period != settings.period else []
        return run

    @classmethod
    def resume(cls, settings: Settings, place: Any) -> Self:
        """Read the source again, for the model of the checkpoint."""
        saved = read_checkpoint(settings, cls, load_topics)
        before = settings.changed(**saved.notes["settings"])
        if settings.sources == before.sources and "files" in saved.notes:
            raise ValueError(
                f"the run of {settings.checkpoint} follows {', '.join(before.sources)}. Go on with "
                "--follow, or give new documents in a file of their own."
            )
        settings = resumed_settings(settings, saved, (*FREE, "source")).changed(follow=False)
        cls.check_settings(settings)
        check_resumed(settings, saved)
        source = open_again(settings, saved, time_labels=True, fields="values")
        documents = read_documents(source, settings, saved.text, settings.quiet)
        same = settings.sources == before.sources != PIPE
        last = _are_last(settings, documents, saved)
        if same and not last and _is_first_fit(saved):
            raise other_rows(settings)
        if not (same or last):
            check_whole(before, saved)
            saved.notes["waits"] = True  # these follow
        saved.model.set_params(draws=settings.draws)
        run = cls(settings, documents, saved.model, saved.notes)
        if run.waits:
            _note_replaced(settings, before)
        return run

    @staticmethod
    def check_settings(settings: Settings) -> None:
        """Raise ValueError for what cannot be done, before anything is read."""
        pictures = [path for path in (settings.figure, settings.curves) if path is not None]
        if settings.time_field is None:
            if settings.prior not in (*TIMELESS, *FLAT):
                raise ValueError(
                    f"--prior {settings.prior} is a model over time, and wants to know the times "
                    "of documents: name the field or column that holds them, such as --time-field "
                    "year. Topics without times are found with --prior hdp."
                )
            if pictures or settings.period:
                wanted = "--period" if settings.period else "--figure and --curves"
                raise ValueError(f"{wanted} want times. Name their field with --time-field.")
        for path in pictures:
            check_picture(path)
        for option, suffix in (("out", ".json"), ("documents", ".jsonl")):
            if not names_output(settings, option):
                check_suffix(f"--{option}", settings.values[option], [suffix])

    def rows(self, chosen: Any) -> dict[str, Any]:
        """Return counts and times of some documents, as the model takes them."""
        times = self.documents.times if self.settings.prior not in TIMELESS else None
        return {"X": self.documents.X[chosen], "times": None if times is None else times[chosen]}

    def _learn(self, interrupts: Interrupts) -> None:
        if self.waits:
            rows = self.rows(self.parts.learnt)
            if rows["times"] is not None and not self.settings.quiet:
                note_known_times(self.model, rows["times"])
            before = OverTime.of(self.model).times
            with interrupts.allowed():  # a signal leaves what is known as it was
                self.model.partial_fit(**rows)
            self.added = list(map(str, OverTime.of(self.model).times[len(before) :]))
            self.learnt, self.waits, self.sweeps = True, False, self.model.n_sweeps_
        elif self.resumed and self.model.gone_on_:
            self.nothing_new = True
        else:
            self._sweep(interrupts)

    def _sweep(self, interrupts: Interrupts) -> None:
        """Make the sweeps of a fit."""
        settings = self.settings
        total = settings.burn_in + settings.draws
        with progress_bar("sweeps", total, settings.quiet, "topic") as progress:

            def observe(_: TopicModel, sweep: TopicSweep) -> None:
                self.learnt, self.sweeps = True, sweep.number
                burn_in = "" if sweep.kept else ", burn-in"
                quality = f"fit {sweep.log_joint[0]:,.1f}{burn_in}"
                progress.update(sweep.number, sweep.n_topics[0], quality)
                self.trace.write(sweep._asdict())
                every = settings.every
                if self.timer.due if every is None else sweep.number % every == 0:
                    self.save()

            with interrupts.allowed():  # a signal waits until the sweep is whole
                words = {"vocabulary": self.documents.words}
                self.fit(self.rows(self.parts.learnt), observe, words)

    def _finish(self) -> None:
        self.report = TopicReport(
            self.model,
            self.settings,
            self.documents,
            self.parts,
            sources=[source for run in self.history for source in run.sources],
            held=self.rows(self.parts.held) if len(self.parts.held) else None,
            timeless=self.settings.prior in TIMELESS,
        )
        self.report.write()

    @classmethod
    def check_notes(cls, notes: dict[str, Any]) -> None:
        """Raise unless notes hold a number of sweeps, which documents, and whether they wait."""
        check_number("sweeps", notes["sweeps"])
        check_learnt(notes)
        if type(notes.get("waits", False)) is not bool:
            raise TypeError(f"waits must be true or false, got {notes['waits']!r:.80}")
        for row, id, title in notes.get("typical", []):
            check_number("row", row)
            if not isinstance(id, str | int) or not isinstance(title, str):
                raise TypeError(f"documents have an id and a title, got {id!r:.80}")

    def _notes(self) -> dict[str, Any]:
        return {
            "kind": self.documents.kind,
            "sweeps": self.sweeps,
            "waits": self.waits,
            "chosen": self.chosen,
            "learnt": [list(run) for run in self.history],
            "typical": self._typical(),
        }

    def _typical(self) -> list[list[Any]]:
        """Return row, id and title of the documents that a report names, once all is learnt."""
        model, documents, learnt = self.model, self.documents, self.parts.learnt
        if model.gone_on_ or model.n_draws_ < self.settings.draws:
            return []
        rows = sorted({row for card in model.cards() for row, _ in card.documents})
        places = [(row, int(learnt[row])) for row in rows]
        return [[row, documents.ids[d], documents.titles[d]] for row, d in places]

    def _progress(self) -> str:
        return f"{self.sweeps:,} of {self.settings.burn_in + self.settings.draws:,} sweeps"

    def _facts(self, seconds: float) -> Iterator[str]:
        assert self.report is not None
        documents, report = self.documents, self.report
        n_topics, chains = self.model.traces_["n_topics"], self.settings.chains
        gone_on, times = self.model.gone_on_, f"{len(report.times):,} times"
        of_times = f", {times} in all" if gone_on else f" of {times}"
        new = "new " if gone_on and not self.nothing_new else ""
        yield f"{len(documents):,} {new}documents{of_times if report.times else ''}"
        if self.added:
            yield (
                f"{span_of(self.added)} added after the fit: small topics have a little less there "
                f"than in a fit of all documents, and {UNCERTAIN}"
            )
        if new and documents.unknown:
            yield f"{documents.unknown:.1%} of their words are not among those of the first fit"
        if self.nothing_new:
            yield "nothing new: all of them were learnt before"
        empty = [f"{counted(documents.empty, 'document')} without words"] if documents.empty else []
        bad = [counted(documents.skipped, "blank or bad row")] if documents.skipped else []
        if empty or bad:
            verb = "is" if documents.empty + documents.skipped == 1 else "are"
            yield f"{' and '.join(empty + bad)} {verb} left out"
        of = f" of {chains} chains" if chains > 1 else ""
        mean = f"{n_topics.mean():,.0f} on average over {len(n_topics):,} draws{of}"
        yield f"{topics_in_words(self.model.weights_)}, in the draw that is shown ({mean})"
        if not gone_on:
            kept = self.settings.checkpoint is not None
            command = command_to_go_on("topics", self.settings) if kept else "a run with"
            yield f"the fit {course_of(self.model, command, kept)}"
        if report.perplexity is not None:
            held = len(self.parts.held)
            yield f"perplexity {report.perplexity:,.1f} of {held:,} documents held out"
        yield f"{seconds:.1f} s"
        if report.picture is not None:
            yield f"picture {os.path.relpath(report.picture)}"
        elif report.old_picture is not None:
            yield f"no new picture, since {report.old_picture} is there (--figure FILE makes one)"

    def _remarks(self) -> Iterator[str]:
        if self.model.gone_on_ and not self.nothing_new:
            yield from self._lost_words()

    def _lost_words(self) -> Iterator[str]:
        """Yield a warning if documents that were just learnt share words that are not counted."""
        sources = [source for run in self.history for source in run.sources]
        saved, path = self.settings.to_spec(), self.settings.checkpoint
        assert path is not None  # without one, no documents follow others
        yield from lost_words(self.documents.unknown_words, saved, sources, path)

    def _complaints(self) -> Iterable[str]:
        return self.documents.complaints


def _are_last(settings: Settings, documents: Documents, saved: Saved) -> bool:
    """Whether these are the documents of the last run, whose files have other names now."""
    last = read_learnt(saved.notes)[-1:]
    return [run.digest for run in last] == [Learnt.of(settings.sources, documents).digest]


def _is_first_fit(saved: Saved) -> bool:
    """Whether the documents that the notes name are those of a fit, and no others followed."""
    follow = saved.model.gone_on_ or saved.notes.get("waits", False)
    return bool(read_learnt(saved.notes)) and not follow


def check_whole(before: Settings, saved: Saved) -> None:
    """Raise ValueError if other documents cannot follow yet."""
    whole = saved.model.gone_on_ or saved.model.n_draws_ >= before.draws
    if saved.notes.get("waits", False) or not whole:
        raise ValueError(
            f"the documents of {', '.join(before.sources)} are not learnt yet, so others cannot "
            "follow. Go on with them first, by the same command with that source."
        )


def _note_replaced(settings: Settings, before: Settings) -> None:
    """Say which files of earlier documents will be written anew."""
    own = {option: path for option, path in settings.places.items() if option != "--trace"}
    old = [path for option, path in own.items() if before.places.get(option) == path]
    old = [os.path.relpath(path) for path in old if os.path.isfile(path)]
    if old:
        note(f"written anew, with what these documents bring: {', '.join(old)}.")


def make_model(settings: Settings) -> TopicModel:
    """Return the topic model of these settings."""
    prior, sampler = parts()
    name = settings.sampler
    if name is None and sampler.given(settings, DEFAULT_SAMPLER):
        name = DEFAULT_SAMPLER
    return TopicModel(
        prior=prior.make(settings, settings.prior),
        alpha=settings.alpha,
        sampler=None if name is None else sampler.make(settings, name),
        burn_in=settings.burn_in,
        draws=settings.draws,
        chains=settings.chains,
        random_state=settings.seed,
        tol=settings.tol,
        patience=settings.patience,
    )


def _check_one_time(documents: Documents, settings: Settings) -> None:
    """Raise ValueError for a single time, in which no topic can change."""
    times = documents.times
    if times is None or settings.prior in TIMELESS or len(set(times.tolist())) > 1:
        return
    finer = ", or a finer --period" if settings.period not in (None, "day") else ""
    raise ValueError(
        f"all documents are of the same time, {shown_label(times[0])}, and topics over time want "
        f"at least two. Give documents of other times{finer}, or find topics without times with "
        "--prior hdp."
    )
