"""The command that goes on with a run that was stopped."""

import os
import shlex
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from evermix.cli.options.commands import options_of
from evermix.cli.options.option import Option
from evermix.cli.options.settings import Settings
from evermix.io.brokers import is_address

AGAIN = "dask", "embed", "to", "broker_config", "live", "webhook"  # which no checkpoint holds


def command_to_go_on(
    command: str, settings: Settings, saved: Mapping[str, Any] | None = None
) -> str:
    """Return what to type to go on with ``evermix COMMAND`` from its checkpoint.

    Options that have changed since are repeated, if ``saved`` are the settings that it holds.
    """
    sources = list(map(shown_source, settings.sources))
    plugins = [word for name in settings.plugins for word in ("--plugin", name)]
    again = ["evermix", *plugins, command, *sources, "--checkpoint", str(settings.checkpoint)]
    for option, path in settings.places.items():
        again += [option, os.path.relpath(path)]
    for name in AGAIN:
        if settings.values.get(name) is not None:
            again += [f"--{name.replace('_', '-')}", str(settings.values[name])]
    differing = [] if saved is None else settings.differing(saved)
    for each in settings.options:
        if each.name in differing and _is_plain(each) and each.name not in AGAIN:
            again += _written(each, settings.values[each.name])
    again += ["--resume", *["--follow"] * bool(settings.values.get("follow"))]
    again += ["--stdin", "continues"] * (sources == ["-"] and "stdin" in settings.values)
    return shlex.join(again)


def saved_command(command: str, extra: Mapping[str, Any], path: str | Path) -> str | None:
    """Return what to type to go on with ``evermix COMMAND``, whose checkpoint is ``path``.

    ``extra`` is what the file holds beside its model. None if the command line did not make it.
    """
    saved = extra.get(command, {}).get("settings", {})
    if saved.get("source") is None:
        return None
    options = options_of(command)
    values = {option.name: option.default for option in options} | saved
    return command_to_go_on(
        command, Settings(options, values | {"checkpoint": os.path.relpath(path)})
    )


def command_anew(
    command: str, saved: Mapping[str, Any], sources: Sequence[str], path: str | Path
) -> str | None:
    """Return what to type to learn these sources with the options of a run, into a new checkpoint.

    ``saved`` are the settings that the checkpoint ``path`` holds. None if the sources cannot be
    read again.
    """
    if "-" in sources:
        return None
    again = ["evermix", command, *dict.fromkeys(map(shown_source, sources))]
    for option in options_of(command):
        value = saved.get(option.name, option.default)
        if _is_plain(option) and value != option.default:
            again += _written(option, value)
    old = Path(path)
    names = (old.with_stem(f"{old.stem}-{n}") for n in count(2))
    return shlex.join(
        [*again, "--checkpoint", str(next(name for name in names if not name.exists()))]
    )


def _is_plain(option: Option) -> bool:
    """Whether an option is about what is learnt: not a source, where to write, or until when."""
    return not (option.argument or option.file in ("written", "folder") or option.name == "follow")


def _written(option: Option, value: Any) -> list[str]:
    """Return the words of a command line that give an option a value."""
    words = []
    for one in value if option.repeated else [value]:
        off = option.flag.replace("--", "--no-", 1)
        words += [option.flag, str(one)] if type(one) is not bool else [option.flag if one else off]
    return words


def shown_source(source: str) -> str:
    """Return a source as a command line names it."""
    return source if source == "-" or is_address(source) else os.path.relpath(source)
