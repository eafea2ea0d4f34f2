"""``evermix`` and ``python -m evermix`` are the command line."""

import sys

from evermix._extras import install


def main() -> None:
    """Run the command line, or say in one line what it needs."""
    try:
        from evermix.cli import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        sys.exit(f"evermix: error: the command line needs Typer and Rich: {install('cli')}")
    app(prog_name="evermix")


if __name__ == "__main__":
    main()
