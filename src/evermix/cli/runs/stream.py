"""One pass over a source: rows in, JSON lines out, and checkpoints from which to go on.

A checkpoint holds the mixture, how far the source was read and how long the output files were, so
that a run that was stopped anywhere and resumed writes the same bytes as one that was not.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Self

from evermix.cli.input.reading import features, open_rows, take
from evermix.cli.options.components import make_engine, make_mixture, make_text_counter
from evermix.cli.options.forgetting import check_order, check_times
from evermix.cli.options.settings import StreamSettings
from evermix.cli.output.lines import Lines, Trace, naming
from evermix.cli.output.output_files import Replacing, checkpoint_written
from evermix.cli.runs.resuming import load_run, open_again
from evermix.cli.runs.run import check_resumed
from evermix.engines.batch import Info
from evermix.estimators import Mixture
from evermix.estimators.files import save
from evermix.io.sources import Chunk, Source
from evermix.io.sources.several import Mark, Several, joined
from evermix.io.text import TextCounter
from evermix.state import FADED

FIRST_ROWS = 1000  # in a first batch of numbers, from which a mixture takes their scale


@dataclass
class Totals:
    """What a stream has done since it began, resumed runs included."""

    offset: int = 0
    rows: int = 0
    births: int = 0
    merges: int = 0
    faded: int = 0
    log_predictive: float = 0.0

    @property
    def skipped(self) -> int:
        """Rows of the source that were blank or bad."""
        return self.offset - self.rows


class Session:
    """A stream that is being learnt, and the files that it writes.

    Use :meth:`begin` or :meth:`resume` to make one, within a ``with`` block.
    """

    def __init__(
        self,
        settings: StreamSettings,
        checkpoint: Path,
        source: Source,
        mix: Mixture,
        *,
        text: TextCounter | None,
        chunks: Iterator[Chunk],
        totals: Totals,
        positions: dict[str, int],
    ) -> None:
        self.settings = settings
        self.checkpoint = checkpoint
        self.source = source
        self.mix = mix
        self.text = text
        self.chunks = chunks
        self.totals = totals
        self._saved_rows = totals.rows
        self._out = Lines(settings.out, positions.get("out"))
        self._trace = Trace(settings.trace, positions)

    @classmethod
    def begin(cls, settings: StreamSettings, checkpoint: Path, skip_bad: bool) -> Self:
        """Start at the first row; a checkpoint that is there will be replaced."""
        source = open_rows(settings, skip_bad, None)
        mix = make_mixture(settings, source.kind, make_engine(settings))
        check_times(source, mix.forgetting)
        chunks = source.chunks(0, settings.batch)
        text = None
        if source.kind == "text":
            head = take(chunks, 0 if settings.hash else settings.warmup)
            known = [text for chunk in head for text in chunk.X]
            text = make_text_counter(settings, known, "a larger --warmup, or --hash")
        else:
            head = take(chunks, FIRST_ROWS)
            head = [joined(head)] if head else []
        return cls(
            settings,
            checkpoint,
            source,
            mix,
            text=text,
            chunks=chain(head, chunks),
            totals=Totals(),
            positions={},
        )

    @classmethod
    def resume(
        cls, settings: StreamSettings, given: set[str], checkpoint: Path, skip_bad: bool
    ) -> Self:
        """Go on after the last row of a checkpoint; ``given`` names the options to compare."""
        saved = load_run(checkpoint, "stream")
        settings = settings.resumed(saved.notes["settings"], given)
        check_resumed(settings, saved.notes["settings"], checkpoint)
        source = open_again(settings, saved, checkpoint, skip_bad)
        check_times(source, saved.mix.forgetting)
        totals = Totals(**saved.notes["totals"])
        if isinstance(source, Several):
            source.recall([Mark(*mark) for mark in saved.notes.get("files", [])])
        return cls(
            settings,
            checkpoint,
            source,
            saved.mix,
            text=saved.text,
            chunks=source.chunks(totals.offset, settings.batch),
            totals=totals,
            positions=saved.notes["positions"],
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with naming(self.settings.out):
            self._out.close()
        self._trace.close()

    @property
    def unsaved(self) -> int:
        """Rows learnt since the last checkpoint."""
        return self.totals.rows - self._saved_rows

    def learn(self, chunk: Chunk) -> None:
        """Learn a chunk and write a line for each of its rows."""
        before, times = self.totals.rows, None
        if self.mix.forgetting is not None and chunk.times is not None:
            times = chunk.times
            check_order(self.source, chunk, self.mix.state_.now if before else None)
        outputs = self.settings.outputs.values()
        with nullcontext() if before else Replacing(self.checkpoint, outputs):
            self.mix.partial_fit(features(self.mix.family, self.text, chunk.X), times=times)
            steps = self._steps_since(before)
        faded = self._faded(steps)
        with naming(self.settings.out):
            self._write_rows(chunk, before, faded)
        self.totals.offset, self.totals.rows = chunk.offset, before + len(chunk.ids)
        self.totals.faded += len(faded)
        for info in steps:
            self.totals.births += len(info.births)
            self.totals.merges += len(info.merges)
            self.totals.log_predictive += info.log_predictive
            self._trace.write(info.to_event())

    def _write_rows(self, chunk: Chunk, clock: int, faded: list[int]) -> None:
        """Write a line for each row of a chunk that began at this clock; clusters have faded."""
        labels, lineage = self.mix.labels_.tolist(), self.mix.lineage_
        rows = zip(chunk.ids, labels, self.mix.probabilities_.tolist(), strict=True)
        gone: dict[int, list[int]] = {}
        for cluster in faded:  # before the row after its end, or perhaps behind the last one
            tick = min(lineage.ended[cluster] + 1, clock + len(labels))
            gone.setdefault(tick, []).append(cluster)
        for tick, (name, cluster, probability) in enumerate(rows, clock + 1):
            # A row of weight one moves the clock by one, so the clock at a birth names its row.
            new = lineage.born[cluster] == tick
            line = {"id": name, "cluster": cluster, "probability": probability, "new": new}
            if self.mix.forgetting is not None:
                line["faded"] = gone.get(tick, [])
            self._out.write(line)
        self._out.flush()

    def save(self) -> None:
        """Write a checkpoint, unless nothing has happened since the last."""
        if not self.unsaved:
            return
        stream: dict[str, Any] = {
            "settings": self.settings.to_spec(),
            "kind": self.source.kind,
            "totals": asdict(self.totals),
            "positions": {"out": self._out.position(), **self._trace.positions()},
        }
        if isinstance(self.source, Several):
            stream["files"] = [list(mark) for mark in self.source.marks(self.totals.offset)]
        text = None if self.text is None else self.text.to_spec()
        save(self.mix, self.checkpoint, {"stream": stream, "text": text})
        checkpoint_written(self.checkpoint)
        self._saved_rows = self.totals.rows

    def _faded(self, steps: list[Info]) -> list[int]:
        """Return the clusters that have faded in these steps."""
        into = self.mix.lineage_.into
        return [k for info in steps for k in info.dropped if into[k] == FADED]

    def _steps_since(self, clock: int) -> list[Info]:
        recent = takewhile(lambda info: info.clock > clock, reversed(self.mix.history_))
        return list(recent)[::-1]
