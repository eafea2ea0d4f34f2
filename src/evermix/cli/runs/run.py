"""What commands that learn have in common: their files, beginning or going on, and farewells."""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import typer

from evermix.cli.options.settings import Settings
from evermix.cli.output.console import note, plain_errors
from evermix.cli.output.output_files import check_files, check_new, unfinished_outputs
from evermix.cli.runs.interrupts import Stop, Stopped

Run = TypeVar("Run")


def default_checkpoint(sources: Sequence[str]) -> Path:
    """Return the checkpoint of sources for which none was named."""
    path = os.path.abspath(sources[0])
    if sources[0] == "-":
        path = "stdin"
    elif len(sources) > 1 or (not os.path.exists(path) and set("*?[") & set(path)):
        path = os.path.dirname(path)
    name = os.path.basename(path).removesuffix(".gz")
    return Path(name or "rows").with_suffix(".evermix")


def given_options(context: typer.Context) -> set[str]:
    """Return the names of the parameters that stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, place in sources.items() if place and place.name == "COMMANDLINE"}


@contextmanager
def stoppable(farewell: Callable[[], str]) -> Iterator[Stop]:
    """Let a signal end a run where that is allowed; the last words are then those of a farewell."""
    with plain_errors(), Stop() as stop:
        try:
            yield stop
        except Stopped as stopped:
            note(farewell())
            raise typer.Exit(stopped.status) from stopped


def open_run(
    begin: Callable[[], Run],
    go_on: Callable[[], Run],
    settings: Settings,
    path: Path,
    *,
    resume: bool,
    overwrite: bool,
) -> Run:
    """Begin a run or go on with one, if its files allow it."""
    if resume and overwrite:
        raise typer.BadParameter("--resume and --overwrite exclude each other.")
    outputs = settings.outputs | {"--checkpoint": str(path)}
    check_files(settings.sources, settings.inputs, outputs)
    if resume and path.exists():
        return go_on()
    if resume:
        begun = unfinished_outputs(path)
        check_new(
            {option: name for option, name in settings.outputs.items() if name not in begun},
            f"There is no checkpoint {path} to resume from: correct its name, or start again with "
            "--overwrite in place of --resume.",
        )
        note(f"there is no checkpoint {path} yet; starting from the beginning.")
    elif not overwrite:
        check_new(
            {"--checkpoint": str(path)},
            "Resume from it with --resume, or start again with --overwrite.",
        )
        check_new(settings.outputs, "Choose another place, or replace it with --overwrite.")
    return begin()


def check_resumed(settings: Settings, saved: dict[str, Any], path: Path) -> None:
    """Check the files of a run that goes on; outputs of its own it may write again."""
    check_files(settings.sources, settings.inputs, settings.outputs | {"--checkpoint": str(path)})
    before = type(settings)(**saved).outputs
    new = {option: name for option, name in settings.outputs.items() if name != before[option]}
    check_new(new, "Choose another place.")


def farewell(command: str, settings: Settings, path: Path, done: str, *more: str) -> str:
    """Say how far a run came that ended early, and how to go on; ``more`` are other arguments."""
    sources = [os.path.relpath(source) if source != "-" else "-" for source in settings.sources]
    again = ["evermix", command, *sources, "--checkpoint", str(path), *more, "--resume"]
    return f"Stopped {done}. Go on with: {shlex.join(again)}"


def summary(facts: Iterable[str], complaints: Iterable[str]) -> str:
    """Say what came of a run, and what was wrong with the first few bad rows."""
    lines = ["; ".join(facts), *(f"skipped: {complaint}" for complaint in complaints)]
    return "\nevermix: ".join(lines)
