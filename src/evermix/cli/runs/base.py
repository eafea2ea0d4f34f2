"""What commands that learn have in common: their files, beginning or going on, and farewells."""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TypeVar

import typer

from evermix.cli.options.settings import Settings
from evermix.cli.output.console import note, plain_errors
from evermix.cli.runs.stopping import Stop, Stopped

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
    check_distinct(settings, path)
    _check_folders(settings, path)
    if resume and path.exists():
        return go_on()
    if resume:
        note(f"there is no checkpoint {path} yet; starting from the beginning.")
    elif not overwrite:
        _check_free(settings, path)
    return begin()


def farewell(command: str, settings: Settings, path: Path, done: str, *more: str) -> str:
    """Say how far a run came that ended early, and how to go on; ``more`` are other arguments."""
    sources = [os.path.relpath(source) if source != "-" else "-" for source in settings.sources]
    again = ["evermix", command, *sources, "--checkpoint", str(path), *more, "--resume"]
    return f"Stopped {done}. Go on with: {shlex.join(again)}"


def summary(facts: Iterable[str], complaints: Iterable[str]) -> str:
    """Say what came of a run, and what was wrong with the first few bad rows."""
    lines = ["; ".join(facts), *(f"skipped: {complaint}" for complaint in complaints)]
    return "\nevermix: ".join(lines)


def check_distinct(settings: Settings, path: Path) -> None:
    """Refuse a file for two things at once; what is written may not be one of the sources."""
    named = settings.files | {"--checkpoint": str(path.absolute())}
    files = {option: str(name) for option, name in named.items() if name not in (None, "-")}
    if len(set(files.values())) < len(files):
        raise ValueError(
            f"{', '.join(files)} must be different files, got {', '.join(files.values())}."
        )
    for source in settings.sources:
        for option, name in files.items():
            if _is_part(name, source):
                raise ValueError(
                    f"SOURCE and {option} must be different files, and {name} is, or would be, "
                    f"one of {source}. Choose another place."
                )


def _is_part(path: str, source: str) -> bool:
    """Whether a file is a source, or one that a folder or a pattern stands for."""
    if source == "-":
        return False
    return path == source or os.path.dirname(path) == source or PurePath(path).match(source)


def _check_folders(settings: Settings, path: Path) -> None:
    """Refuse files that cannot be made, before anything is learnt or removed."""
    if settings.trace == "-":
        raise ValueError("--trace wants a file: standard output is for the rows.")
    for name in (*settings.written, str(path.absolute())):
        if name != "-" and not os.path.isdir(os.path.dirname(name)):
            raise ValueError(f"there is no folder for {name}. Make it, or choose another place.")
        if name != "-" and os.path.isdir(name):
            raise ValueError(f"{name} is a folder, where a file was wanted. Choose another name.")
    for kept in (settings.trace, str(path.absolute())):
        if kept is not None and os.path.exists(kept) and not os.path.isfile(kept):
            raise ValueError(
                f"{kept} is a device or a pipe, where a file was wanted: checkpoints and traces "
                "are cut and replaced on the way. Choose another place."
            )


def _check_free(settings: Settings, path: Path) -> None:
    """Refuse to write over what an earlier run left."""
    if path.exists():
        raise ValueError(
            f"the checkpoint {path} exists already. Go on from it with --resume, or begin anew "
            "with --overwrite."
        )
    for name in settings.written:
        check_new(name, "Replace it with --overwrite.")


def check_new(name: str | None, remedy: str) -> None:
    """Refuse a file for output that holds something already."""
    if name not in (None, "-") and os.path.isfile(str(name)) and os.path.getsize(str(name)):
        raise ValueError(f"{name} exists already. {remedy}")
