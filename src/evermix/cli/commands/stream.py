"""``evermix stream``: one pass over a source, with a JSON line for every row."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Any, Self

from evermix._words import counted
from evermix.cli.console import new_row_fit, note, progress_bar
from evermix.cli.input.awaited import note_awaited
from evermix.cli.input.rows import features, naming_lines, take_units
from evermix.cli.input.texts import (
    count_words,
    counted_parts,
    n_without_words,
    shown_words,
    waiting_rows,
    without_words,
)
from evermix.cli.input.times import check_order, check_times
from evermix.cli.options.brokers import with_broker
from evermix.cli.options.mixture import make_mixture, with_default_prior
from evermix.cli.options.settings import Settings, with_run_files
from evermix.cli.output.answers import NO_IDS, Beside, has_no_ids
from evermix.cli.output.broker_lines import BrokerLines, open_stream_answers, placed
from evermix.cli.output.dead_letters import DeadLetters
from evermix.cli.output.lines import check_answers, naming
from evermix.cli.output.plain_facts import warned_of_few
from evermix.cli.runs.beginning import begun, reading, source_of
from evermix.cli.runs.interrupts import Interrupts, Stopped
from evermix.cli.runs.live import Live
from evermix.cli.runs.next_files import (
    Place,
    check_nothing_lost,
    check_stdin,
    note_lost,
    place_after,
    settings_after,
)
from evermix.cli.runs.resuming import check_resumed, read_checkpoint
from evermix.cli.runs.run import Run
from evermix.cli.runs.stream_notes import Totals, check_notes, from_named, lives, outdated
from evermix.cli.runs.taken_names import names_output
from evermix.cli.runs.warm_up import WarmUp, check_waiting, first_counter, with_warm_up
from evermix.engines.batch import Info
from evermix.estimators import Mixture
from evermix.estimators.answers import COLUMNS
from evermix.estimators.files import load_with_extra, save
from evermix.estimators.mixture.fit_results import rows_learnt
from evermix.estimators.mixture.held import clusters_in_words, n_held
from evermix.io.sources import Chunk, Source, SourceError
from evermix.io.sources.encodings import NOT_UTF8
from evermix.io.text_counter import TextCounter
from evermix.state import FADED


def run(settings: Settings) -> None:
    """Learn the rows of a source once."""
    settings = with_run_files(with_broker(settings), Stream.command)
    check_answers(settings.out, grows=True, named=names_output(settings, "out"))
    Stream.main(with_warm_up(with_default_prior(settings, streaming=True)))


class Stream(Run):
    """One pass over a source."""

    command, save_model = "stream", staticmethod(save)
    writes_as_it_learns = True
    model: Mixture

    def __init__(
        self,
        settings: Settings,
        source: Source,
        model: Mixture,
        text: TextCounter | None,
        chunks: Iterator[Chunk],
        notes: dict[str, Any] | None = None,
        place: Place | None = None,
        warm_up: WarmUp | None = None,
    ) -> None:
        super().__init__(settings, model, text, notes)
        self._place = Place([], [], follows=True) if place is None else place
        self._ended = False  # whether the source was read to its end
        self._saved_end = notes is not None and not self._place.follows and notes.get("ended")
        self.source = source
        take_units(model, source)
        self.totals = Totals.beginning_with(model) if notes is None else Totals(**notes["totals"])
        self._chunks = chunks
        self._steps: list[Info] = []
        self._read: Any = None  # what the last chunk has said of what was read
        self._warm_up = warm_up
        if warm_up is None and source.live and source.kind == "text" and text is None:
            self._warm_up = WarmUp(settings)
        self._saved_files: list[Any] = []
        self._first_row = self.totals.rows
        self._saved_rows = self._answered
        self._first_offset = self.totals.offset
        self._dead = DeadLetters(settings.dead_letter, self.positions)
        columns = [*COLUMNS, *["since"] * (settings.time_field is not None)]
        columns += [*["faded"] * (model.forgetting is not None), *["provisional"] * source.live]
        self._beside = Beside(settings, columns)
        self._beside.check(source)
        self._out = open_stream_answers(settings, self.positions.get("out"), notes, self._beside)
        rows = rows_learnt(model.learner_.shown) if model.__sklearn_is_fitted__() else 0
        # Of clusters that this run finds the first id, and the clock before them.
        self._first = (model.lineage_.next_id, model.state_.clock) if rows else (0, 0)
        about = source.kind, rows, notes
        self._live = Live(settings, model, *about, lambda: self.text)

    @classmethod
    def source_of(cls, settings: Settings) -> Source:
        """Open the rows of a stream that begins."""
        return source_of(settings)

    @classmethod
    def begin(cls, settings: Settings, place: Any) -> Self:
        """Open the source and start with its first row."""
        if settings.resume:
            check_nothing_lost(settings)
        page = " The page of --live opens with the first of them."
        note_awaited(settings, page if settings.live is not None else "")
        return cls(*begun(settings))

    @classmethod
    def resume(cls, settings: Settings, place: Any) -> Self:
        """Open the source after the last row of the checkpoint."""
        check_stdin(settings)
        load = partial(load_with_extra, custom=settings.custom)
        saved = read_checkpoint(settings, cls, load)
        place = place_after(settings, saved.notes)
        settings = settings_after(settings, saved, place)
        check_resumed(settings, saved)
        if settings.model is not None:
            note(f"the stream of {settings.checkpoint} goes on; {settings.model} was not read.")
        note_awaited(settings)
        source = place.opened(settings, saved, **reading(settings))
        check_times(source, saved.model.forgetting)
        done = Totals(**saved.notes["totals"])
        model, text, warm_up = saved.model, saved.text, None
        if waiting := saved.notes.get("waiting"):
            warm_up = WarmUp(settings, waiting, model, text)
            model, text = make_mixture(settings, "text", streaming=True), None
        known = done.rows + (0 if warm_up is None else warm_up.rows)
        left = None if settings.limit is None else settings.limit - known
        chunks = iter(()) if left == 0 else source.chunks(done.offset, settings.batch, left)
        note_lost(settings, saved.notes["positions"].get("out"))
        return cls(settings, source, model, text, chunks, saved.notes, place, warm_up)

    def _learn(self, interrupts: Interrupts) -> None:
        settings, totals = self.settings, self.totals
        if self.resumed:  # a run that was killed has not come to that
            self._announce()
        if self._warm_up is not None and not settings.quiet:
            self._warm_up.say(settings)
        if settings.follow and not (settings.drain or settings.quiet):
            end = "; --no-follow reads what is there and ends" * self.resumed
            note(f"following {', '.join(settings.sources)} until a signal (Ctrl-C) ends it{end}.")
        rows = self.source.n_rows
        try:
            with progress_bar("streaming", rows, settings.quiet, start=totals.offset) as progress:
                while settings.limit is None or totals.rows < settings.limit:
                    with self._live.idle(), interrupts.allowed():
                        chunk = next(self._chunks, None)
                    if chunk is None:
                        self._end()
                        return
                    self._take(chunk if settings.to is None else placed(chunk))
                    self._live.turn(self._save_again)
                    progress.update(totals.offset, n_held(self.model) if totals.rows else None)
                    due = self.timer.due or self._files != self._saved_files
                    due |= self._warm_up is not None  # so that no text which was answered is lost
                    due &= self.source.live
                    if due or self._answered - self._saved_rows >= settings.every:
                        self.save()
            self._announce()
        except Stopped:
            if settings.source == "-":  # what was read will not come again
                with suppress(ValueError):
                    self._end_warm_up()
            self._announce()
            raise
        except ValueError as error:  # a bad row, or rows that the family cannot hold
            self._announce()
            self.save()
            skips = isinstance(error, SourceError) and NOT_UTF8 not in str(error)
            remedy = " --skip-bad (to leave out bad rows)" * skips
            raise ValueError(f"{error} {self.farewell()}{remedy}") from error

    def _take(self, chunk: Chunk) -> None:
        """Answer the rows of a chunk, if there are any, and learn them when it is time."""
        waiting = self._warm_up
        if not chunk.ids:
            if self.learnt and waiting is None:  # but perhaps bad ones
                self._pass(chunk)
            return
        if waiting is None:
            self._learn_chunk(chunk)
        elif waiting.rows + len(chunk.ids) >= self.settings.warmup:
            self._end_warm_up(chunk)
        else:
            if not waiting.rows:
                with self.first_step():
                    pass  # from here on there is something to replace an old run with
            clock, mix = waiting.rows, waiting.answer(chunk)
            self._write(self._beside.row_lines(mix, chunk, clock, [], provisional=True))
            self.learnt = True
            self._pass(chunk)

    def _end_warm_up(self, *chunks: Chunk) -> None:
        """Learn the texts that have waited, and write lines for those of the last chunks."""
        waiting = self._warm_up
        if waiting is not None and (waiting.rows or chunks):
            whole = waiting.joined(*chunks)
            self.text, self._warm_up = first_counter(self.settings, self.model, [whole]), None
            self._learn_chunk(whole, answered=waiting.rows)

    def _end(self) -> None:
        """Learn what waits for more rows, of which none are read, and tell of new clusters."""
        self._end_warm_up()
        if self.source.live and self.learnt and not self.model.learner_.model.learns:
            self.model.learner_.settle()
            self._note_steps()
        self._ended = self.settings.limit is None or self.totals.rows < self.settings.limit
        self._announce()

    def _announce(self) -> None:
        """Tell of new clusters that wait for more rows before others hear of them."""
        if self._live.ended():
            self._to_save()

    def _to_save(self) -> None:
        """Note that something has changed without new rows, which is to be saved too."""
        self._saved_rows = min(self._saved_rows, self._answered - 1)

    def _learn_chunk(self, chunk: Chunk, answered: int = 0) -> None:
        """Learn a chunk, and write a line for each of its rows after those that have one."""
        timed = self.model.forgetting is not None and chunk.times is not None
        if timed:  # before anything of it is learnt
            now = self.model.state_.now if self.model.__sklearn_is_fitted__() else None
            check_order(self.source, chunk, now)
        rows = waiting_rows(self.model)
        for freed, part in counted_parts(self.text, chunk, timed):
            self._learn_part(part, freed, answered)
            answered = max(answered - len(part.ids), 0)
            rows.append(part.X)
        count_words(self.text, self.model, chunk, rows)

    def _learn_part(self, chunk: Chunk, freed: list[int], answered: int) -> None:
        """Learn rows, for which some columns are used anew, and write their lines."""
        before, mix = self.totals.rows, self.model
        with self.first_step() if not (before or answered) else nullcontext():
            if freed:
                mix.forget_columns(freed)
            X = features(mix.family, self.text, chunk.X)
            with self._live.learning(chunk), naming_lines(self.source, chunk):
                mix.partial_fit(X, times=chunk.times, observers=[self._observe])
                if not self.source.live and not mix.learner_.model.learns:
                    mix.learner_.settle()  # the first batch is large enough, or all there is
        dropped = [k for info in self._steps for k in info.dropped]
        faded = [k for k in dropped if mix.lineage_.into[k] == FADED]
        provisional = self.source.live and bool(mix.learner_.waiting)
        clock = mix.state_.clock - len(chunk.ids)  # before them; a model may have learnt others
        answers = self._beside.row_lines(mix, chunk, clock, faded, provisional)
        self._write(islice(answers, answered, None))
        self.totals.rows, self.learnt = before + len(chunk.ids), True
        self.totals.without_words += n_without_words(self.text, X)
        self._pass(chunk)
        self._note_steps()

    def _pass(self, chunk: Chunk) -> None:
        """Note how far the source was read."""
        self.totals.offset, self._read = chunk.offset, chunk.read
        self._dead.take(self.source, chunk.offset)

    def _observe(self, _: Mixture, info: Info) -> None:
        self._steps.append(info.summary())

    def _note_steps(self) -> None:
        """Count and trace what was learnt since the last time."""
        for info in self._steps:
            self.totals.log_predictive += info.log_predictive
            time = self.model.learner_.calendar.at(info.clock)
            self.trace.write(info.to_event() | ({} if time is None else {"time": time}))
        self._steps = []

    def _write(self, answers: Iterable[dict[str, Any]]) -> None:
        """Write lines, and let other programs see them."""
        with naming(self.settings.out):
            for line in answers:
                self._out.write(line)
            self._out.flush()

    def _finish(self) -> None:
        if self.source.unfinished:  # every other line was written when its row was learnt
            note(
                f"the last line of {self.settings.sources[-1]} has no newline and may still be "
                "being written, so it was left out. --resume goes on with it when it is whole; "
                "with --complete it is taken as it is."
            )

    def _go(self, interrupts: Interrupts) -> None:
        """Learn until the end; then the page of a file stays until the person there ends it."""
        super()._go(interrupts)
        if self.settings.drain or not self.settings.follow:
            self._live.stay(interrupts, self._save_again)

    def _save_again(self) -> None:
        """Write a checkpoint although no rows were learnt since the last."""
        self._to_save()
        self.save()

    def save(self) -> None:
        """Write a checkpoint, unless nothing was learnt since the last."""
        if self._answered > self._saved_rows or (self._ended and not self._saved_end):
            super().save()
            self._saved_rows, self._saved_files = self._answered, self._files
            self._saved_end = self._ended

    def _kept(self) -> tuple[Any, TextCounter | None]:
        waiting = self._waiting
        return super()._kept() if waiting is None else (waiting.model, waiting.text)

    @property
    def _waiting(self) -> WarmUp | None:
        """The texts that wait for a vocabulary, if there are any."""
        return self._warm_up if self._warm_up is not None and self._warm_up.rows else None

    @property
    def _answered(self) -> int:
        """Number of rows that were learnt, or wait for a vocabulary."""
        return self.totals.rows + (0 if self._waiting is None else self._waiting.rows)

    @property
    def _files(self) -> list[Any]:
        """The files that are followed; a new one is saved at once, to be found after a rotation."""
        return [mark.inode for mark in self._read] if self.settings.follow and self._read else []

    def _notes(self) -> dict[str, Any]:
        marks = self._place.files
        if self.totals.offset > self._first_offset:
            marks = self.source.marks(self.totals.offset, self._read)
        return {
            "kind": self.source.kind,
            "totals": asdict(self.totals),
            "files": [list(mark) for mark in marks],
            "past": [list(mark) for mark in self._place.past],
            "ended": self._ended,
            "units": self.source.units,
            **self._live.notes(),
            **({} if self._waiting is None else {"waiting": self._waiting.notes()}),
            **({"to": self._out.notes()} if isinstance(self._out, BrokerLines) else {}),
        }

    @classmethod
    def check_notes(cls, notes: dict[str, Any]) -> None:
        """Raise unless notes say how far the stream was, and which files it had read."""
        check_notes(notes)
        if "waiting" in notes:
            check_waiting(notes["waiting"])

    def _lengths(self) -> dict[str, int]:
        return {
            "out": self._out.position(),
            **self._dead.positions(),
            **super()._lengths(),
        }

    def close(self) -> None:
        """Close the output files, and the page."""
        self._live.close()
        with naming(self.settings.out):
            self._out.close()
        self._dead.close()
        super().close()

    def _progress(self) -> str:
        return counted(self._answered, "row")

    def _facts(self, seconds: float) -> Iterator[str]:
        totals, mix = self.totals, self.model
        if not totals.rows:
            yield "the source has no rows that can be learnt"
            return
        new = totals.rows - self._first_row
        yield totals.in_words(new)
        others = lives(mix.lineage_, totals)
        yield clusters_in_words(mix, "cluster") + (f" ({others})" if others else "")
        if self.text is not None:
            yield shown_words(self.text)
        yield f"{new / seconds:,.0f} rows/s" if new else "nothing new: all rows were read before"
        if not mix.learner_.waiting:
            yield new_row_fit(totals.log_predictive / totals.rows)

    def _outdated(self) -> Iterator[str]:
        if self.totals.rows:
            yield from outdated(self.settings, self.model)
            yield from from_named(self.model, *self._first)

    def _remarks(self) -> Iterator[str]:
        if self.totals.rows:
            yield from warned_of_few(self.model)
        if self.totals.without_words:
            yield without_words(self.totals.without_words)
        if self.settings.keep_fields and has_no_ids(self.settings, self.source):
            yield NO_IDS

    def _complaints(self) -> Iterable[str]:
        return self.source.complaints
