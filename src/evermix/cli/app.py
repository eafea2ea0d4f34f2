"""The program ``evermix``: its commands, each of which is a module in ``commands``.

The options of a command are collected when it is called, so that those of engines that a
``--plugin`` brings are among them. Its module is imported when it runs, so that ``--help`` and
wrong options are answered at once.
"""

import inspect
import os
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from evermix.cli.advice import number_given
from evermix.cli.console import plain_errors, starting
from evermix.cli.options.commands import options_of
from evermix.cli.options.common import ADVANCED, arranged
from evermix.cli.options.settings import Settings

TITLE = "Cluster data that keep arriving; how many clusters there are is found on the way."
COMMANDS = {  # by name: the help, whose first line is listed
    "demo": """
        Cluster the docstrings of Python's own standard library, in one pass.

        Several thousand real documents that every machine has. Nobody says how many topics there
        are.""",
    "stream": """
        Cluster a source in one pass; stop whenever you like and go on with --resume.

        evermix stream tickets.jsonl --out clusters.jsonl

        evermix stream sales.csv --time-field date --out clusters.csv

        evermix stream new.csv --model visits.evermix --out clusters.csv

        Writes one line per row: id, cluster, its probability, and whether the row opened it
        ("new"). The first line of a cluster that a review has split from another says "from"
        instead. --webhook posts all new clusters that last.""",
    "fit": """
        Cluster a source in many passes; stop whenever you like and go on with --resume.

        evermix fit customers.csv --out clusters.csv

        Writes one line per row at the end: id, cluster and its probability. At a terminal,
        without --out, it shows the clusters instead.""",
    "topics": """
        Find topics in texts or counts of words, and how they come and go over time.

        evermix topics abstracts.jsonl --time-field year --out topics.json

        Writes JSON at the end: words of each topic, shares over time, births and deaths.
        Stop whenever you like and go on with --resume.""",
    "predict": """
        Find the clusters of new rows; the model stays as it is.

        Writes one JSON line per row: id, cluster, its probability, the row's log density, and its
        novelty: the probability that it is of a new cluster.""",
    "explain": """
        Say why rows are in their clusters and not in others, word by word or column by column.

        Contributions are exact: they add up to the log odds of the two clusters.""",
    "edit": """
        Name, merge, split or pin clusters, or undo that; a stream goes on with them (--resume).

        evermix edit MODEL rename 3 billing

        evermix edit MODEL merge 4 7

        evermix edit MODEL split 5 --rows new.jsonl

        evermix edit MODEL pin 3

        evermix edit MODEL undo

        Topics of evermix topics are named as clusters are, and cannot be changed in other ways.

        A pinned cluster is never dropped, merged or split but by hand. What was merged or split is
        pinned.""",
    "report": """
        Write a report on a model: one HTML file that every browser shows, without network.

        Growth, shares over time, cards with search and sorting, the tree of clusters and their
        lineage; of topic models words, shares over time and a map. Examples are rows of the
        data.""",
    "serve": """
        Learn what programs send by HTTP, and answer; what was answered survives crashes.

        FOLDER holds the models. curl http://127.0.0.1:8765/openapi.json describes the requests.

        Stop it with Ctrl-C or SIGTERM: it answers what waits and writes a checkpoint.""",
    "info": "Show what a model is made of, and its largest clusters or topics.",
}
PANELS = {
    "Learn": ("demo", "stream", "fit", "topics", "serve"),
    "Look": ("info", "report", "explain", "predict"),
    "Change": ("edit",),
}
_NAMES = {"help_option_names": ["-h", "--help"]}
HELP_ALL = "help_all"


def _about(name: str) -> str:
    """Return the help of a command, each paragraph on one line."""
    paragraphs = inspect.cleandoc(COMMANDS[name]).split("\n\n")
    return "\n\n".join(" ".join(text.split()) for text in paragraphs)


class _PlainTypes:
    """Shows no type of arguments, and of options that take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in found:
            if getattr(each, "is_flag", False):
                each.metavar = ""
            elif each.param_type_name == "argument":
                each.display_type_rich = lambda ctx: None
        return found


class Command(_PlainTypes, TyperCommand):
    """A command with all its options, of which ``--help`` shows the common ones."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; the number of clusters is no option."""
        options = {flag for each in self.params for flag in each.opts}
        if advice := number_given(args, options):
            ctx.fail(advice)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # pydantic's, of Typer
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; with ``--help-all`` given, that of advanced options too."""
        for option in cast("list[Any]", self.params):
            panel = getattr(option, "rich_help_panel", None) or ""
            option.hidden = panel.startswith(ADVANCED) and not ctx.meta.get(HELP_ALL)
        super().format_help(ctx, formatter)


class Commands(_PlainTypes, TyperGroup):
    """A group whose commands get their options when they are called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the command and the other arguments of a command line."""
        name, command, others = super().resolve_command(ctx, args)
        if name in COMMANDS:
            plugins = ctx.params.get("plugin") or []
            command = _command(name, plugins, _classes(plugins))
        return name, command, others


app = typer.Typer(
    cls=Commands,
    name="evermix",
    help=TITLE,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_NAMES,
)
for _panel, _names in PANELS.items():
    for _name in _names:
        app.command(_name, help=_about(_name), rich_help_panel=_panel)(lambda: None)


def _command(name: str, plugins: list[str], custom: tuple[type, ...]) -> Any:
    """Return a command with all its options."""
    options = arranged(name, options_of(name, custom))

    def run(context: typer.Context, **values: Any) -> None:
        values.pop(HELP_ALL, None)
        sources = {name: context.get_parameter_source(name) for name in values}
        given = {name for name, place in sources.items() if place and place.name == "COMMANDLINE"}
        with plain_errors():
            settings = Settings.parsed(options, values, given, plugins, custom)
            with starting():
                module: Any = import_module(f"evermix.cli.commands.{name}")
            with settings.locks:
                module.run(settings)

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [context, *(option.parameter() for option in options)]
    advanced = sum((option.panel or "").startswith(ADVANCED) for option in options)
    if advanced:
        parameters.append(_help_all(advanced))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    program = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    program.command(name, cls=Command, help=_about(name), context_settings=_NAMES)(run)
    return get_command(program)


def _help_all(advanced: int) -> inspect.Parameter:
    """Return the option that shows the help of all options."""

    def show(context: typer.Context, wanted: bool) -> None:
        if wanted:
            context.meta[HELP_ALL] = True
            typer.echo(context.get_help())
            raise typer.Exit

    text = f"Show {advanced} advanced options too."
    option = typer.Option("--help-all", help=text, is_eager=True, callback=show)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(HELP_ALL, kind, default=False, annotation=Annotated[bool, option])


def _classes(plugins: list[str]) -> tuple[type, ...]:
    """Import the modules of ``--plugin``, and return the engines, families and priors in them."""
    if not plugins:
        return ()
    from evermix.cli.options.mixture import own_classes

    sys.path.append(os.getcwd())
    with plain_errors():
        return own_classes(plugins)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evermix {version('evermix')}")
        raise typer.Exit


@app.callback()
def main(
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            help="Import a module first: its engines, families, priors and formats can be used.",
            metavar="MODULE",
            show_default=False,
        ),
    ] = None,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Cluster data that keep arriving; how many clusters there are is found on the way."""
    del plugin, show_version
