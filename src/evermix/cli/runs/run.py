"""The run behind ``stream``, ``fit`` and ``topics``: begin or resume, learn, save, finish.

A checkpoint holds the model, the settings and how long the output files were, so that a run that
was stopped anywhere and resumed ends with the same bits as one that was not.
"""

import logging
import shlex
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar, Self

import typer

from evermix.cli.console import at_terminal, logged_notes, note, plain_errors
from evermix.cli.options.settings import Settings
from evermix.cli.output.lines import Trace
from evermix.cli.output.output_files import (
    CheckpointReplacement,
    check_files,
    check_new,
    checkpoint_written,
    unfinished_outputs,
)
from evermix.cli.runs.going_on import command_to_go_on
from evermix.cli.runs.interrupts import CheckpointTimer, Interrupts, Stopped
from evermix.cli.runs.taken_names import cannot_go_on, check_free, is_begun, others_beside
from evermix.io.brokers import is_address
from evermix.io.replacing import remove_leftovers
from evermix.io.sources import Source
from evermix.io.text_counter import TextCounter

LOG = logging.getLogger("evermix")
FIRST_ROWS = 100  # that are read before a run is refused because of its outputs
NOTHING = "Nothing was learnt yet."
NEXT_LINE = "\nevermix: "


class Run(ABC):
    """A model that is being learnt, and the files that the command writes.

    Parameters
    ----------
    settings : Settings
    model : Mixture or TopicModel
    text : TextCounter or None
        How the words of texts are counted.
    notes : dict or None
        The notes of the checkpoint from which the run goes on; None if it begins.
    """

    command: ClassVar[str]
    save_model: ClassVar[Callable[..., None]]
    """Writes a model to a path, and a dict beside it."""
    writes_as_it_learns: ClassVar[bool] = False
    """Whether results are written row by row, rather than when everything is learnt."""
    of_results: ClassVar[frozenset[str]] = frozenset()
    """Names of options that say which results are written, and do not change what is learnt."""

    def __init__(
        self, settings: Settings, model: Any, text: TextCounter | None, notes: dict[str, Any] | None
    ) -> None:
        self.settings = settings
        self.model = model
        self.text = text
        self.resumed = notes is not None
        self.learnt = self.resumed  # whether there is anything to save
        self.positions: dict[str, int] = {} if notes is None else notes["positions"]
        self.trace = Trace(settings.trace, self.positions)
        self.timer = CheckpointTimer()
        self.found = False  # whether it goes on without --resume, which was not said yet

    # ---- what differs from command to command ----------------------------------------------

    @classmethod
    @abstractmethod
    def source_of(cls, settings: Settings) -> Source:
        """Open the source of a run that begins."""

    @classmethod
    @abstractmethod
    def begin(cls, settings: Settings, place: Any) -> Self:
        """Open the source and start with its first row.

        ``place`` is the Dask cluster to learn on, or None.
        """

    @classmethod
    @abstractmethod
    def resume(cls, settings: Settings, place: Any) -> Self:
        """Open the source again and go on from the checkpoint."""

    @abstractmethod
    def _learn(self, interrupts: Interrupts) -> None:
        """Learn until there is no more to learn."""

    @abstractmethod
    def _finish(self) -> None:
        """Write the results of a run that has learnt everything."""

    @abstractmethod
    def _notes(self) -> dict[str, Any]:
        """Return what a checkpoint holds of the run beside its settings, as a JSON-ready dict."""

    @classmethod
    @abstractmethod
    def check_notes(cls, notes: dict[str, Any]) -> None:
        """Raise ValueError, TypeError or LookupError unless notes are such as :meth:`_notes`."""

    @abstractmethod
    def _progress(self) -> str:
        """Return how far the run has come, such as "3 of at most 50 laps"."""

    @abstractmethod
    def _facts(self, seconds: float) -> Iterator[str]:
        """Yield the results of a run that took so many seconds, for its summary."""

    @abstractmethod
    def _complaints(self) -> Iterable[str]:
        """Return what was wrong with the first few bad rows."""

    def _remarks(self) -> Iterable[str]:
        """Return more lines on what was learnt."""
        return ()

    def _outdated(self) -> Iterable[str]:
        """Return what is no longer true of the lines that were written, however the run ends."""
        return ()

    def _next_steps(self) -> None:
        """Say at a terminal what can be done with the model."""
        path, quiet = self.settings.checkpoint, self.settings.quiet
        if path and self.learnt and not quiet and self.command != "topics" and at_terminal():
            model = shlex.quote(str(path))
            note(f"next: evermix info {model}, or as a page: evermix report {model}")

    def _lengths(self) -> dict[str, int]:
        """Return the lengths of output files that grow while rows are learnt, by option."""
        return self.trace.positions()

    def close(self) -> None:
        """Close the output files."""
        self.trace.close()

    # ---- what all of them do ---------------------------------------------------------------

    @classmethod
    def main(cls, settings: Settings, place: AbstractContextManager[Any] | None = None) -> None:
        """Run the command; a signal ends it with a checkpoint and a word on how to go on."""
        run = None
        with plain_errors(), logged_notes(settings.quiet), Interrupts() as interrupts:
            try:
                with interrupts.allowed():
                    settings.locks.makes_files = cls.writes_as_it_learns
                    _check_and_lock(settings)
                with place or nullcontext() as entered:
                    with interrupts.allowed():
                        run = cls._open(settings, entered)
                    try:
                        run._go(interrupts)
                    finally:
                        run.close()
            except Stopped as stopped:
                lines = [NOTHING] if run is None else [run.farewell()]
                if run is not None and not settings.quiet:
                    lines += run._outdated()
                note(NEXT_LINE.join(lines))
                raise typer.Exit(stopped.status) from stopped

    @classmethod
    def _open(cls, settings: Settings, place: Any) -> Self:
        """Begin a run or go on with one, if its files allow it."""
        path, outputs = settings.checkpoint, settings.outputs
        check_source = partial(cls._check_source, settings)
        if settings.resume and path.exists():
            return cls.resume(settings, place)
        if settings.resume:
            begun = unfinished_outputs(path)
            check_new(
                {option: name for option, name in outputs.items() if name not in begun},
                f"There is no checkpoint {path} to resume from: correct its name, or start again "
                "with --overwrite in place of --resume.",
                check_source,
            )
            note(
                f"warning: there is no checkpoint {path}, so there is nothing to go on from: this "
                f"run starts from the beginning.{others_beside(path)}"
            )
        elif not settings.overwrite:
            results = cls.of_results
            is_there = not cls.writes_as_it_learns and is_begun(settings, cls.command, results)
            if not is_there:
                check_free(settings, cls.command, results, check_source)
            remedy = "Choose another place, or replace it with --overwrite."
            check_new(outputs, remedy, check_source)
            if is_there:
                run = cls.resume(settings.with_given(results), place)
                run.found = True
                return run
        return cls.begin(settings, place)

    @classmethod
    def _check_source(cls, settings: Settings) -> None:
        """Read the first rows of a source whose rows do not have to be waited for."""
        waited = settings.values.get("follow") or "-" in settings.sources
        if not waited and not any(map(is_address, settings.sources)):
            next(cls.source_of(settings).chunks(0, FIRST_ROWS), None)

    def _go(self, interrupts: Interrupts) -> None:
        """Learn until the end, and leave a checkpoint also if a signal comes first."""
        began = time.perf_counter()
        family = getattr(self.model, "family", None)
        known = self.resumed or self.settings.values.get("model") is not None
        if self.settings.values.get("family") == "auto" != family and not known:
            LOG.info("the family is %s: the rows are counts of words.", type(family).__name__)
        try:
            self._learn(interrupts)
        except Stopped:
            self.save()
            raise
        self.say_found()
        self.save()
        seconds = time.perf_counter() - began
        with interrupts.allowed():
            self._finish()
        if not self.settings.quiet:
            path = self.settings.checkpoint
            kept = f"checkpoint {path}" if path else "the model is not kept (without --checkpoint)"
            lines = ["; ".join([*self._facts(seconds), *([kept] if self.learnt else [])])]
            lines += [*self._outdated(), *self._remarks()]
            lines += [f"skipped: {some}" for some in self._complaints()]
            note(NEXT_LINE.join(lines))
        self._next_steps()

    def save(self) -> None:
        """Write a checkpoint, if there is one and something was learnt."""
        if not self.learnt or self.settings.checkpoint is None:
            return
        notes = {"settings": self.settings.to_spec(), **self._notes()}
        notes["positions"] = self._lengths()
        model, text = self._kept()
        extra = {self.command: notes, "text": None if text is None else text.to_spec()}
        with self.timer.writing():
            self.save_model(model, self.settings.checkpoint, extra)
            checkpoint_written(self.settings.checkpoint)

    def _kept(self) -> tuple[Any, TextCounter | None]:
        """Return the model that a checkpoint holds, and how the words of its texts are counted."""
        return self.model, self.text

    def first_step(self) -> AbstractContextManager[CheckpointReplacement | None]:
        """Return a context that keeps an old checkpoint until the first step has ended."""
        if self.settings.checkpoint is None:
            return nullcontext()
        return CheckpointReplacement(self.settings.checkpoint, self.settings.outputs.values())

    def fit(
        self,
        rows: Mapping[str, Any],
        observer: Callable[..., None],
        first: Mapping[str, Any] | None = None,
    ) -> None:
        """Fit the model to all rows, or go on with that.

        ``rows`` are arguments by name; ``first`` are those that only a new fit takes.
        """
        if not self.resumed:
            with self.first_step() as replacement:
                observers = [observer] if replacement is None else [replacement, observer]
                self.model.fit(**rows, **(first or {}), observers=observers)
            return
        try:
            self.model.resume(**rows, observers=[self.say_found, observer])
        except ValueError as error:
            raise cannot_go_on(self.settings, self.model, error) from error

    def say_found(self, *_: Any) -> None:
        """Say that the run goes on, once its rows are known to be those of the checkpoint."""
        if self.found:
            path = self.settings.checkpoint
            note(f"{path} holds this run: going on from it (--overwrite starts again).")
        self.found = False

    def farewell(self) -> str:
        """Return how far a run came that ended early, and how to go on."""
        if not self.learnt:
            return NOTHING
        stopped = f"Stopped after {self._progress()}."
        if self.settings.checkpoint is None:
            return f"{stopped} Nothing was kept; --checkpoint FILE makes it possible to go on."
        return f"{stopped} Go on with: {command_to_go_on(self.command, self.settings)}"


def checkpoint_file(settings: Settings) -> dict[str, str | None]:
    """Return the checkpoint of a run, if it has one, as one of its files."""
    path = settings.checkpoint
    return {"--checkpoint": None if path is None else str(path)}


def _check_and_lock(settings: Settings) -> None:
    """Check the files of a run, and lock those that it writes."""
    path = settings.checkpoint
    if settings.resume and settings.overwrite:
        raise typer.BadParameter("--resume and --overwrite exclude each other.")
    if settings.resume and path is None:
        raise typer.BadParameter("--resume goes on from a checkpoint: name it with --checkpoint.")
    check_files(settings.sources, settings.inputs, settings.outputs | checkpoint_file(settings))
    if path is not None:
        settings.locks.add(path, replaced=True)
        remove_leftovers(path.resolve())
    settings.lock_outputs()
