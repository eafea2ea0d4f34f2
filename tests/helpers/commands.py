"""The command line in this process."""

from typer.testing import CliRunner

from evermix.cli import app


def evermix(*arguments, status=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result
