"""``evermix stream``: one pass over a source, with a JSON line for every row."""

import os
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from typing import Any, Self

import numpy as np

from evermix._schema import check_number
from evermix._xp import Array
from evermix.cli.console import progress_bar, shown_time
from evermix.cli.input.rows import features, open_rows
from evermix.cli.input.texts import counted_parts, in_seconds, shown_words, stream_counter
from evermix.cli.options.mixture import make_mixture, mixture_options, with_default_prior
from evermix.cli.options.option import Option
from evermix.cli.options.settings import Settings, with_run_files
from evermix.cli.output.lines import Lines, naming
from evermix.cli.runs.interrupts import Interrupts
from evermix.cli.runs.run import (
    NOTHING,
    Run,
    check_resumed,
    open_again,
    read_checkpoint,
    resumed_settings,
)
from evermix.engines.batch import Info
from evermix.estimators import Mixture
from evermix.estimators.files import load_with_extra, save
from evermix.forgetting import Exponential
from evermix.io.sources import Chunk, Source, SourceError
from evermix.io.sources.several import Mark, Several, joined
from evermix.io.text_counter import TextCounter
from evermix.state import FADED

FIRST_ROWS = 1000  # in a first batch of numbers, from which a mixture takes their scale


def options(custom: tuple[type, ...]) -> list[Option]:
    """Return the options of the command."""
    return mixture_options(custom, streaming=True)


def run(settings: Settings) -> None:
    """Learn the rows of a source once."""
    Stream.main(with_run_files(with_default_prior(settings, streaming=True)))


@dataclass
class Totals:
    """Counts since the stream began, before it was resumed included."""

    offset: int = 0
    rows: int = 0
    log_predictive: float = 0.0

    @property
    def skipped(self) -> int:
        """Rows of the source that were blank or bad."""
        return self.offset - self.rows


