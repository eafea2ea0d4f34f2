"""Results on standard output; messages, errors and progress on standard error."""

import errno
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.status import Status
from rich.text import Text

from evermix._words import counted
from evermix.cli.advice import in_options

Item = TypeVar("Item")

WIDTH = 110  # of tables that do not go to a terminal
COMPILING = "compiling for this machine, at the first run only"


def note(message: str) -> None:
    """Write one line to standard error."""
    typer.echo(f"evermix: {message}", err=True)


def new_row_fit(mean: float) -> str:
    """Return how well rows were predicted before they were learnt, on average."""
    return f"fit to new rows {mean:.3f} (log predictive per row, higher is better)"


def output_console() -> Console:
    """Return the console for tables on standard output."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDTH)


def at_terminal() -> bool:
    """Whether a person reads standard output, rather than a file or a program."""
    return sys.stdout.isatty()


def beside_console(quiet: bool) -> Console | None:
    """Return the console for tables beside results; None if it is quiet, or nobody would read."""
    console = Console(stderr=True, highlight=False)
    return console if console.is_terminal and not quiet else None


def starting() -> Status:
    """Return a line for the terminal while scikit-learn and numba are imported."""
    return Console(stderr=True, highlight=False).status("starting")


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn errors that users can correct into one line and exit status 1, warnings into lines."""

    def show(message: Warning | str, *_: Any) -> None:
        note(f"warning: {in_options(str(message))}")

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        names = "X does not have valid feature names"  # columns of files are found by their names
        warnings.filterwarnings("ignore", names, UserWarning)
        try:
            yield
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of our output has gone
                raise
            note(f"error: {_described(error)}")
            raise typer.Exit(1) from error
        except (ValueError, TypeError, ImportError) as error:
            note(f"error: {in_options(str(error))}")
            raise typer.Exit(1) from error


class _Notes(logging.Handler):
    """Writes what is logged to standard error, a line each."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        note(in_options(record.getMessage()))


@contextmanager
def logged_notes(quiet: bool) -> Iterator[None]:
    """Write what evermix logs, such as the family that was chosen and why, unless it is quiet."""
    log, handler = logging.getLogger("evermix"), _Notes()
    before = log.level, log.propagate
    log.setLevel(logging.WARNING if quiet else logging.INFO)
    log.propagate = False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.level, log.propagate = before


def _described(error: OSError) -> str:
    if error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error)


class ProgressBar:
    """A progress bar with the number of clusters, and how fast or how well rows are learnt."""

    def __init__(self, progress: Progress, task: TaskID, noun: str, start: int = 0) -> None:
        self._progress, self._task, self._noun, self._start = progress, task, noun, start
        self._quality = ""

    def update(
        self,
        done: float,
        K: int | None = None,
        quality: str | None = None,
        title: str | None = None,
        total: int | None = None,
    ) -> None:
        """Show how much is done; without a quality the speed, with "" the quality before."""
        if quality is None:
            task = self._progress.tasks[self._task]
            speed = task.speed or (done - self._start) / max(task.elapsed or 0.0, 1e-9)
            quality = f"{speed:,.0f} rows/s"
        self._quality = quality or self._quality
        found = [] if K is None else [counted(K, self._noun)]
        status = ", ".join([*found, *filter(None, [self._quality])])
        self._progress.update(
            self._task, total=total, completed=done, status=status, description=title
        )


@contextmanager
def progress_bar(
    title: str,
    total: int | None,
    quiet: bool,
    noun: str = "cluster",
    of_rows: bool = True,
    start: int = 0,
) -> Iterator[ProgressBar]:
    """Show a progress bar on standard error if that is a terminal, and nothing otherwise.

    ``noun`` is what is found, ``start`` how many rows were done before. Unless the total is one
    ``of_rows``, titles say how far it has come.
    """
    from evermix.kernels.disk_cache import is_empty  # which imports numba

    status = COMPILING if is_empty() else ""
    with _progress(quiet, of_rows) as progress:
        task = progress.add_task(title, total=total, status=status)
        yield ProgressBar(progress, task, noun, start)


@contextmanager
def item_progress(title: str, items: Sequence[Item], quiet: bool) -> Iterator[Iterable[Item]]:
    """Show how many of the items have been taken."""
    with _progress(quiet) as progress:
        task = progress.add_task(title, total=len(items), status="")
        yield progress.track(items, task_id=task)


def laps_in_words(lap: int, most: int, name: str) -> str:
    """Return which lap, or sweep, a fit is making."""
    return f"{name} {min(lap, most):,} of at most {most:,}"


class _Done(MofNCompleteColumn):
    """How many of how many rows are done, or how many, where nobody knows the total."""

    def render(self, task: Task) -> Text:
        """Return the text of the column."""
        return super().render(task) if task.total is not None else Text(f"{task.completed:,.0f}")


def _progress(quiet: bool, of_rows: bool = True) -> Progress:
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        *([_Done()] if of_rows else []),
        TextColumn("{task.fields[status]}"),
        TimeElapsedColumn(),
    )
    hidden = quiet or not console.is_terminal
    return Progress(*columns, console=console, disable=hidden, transient=True)
