"""One option of a command, declared once for the command line, the checkpoint and ``--resume``."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import typer


@dataclass(frozen=True)
class Option:
    """An option, or an argument, of a command.

    Parameters
    ----------
    name : str
        Its name with ``_`` for ``-``, as settings and checkpoints spell it.
    help : str
    panel : str or None
        The panel of ``--help`` in which it is listed.
    type : type, or tuple of str
        Type of the value, or the values among which to choose.
    default : object
        None leaves the choice to the command or the model.
    flags : str
        How it is spelled, where that does not follow from the name: ``"--births/--no-births"``.
    metavar : str or None
        What stands for the value in ``--help``.
    min, max : float or None
        Bounds of a number.
    repeated : bool
        Whether it can be given several times.
    argument : bool
        Whether it is an argument: required, and without a flag.
    saved : bool
        Whether it is part of what the model is: saved in checkpoints, and compared at ``--resume``.
    file : {"read", "written", "folder"} or None
        What the command does with the file that it names.
    convert : callable or None
        Turns the value into that of a field of a component.
    """

    name: str
    help: str
    panel: str | None = None
    type: Any = str
    default: Any = None
    flags: str = ""
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    repeated: bool = False
    argument: bool = False
    saved: bool = True
    file: Literal["read", "written", "folder"] | None = None
    convert: Callable[[Any], Any] | None = None

    @property
    def flag(self) -> str:
        """How messages call the option."""
        return self.name.upper() if self.argument else "--" + self.name.replace("_", "-")

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
            default = inspect.Parameter.empty
            info = typer.Argument(metavar=self.metavar, help=self.help, show_default=False)
        else:
            kind = kind if default is not None else kind | None
            info = typer.Option(
                *(self.flags or self.flag).split(),
                help=self.help,
                rich_help_panel=self.panel,
                show_default=default is not None,
                metavar=self.metavar or ("FILE" if self.file == "written" else None),
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
