"""What a checkpoint that is there already says of the run that wrote it."""

from pathlib import Path
from typing import Any, NamedTuple, Self

LEARN = "stream", "fit", "topics"  # commands that write checkpoints


class Earlier(NamedTuple):
    """The run that wrote a checkpoint.

    Attributes
    ----------
    command : str or None
        None for a model that was saved in Python.
    settings : dict
        The options that it has saved.
    chosen : tuple of str
        Names of those that its data have chosen.
    """

    command: str | None
    settings: dict[str, Any]
    chosen: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: Path | None) -> Self | None:
        """Return the run that wrote a file; None if it is not there or is no checkpoint."""
        if path is None or not path.is_file():
            return None
        from evermix.io.checkpoint import CheckpointError, read_header  # help needs no arrays

        try:
            extra = read_header(path).get("extra", {})
            command = next((name for name in LEARN if name in extra), None)
            if command is None:
                return cls(None, {})
            run = extra[command]
            return cls(command, dict(run["settings"]), tuple(run.get("chosen", ())))
        except (CheckpointError, LookupError, TypeError, ValueError):
            return None


def own_checkpoint(path: Path, command: str, resume: bool = False) -> Path:
    """Return where a command keeps its model if nobody has named a file: here, or beside it.

    ``people.evermix`` becomes ``people.topics.evermix`` where another command, or Python, has
    written the first, so that no model is replaced by one of another kind. A run that is to
    ``resume`` has no other place than one that is there.
    """
    beside = path.with_suffix(f".{command}{path.suffix}")
    if beside.exists():
        return beside
    earlier = None if resume else Earlier.of(path)
    return path if earlier is None or earlier.command == command else beside
