"""One option of a command, declared once for the command line, the checkpoint and ``--resume``."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import typer

_VALUES = {str: "TEXT", int: "N", float: "NUMBER"}  # what help calls a value of a type


@dataclass(frozen=True)
class Option:
    """An option, or an argument, of a command."""

    name: str
    """As settings and checkpoints spell it, with ``_`` for ``-``."""
    help: str
    panel: str | None = None
    """The panel of ``--help`` in which it is listed."""
    type: Any = str
    """A plain type, or a tuple of the values among which to choose."""
    default: Any = None
    """None leaves the choice to the command or the model."""
    flags: str = ""
    """How it is spelled, where that does not follow from the name."""
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    repeated: bool = False
    """Whether it can be given several times."""
    argument: bool = False
    """Whether it has no flag, and is required unless it is optional."""
    optional: bool = False
    """Whether an argument may be left out."""
    saved: bool = True
    """Whether checkpoints hold it, and ``--resume`` compares it."""
    file: Literal["read", "written", "folder"] | None = None
    """What the command does with the file that it names."""
    convert: Callable[[Any], Any] | None = None
    """Turns the value into that of a field of a component."""

    @property
    def flag(self) -> str:
        """How messages call the option."""
        return self.name.upper() if self.argument else "--" + self.name.replace("_", "-")

    @property
    def _value(self) -> str | None:
        """What help calls the value of the option."""
        if self.file:
            return "FOLDER" if self.file == "folder" else "FILE"
        return None if isinstance(self.type, tuple) else _VALUES.get(self.type)

    def parameter(self) -> inspect.Parameter:
        """Return the option as a parameter of a function that Typer turns into a command."""
        kind: Any = _choices(self.type) if isinstance(self.type, tuple) else self.type
        default = self.default
        if isinstance(self.type, tuple) and default is not None:
            default = kind(default)
        if self.repeated:
            kind = list.__class_getitem__(kind)
        info: Any
        if self.argument:
            default = None if self.optional else inspect.Parameter.empty
            kind = kind | None if self.optional else kind
            info = typer.Argument(metavar=self.metavar, help=self.help, show_default=False)
        else:
            kind = kind if default is not None else kind | None
            info = typer.Option(
                *(self.flags or self.flag).split(),
                help=self.help,
                rich_help_panel=self.panel,
                show_default=default is not None,
                metavar=self.metavar or self._value,
                min=self.min,
                max=self.max,
            )
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[kind, info],
            default=default,
        )


def _choices(names: tuple[str, ...]) -> Any:
    return Enum("Choice", {name: name for name in names})
