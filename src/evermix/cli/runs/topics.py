"""Topics of a source in the making: sweeps, checkpoints from which to go on, then the findings.

A checkpoint holds the chains and the draws, so that a run that was stopped anywhere and resumed
ends with the same bits as one that was not.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from evermix._xp import Array
from evermix.cli.input.documents import Documents, read_documents, split
from evermix.cli.input.reading import open_rows
from evermix.cli.options.topic_building import check_asked, knows_times, make_topic_model
from evermix.cli.options.topic_settings import TopicSettings
from evermix.cli.output.lines import Trace
from evermix.cli.output.output_files import Replacing, checkpoint_written
from evermix.cli.runs.pacing import Pace
from evermix.cli.runs.resuming import going_on
from evermix.cli.runs.run import check_resumed
from evermix.estimators import TopicModel
from evermix.estimators.files import load_topics, save
from evermix.io import text as texts
from evermix.io.checkpoint import CheckpointError
from evermix.topics.words.snapshots import TopicSweep

Show = Callable[[TopicSweep], None]


class TopicRun:
    """A topic model that is being drawn, and the files that it writes.

    Use :meth:`begin` or :meth:`resume` to make one, within a ``with`` block.
    """

    def __init__(
        self,
        settings: TopicSettings,
        checkpoint: Path,
        documents: Documents,
        model: TopicModel,
        *,
        sweeps: int = 0,
        positions: dict[str, int],
    ) -> None:
        self.settings = settings
        self.checkpoint = checkpoint
        self.documents = documents
        self.model = model
        self.parts = split(documents, settings.held_out, settings.seed)
        self.sweeps = sweeps
        self._resumed = sweeps > 0
        self._pace = Pace()
        self._trace = Trace(settings.trace, positions)

    @classmethod
    def begin(cls, settings: TopicSettings, checkpoint: Path, quiet: bool) -> Self:
        """Read the source and start anew; a checkpoint that is there will be replaced."""
        check_asked(settings)
        model = make_topic_model(settings)
        source = open_rows(settings, settings.skip_bad, None, time_labels=True)
        documents = read_documents(source, settings, None, quiet)
        _check_times(documents, settings)
        return cls(settings, checkpoint, documents, model, positions={})

    @classmethod
    def resume(
        cls, settings: TopicSettings, given: set[str], checkpoint: Path, quiet: bool
    ) -> Self:
        """Read the source again and go on; ``given`` names the options to compare."""
        model, extra = load_topics(checkpoint)
        if "topics" not in extra:
            raise CheckpointError(
                f"{checkpoint} is a model that `evermix topics` did not write: it does not say "
                "what its source was. Begin anew with another --checkpoint."
            )
        before = extra["topics"]["settings"]
        settings = settings.resumed(before, given)
        check_asked(settings)
        check_resumed(settings, before, checkpoint)
        text = None if extra["text"] is None else texts.from_spec(extra["text"])
        n_features = None if text else model.n_features_in_
        source = open_rows(settings, settings.skip_bad, n_features, time_labels=True)
        documents = read_documents(source, settings, text, quiet)
        model.set_params(draws=settings.draws)
        known = {name: extra["topics"][name] for name in ("sweeps", "positions")}
        return cls(settings, checkpoint, documents, model, **known)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._trace.close()

    @property
    def learnt(self) -> bool:
        """Whether there is anything to save."""
        return self.sweeps > 0

    def rows(self, chosen: Array) -> tuple[Any, Array | None]:
        """Return counts and times of some documents, as the model takes them."""
        times = self.documents.times if knows_times(self.settings) else None
        return self.documents.X[chosen], None if times is None else times[chosen]

    def learn(self, show: Show, every: int | None) -> None:
        """Make all sweeps that are left.

        Parameters
        ----------
        show : callable
            Told after every sweep what it led to.
        every : int or None
            Sweeps between two checkpoints; None for as often as costs little.
        """

        def watch(_: TopicModel, sweep: TopicSweep) -> None:
            self.sweeps = sweep.number
            show(sweep)
            self._trace.write(sweep._asdict())
            if self._pace.due if every is None else sweep.number % every == 0:
                self.save()

        rows = self.rows(self.parts.learnt)
        if not self._resumed:
            with Replacing(self.checkpoint, self.settings.outputs.values()) as replaced:
                self.model.fit(*rows, observers=[replaced, watch])
            return
        with going_on(self.settings, self.checkpoint):
            self.model.resume(*rows, observers=[watch])

    def save(self) -> None:
        """Write a checkpoint."""
        topics = {
            "settings": self.settings.to_spec(),
            "sweeps": self.sweeps,
            "positions": self._trace.positions(),
            "words": None if self.documents.text else self.documents.words,
        }
        text = self.documents.text
        extra = {"topics": topics, "text": None if text is None else text.to_spec()}
        with self._pace.writing():
            save(self.model, self.checkpoint, extra)
            checkpoint_written(self.checkpoint)


def _check_times(documents: Documents, settings: TopicSettings) -> None:
    """Refuse a single time, in which no topic can change."""
    times = documents.times
    if times is not None and knows_times(settings) and len(set(times.tolist())) == 1:
        finer = ", or a finer --period such as month" if documents.dated else ""
        raise ValueError(
            f"all documents are of the same time, {times[0]}, and topics over time want at least "
            f"two. Give documents of other times{finer}, or find topics without times with --prior "
            "hdp."
        )