class Stream(Run):
    """One pass over a source."""

    command, save_model = "stream", staticmethod(save)
    model: Mixture

    def __init__(
        self,
        settings: Settings,
        source: Source,
        model: Mixture,
        text: TextCounter | None,
        chunks: Iterator[Chunk],
        notes: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(settings, model, text, notes)
        self.source = source
        self.totals = Totals() if notes is None else Totals(**notes["totals"])
        self._chunks = chunks
        self._first_row = self._saved_rows = self.totals.rows
        self._out = Lines(settings.out, self.positions.get("out"))

    @classmethod
    def begin(cls, settings: Settings, place: Any) -> Self:
        """Open the source and start with its first row."""
        source = open_rows(settings, None)
        mix = make_mixture(settings, source.kind, streaming=True)
        _check_times(source, mix.forgetting)
        chunks = source.chunks(0, settings.batch)
        text = None
        if source.kind == "text":
            head = _take(chunks, 0 if settings.hash else settings.warmup)
            known = [text for chunk in head for text in chunk.X]
            text = stream_counter(settings, mix, known, "a larger --warmup, or --hash")
        else:
            head = _take(chunks, FIRST_ROWS)
            head = [joined(head)] if head else []
        return cls(settings, source, mix, text, chain(head, chunks))

    @classmethod
    def resume(cls, settings: Settings, place: Any) -> Self:
        """Open the source after the last row of the checkpoint."""
        load = partial(load_with_extra, custom=settings.custom)
        saved = read_checkpoint(settings, cls, load)
        before, now = settings.changed(**saved.notes["settings"]).sources, settings.source
        # Files may have been added after the last one.
        free = {"source"} if settings.sources[: len(before)] == before else set[str]()
        settings = resumed_settings(settings, saved, free).changed(source=now)
        check_resumed(settings, saved)
        source = open_again(settings, saved)
        _check_times(source, saved.model.forgetting)
        if isinstance(source, Several):
            source.recall([Mark(*mark) for mark in saved.notes.get("files", [])])
        chunks = source.chunks(saved.notes["totals"]["offset"], settings.batch)
        return cls(settings, source, saved.model, saved.text, chunks, saved.notes)

    def _learn(self, interrupts: Interrupts) -> None:
        settings, totals = self.settings, self.totals
        try:
            with progress_bar("streaming", self.source.n_rows, settings.quiet) as progress:
                while settings.limit is None or totals.rows < settings.limit:
                    with interrupts.allowed():
                        chunk = next(self._chunks, None)
                    if chunk is None:
                        return
                    self._check_order(chunk)
                    timed = self.model.forgetting is not None and chunk.times is not None
                    for freed, part in counted_parts(self.text, chunk, timed):
                        self._learn_chunk(part, freed)
                    progress.update(totals.offset, self.model.n_clusters_)
                    if totals.rows - self._saved_rows >= settings.every:
                        self.save()
        except ValueError as error:  # a bad row, or rows that the family cannot hold
            self.save()
            remedy = " --skip-bad (to leave out bad rows)" * isinstance(error, SourceError)
            raise ValueError(f"{error} {self.farewell()}{remedy}") from error

    def _check_order(self, chunk: Chunk) -> None:
        """Raise ValueError if a row goes back in time, before anything of it is learnt."""
        if self.model.forgetting is not None and chunk.times is not None:
            now = self.model.state_.now if self.totals.rows else None
            _check_order(self.source, chunk, now)

    def _learn_chunk(self, chunk: Chunk, freed: list[int]) -> None:
        """Learn a chunk, of which some columns are used anew, and write a line for each row."""
        before, mix = self.totals.rows, self.model
        times = None if mix.forgetting is None else chunk.times
        with self.first_step() if not before else nullcontext():
            if freed:
                mix.forget_columns(freed)
            X = features(mix.family, self.text, chunk.X)
            steps = _learn_rows(mix, X, times)
        faded = [k for info in steps for k in info.dropped if mix.lineage_.into[k] == FADED]
        with naming(self.settings.out):
            self._write_rows(chunk, before, faded)
        self.totals.offset, self.totals.rows = chunk.offset, before + len(chunk.ids)
        for info in steps:
            self.totals.log_predictive += info.log_predictive
            self.trace.write(info.to_event())
        self.learnt = True

    def _write_rows(self, chunk: Chunk, clock: int, faded: list[int]) -> None:
        """Write a line for each row of a chunk that began at this clock; clusters have faded."""
        labels, lineage = self.model.labels_.tolist(), self.model.lineage_
        rows = zip(chunk.ids, labels, self.model.probabilities_.tolist(), strict=True)
        gone: dict[int, list[int]] = {}
        for cluster in faded:  # before the row after its end, or perhaps behind the last one
            tick = min(lineage.ended[cluster] + 1, clock + len(labels))
            gone.setdefault(tick, []).append(cluster)
        newborn = {k for k in set(labels) if lineage.born[k] > clock}
        for tick, (name, cluster, probability) in enumerate(rows, clock + 1):
            new = cluster in newborn
            newborn.discard(cluster)
            line = {"id": name, "cluster": cluster, "probability": probability, "new": new}
            if self.model.forgetting is not None:
                line["faded"] = gone.get(tick, [])
            self._out.write(line)
        self._out.flush()

    def _finish(self) -> None:
        pass  # every line was written when its row was learnt

    def save(self) -> None:
        """Write a checkpoint, unless nothing was learnt since the last."""
        if self.totals.rows > self._saved_rows:
            super().save()
            self._saved_rows = self.totals.rows

    def _notes(self) -> dict[str, Any]:
        notes: dict[str, Any] = {"kind": self.source.kind, "totals": asdict(self.totals)}
        if isinstance(self.source, Several):
            notes["files"] = [list(mark) for mark in self.source.marks(self.totals.offset)]
        return notes

    @classmethod
    def check_notes(cls, notes: dict[str, Any]) -> None:
        """Raise unless notes say how far the stream was, and which files it had read."""
        totals = Totals(**notes["totals"])
        check_number("rows", totals.rows, (0, check_number("offset", totals.offset)))
        float(totals.log_predictive)
        for path, *numbers in notes.get("files", []):
            size, rows = numbers
            os.fspath(path)
            check_number("size", size)
            check_number("rows", 0 if rows is None else rows)

    def _lengths(self) -> dict[str, int]:
        return {"out": self._out.position(), **super()._lengths()}

    def close(self) -> None:
        """Close the output files."""
        with naming(self.settings.out):
            self._out.close()
        super().close()

    def _progress(self) -> str:
        return f"{self.totals.rows:,} rows"

    def _facts(self, seconds: float) -> Iterator[str]:
        totals, mix = self.totals, self.model
        if not totals.rows:
            yield "the source has no rows that can be learnt"
            return
        skipped = f", {totals.skipped:,} blank or bad rows skipped" if totals.skipped else ""
        yield f"{totals.rows:,} rows{skipped}"
        into = np.array(mix.lineage_.into)
        faded = f", {np.sum(into == FADED):,} faded" if mix.forgetting is not None else ""
        moves = f"{len(into):,} born, {np.sum(into >= 0):,} merged{faded}"
        yield f"{mix.n_clusters_:,} clusters ({moves})"
        if self.text is not None:
            yield shown_words(self.text)
        new = totals.rows - self._first_row
        yield f"{new / seconds:,.0f} rows/s" if new else "nothing new"
        if not mix.learner_.waiting:
            yield f"log predictive {totals.log_predictive / totals.rows:.3f} per row"

    def _complaints(self) -> Iterable[str]:
        return self.source.complaints


def _learn_rows(mix: Mixture, X: Any, times: Array | None) -> list[Info]:
    """Learn rows, and return what happened in each step."""
    steps: list[Info] = []
    mix.partial_fit(X, times=times, observers=[lambda _, info: steps.append(info.summary())])
    if not mix.learner_.model.learns:
        mix.learner_.settle()  # the first batch is large enough, or all there is
    return steps


def _take(chunks: Iterator[Chunk], rows: int) -> list[Chunk]:
    """Return the first chunks that together have so many rows, or all there are."""
    taken: list[Chunk] = []
    try:
        while sum(len(chunk.ids) for chunk in taken) < rows:
            taken.append(next(chunks))
    except StopIteration:
        pass
    except SourceError as error:
        raise SourceError(
            f"{error} {NOTHING} Correct the row, or leave out bad rows with --skip-bad."
        ) from error
    return taken


def _check_times(source: Source, forgetting: Exponential | None) -> None:
    """Raise ValueError if a half-life is of another kind than the times of rows."""
    if forgetting is None or source.dated is None or source.dated == forgetting.dated:
        return
    if source.dated:
        raise ValueError(
            "the times of the rows are dates, so --half-life must be a duration such as 12h or 7d, "
            f"got {forgetting.half_life:g}. Leave out --time-field to count rows."
        )
    raise ValueError(
        "the times of the rows are numbers, so --half-life must be a number in their unit, got a "
        "duration."
    )


def _check_order(source: Source, chunk: Chunk, since: float | None) -> None:
    """Raise ValueError that names a row which goes back in time, if there is one.

    ``since`` is the time of the row before the first.
    """
    times = in_seconds(chunk.times)
    before = np.append(times[0] if since is None else since, times[:-1])
    back = np.flatnonzero(times < before)
    if len(back):
        row, dated = int(back[0]), bool(source.dated)
        raise ValueError(
            f"{source.place(int(chunk.rows[row]))}: its time, {shown_time(times[row], dated)}, is "
            f"before that of the row before it, {shown_time(before[row], dated)}, and a stream "
            "that forgets must not go back in time. Sort the rows by time and start again with "
            "--overwrite, or take this one out and go on."
        )
