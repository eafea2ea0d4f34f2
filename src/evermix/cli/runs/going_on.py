"""The command that goes on with a run that was stopped."""

import os
import shlex

from evermix.cli.options.settings import Settings
from evermix.io.brokers import is_address

AGAIN = "dask", "embed", "to", "broker_config", "live", "webhook"  # which no checkpoint holds


def command_to_go_on(command: str, settings: Settings) -> str:
    """Return what to type to go on with ``evermix COMMAND`` from its checkpoint."""
    sources = list(map(shown_source, settings.sources))
    plugins = [word for name in settings.plugins for word in ("--plugin", name)]
    again = ["evermix", *plugins, command, *sources, "--checkpoint", str(settings.checkpoint)]
    for option, path in settings.places.items():
        again += [option, os.path.relpath(path)]
    for name in AGAIN:
        if settings.values.get(name) is not None:
            again += [f"--{name.replace('_', '-')}", str(settings.values[name])]
    again += ["--resume", *["--follow"] * bool(settings.values.get("follow"))]
    again += ["--stdin", "continues"] * (sources == ["-"] and "stdin" in settings.values)
    return shlex.join(again)


def shown_source(source: str) -> str:
    """Return a source as a command line names it."""
    return source if source == "-" or is_address(source) else os.path.relpath(source)
