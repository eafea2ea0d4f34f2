"""How commands talk: results on standard output, everything else on standard error."""

import errno
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
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

Item = TypeVar("Item")

WIDTH = 110  # of tables that do not go to a terminal


def note(message: str) -> None:
    """Write one line to standard error."""
    typer.echo(f"evermix: {message}", err=True)


def output_console() -> Console:
    """Return the console for tables on standard output."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDTH)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what users can mend into one clear line and exit status 1, and warnings into lines."""

    def show(message: Warning | str, *_: Any) -> None:
        note(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        try:
            yield
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader of our output has gone; say nothing
                raise
            note(f"error: {_described(error)}")
            raise typer.Exit(1) from error
        except (ValueError, TypeError, ImportError) as error:
            note(f"error: {error}")
            raise typer.Exit(1) from error


def _described(error: OSError) -> str:
    if error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error)


class RowProgress:
    """A progress bar of rows, with their rate and the number of clusters."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def update(self, rows: int, K: int | None = None) -> None:
        """Show how many rows are done and how many clusters there are."""
        speed = self._progress.tasks[self._task].speed or 0.0
        clusters = "" if K is None else f"  K = {K:,}"
        self._progress.update(self._task, completed=rows, status=f"{speed:,.0f} rows/s{clusters}")


class LapProgress:
    """A progress bar of laps, with the number of clusters and how well they explain the data."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._said = ""

    def update(self, laps: float, K: int, said: str) -> None:
        """Show how many laps are done, how many clusters there are, and the last words said."""
        self._said = said or self._said
        self._progress.update(self._task, completed=laps, status=f"K = {K:,}  {self._said}")


@contextmanager
def row_progress(title: str, total: int | None, quiet: bool) -> Iterator[RowProgress]:
    """Show a progress bar on standard error if that is a terminal, and nothing otherwise."""
    with _progress(quiet) as progress:
        yield RowProgress(progress, progress.add_task(title, total=total, status=""))


@contextmanager
def lap_progress(title: str, total: int, quiet: bool) -> Iterator[LapProgress]:
    """Show a progress bar on standard error if that is a terminal, and nothing otherwise."""
    with _progress(quiet) as progress:
        yield LapProgress(progress, progress.add_task(title, total=total, status=""))


@contextmanager
def item_progress(title: str, items: Sequence[Item], quiet: bool) -> Iterator[Iterable[Item]]:
    """Show how many of the items have been taken."""
    with _progress(quiet) as progress:
        task = progress.add_task(title, total=len(items), status="")
        yield progress.track(items, task_id=task)


def _progress(quiet: bool) -> Progress:
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[status]}"),
        TimeElapsedColumn(),
    )
    hidden = quiet or not console.is_terminal
    return Progress(*columns, console=console, disable=hidden, transient=True)
