"""How options are declared, and the panels of ``--help`` that several commands have."""

from typing import Any

import typer

FILES, MODEL, ROWS = "Output and checkpoints", "Model", "Rows"


def option(text: str, *names: str, panel: str | None = None, **settings: Any) -> Any:
    """Declare an option; names are those that do not follow from its parameter's."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **settings)


def optional(text: str, *names: str, panel: str, **settings: Any) -> Any:
    """Declare an option without a value of its own: None leaves the choice to the model."""
    return option(text, *names, panel=panel, show_default=False, **settings)
