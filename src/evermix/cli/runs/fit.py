"""A fit of all rows of a source: laps over them, checkpoints from which to go on, then the lines.

A checkpoint holds the mixture, and of the lap in progress what its trace will say, so that a run
that was stopped anywhere and resumed ends with the same bits as one that was not.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from evermix.cli.input.cluster import Cluster
from evermix.cli.input.reading import open_rows
from evermix.cli.input.rows import Rows, read_rows
from evermix.cli.options.components import make_engine, make_mixture, make_text_counter
from evermix.cli.options.settings import FitSettings
from evermix.cli.output.lines import Trace, naming, open_lines
from evermix.cli.output.output_files import Replacing, checkpoint_written
from evermix.cli.runs.laps import LapLog, renewed
from evermix.cli.runs.pacing import Pace
from evermix.cli.runs.resuming import going_on, load_run, open_again
from evermix.cli.runs.run import check_resumed
from evermix.engines import Engine
from evermix.engines.batch import Info
from evermix.estimators import Mixture
from evermix.estimators.files import save
from evermix.io.sources import Source
from evermix.io.text import TextCounter
from evermix.state import State

HELD = 2**28  # bytes of rows that are held although they could be read again

Show = Callable[[float, Info], None]


class Fitting:
    """A fit in progress, and the files that it writes.

    Use :meth:`begin` or :meth:`resume` to make one, within a ``with`` block.
    """

    def __init__(
        self,
        settings: FitSettings,
        checkpoint: Path,
        source: Source,
        rows: Rows,
        mix: Mixture,
        *,
        text: TextCounter | None,
        log: LapLog | None = None,
        positions: dict[str, int],
    ) -> None:
        self.settings = settings
        self.checkpoint = checkpoint
        self.source = source
        self.rows = rows
        self.mix = mix
        self.log = LapLog() if log is None else log
        self.learnt = log is not None  # whether there is anything to save
        self._resumed = log is not None
        self._text = text
        self._X: Any = rows.features(mix.family, text)
        self._pace = Pace()
        self._trace = Trace(settings.trace, positions)

    @classmethod
    def begin(
        cls, settings: FitSettings, checkpoint: Path, quiet: bool, cluster: Cluster | None
    ) -> Self:
        """Read the source and start anew; a checkpoint that is there will be replaced."""
        source = open_rows(settings, settings.skip_bad, None)
        mix = make_mixture(settings, source.kind, make_engine(settings))
        rows = _read(source, settings, mix.engine, quiet, cluster)
        text = None
        if source.kind == "text":
            text = make_text_counter(settings, rows.texts(), "--hash")
        return cls(settings, checkpoint, source, rows, mix, text=text, positions={})

    @classmethod
    def resume(
        cls,
        settings: FitSettings,
        given: set[str],
        checkpoint: Path,
        quiet: bool,
        cluster: Cluster | None,
    ) -> Self:
        """Read the source again and go on; ``given`` names the options to compare."""
        saved = load_run(checkpoint, "fit")
        assert isinstance(saved.mix.engine, Engine)
        free = {"out", *saved.mix.engine.may_change}
        settings = settings.resumed(saved.notes["settings"], given, free)
        check_resumed(settings, saved.notes["settings"], checkpoint)
        source = open_again(settings, saved, checkpoint, settings.skip_bad)
        engine = renewed(saved.mix.engine, make_engine(settings), given)
        saved.mix.set_params(engine=engine)
        return cls(
            settings,
            checkpoint,
            source,
            _read(source, settings, engine, quiet, cluster),
            saved.mix,
            text=saved.text,
            log=LapLog.from_spec(saved.notes["log"]),
            positions=saved.notes["positions"],
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._trace.close()

    @property
    def engine(self) -> Engine:
        """The engine of the fit."""
        assert isinstance(self.mix.engine, Engine)
        return self.mix.engine

    @property
    def held(self) -> int:
        """Rows that are held out for validation."""
        records = self.mix.state_.memo.values()
        return sum(int(record["held"].sum()) for record in records if "held" in record)

    def learn(self, show: Show, every: int | None) -> None:
        """Make all laps that are left.

        Parameters
        ----------
        show : callable
            Told after every step how many laps are done, and what the step brought.
        every : int or None
            Laps between two checkpoints; None for as often as costs little, also within a lap.
        """

        def watch(mix: Mixture, info: Info) -> None:
            self.learnt = True
            lap = self.log.add(info)
            show(mix.state_.lap + self.log.rows / self.rows.n, info)
            if lap is not None:
                self._trace.write(lap.to_event())
            if self._due(mix.state_, every):
                self.save()

        if not self._resumed:
            with Replacing(self.checkpoint, self.settings.outputs.values()) as replaced:
                self.mix.fit(self._X, observers=[replaced, watch])
            return
        with going_on(self.settings, self.checkpoint):
            self.mix.resume(self._X, observers=[watch])

    def save(self) -> None:
        """Write a checkpoint."""
        fit = {
            "settings": self.settings.to_spec(),
            "kind": self.source.kind,
            "log": self.log.to_spec(),
            "positions": self._trace.positions(),
        }
        text = None if self._text is None else self._text.to_spec()
        with self._pace.writing():
            save(self.mix, self.checkpoint, {"fit": fit, "text": text})
            checkpoint_written(self.checkpoint)

    def write_rows(self) -> None:
        """Write a line for each row."""
        found = map(int, self.mix.labels_), map(float, self.mix.probabilities_)
        with naming(self.settings.out), open_lines(self.settings.out) as lines:
            for name, cluster, probability in zip(self.rows.ids(), *found, strict=True):
                lines.write({"id": name, "cluster": cluster, "probability": probability})

    def _due(self, state: State, every: int | None) -> bool:
        if every is not None:
            return state.at == 0 and state.lap % every == 0
        return self._pace.due


def _read(
    source: Source,
    settings: FitSettings,
    engine: Engine | None,
    quiet: bool,
    cluster: Cluster | None,
) -> Rows:
    """Read the rows of a fit; those that can be read again, and are many, are not held."""
    assert engine is not None
    if cluster is not None:
        return cluster.rows(source, engine, quiet)
    again = engine.rereads and settings.source != "-"
    # Visiting batches at random means to begin anew again and again, where rows are no array.
    forward = again and engine.reads_in_order
    return read_rows(source, quiet, map_arrays=again, most=HELD if forward else math.inf)
