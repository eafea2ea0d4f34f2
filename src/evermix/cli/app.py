"""The program ``evermix`` and its commands, each in a file of its own."""

from importlib.metadata import version
from typing import Annotated

import typer

from evermix.cli.commands.demo import demo
from evermix.cli.commands.fit import fit
from evermix.cli.commands.info import info
from evermix.cli.commands.predict import predict
from evermix.cli.commands.stream import stream
from evermix.cli.commands.topics import topics

app = typer.Typer(
    name="evermix",
    help="Cluster data that keep arriving; how many clusters there are is found on the way.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(stream)
app.command()(fit)
app.command()(topics)
app.command()(predict)
app.command()(info)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"evermix {version('evermix')}")
        raise typer.Exit


@app.callback()
def main(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Cluster data that keep arriving; how many clusters there are is found on the way."""
    del show_version
