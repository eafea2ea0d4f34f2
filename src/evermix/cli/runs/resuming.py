"""From a checkpoint of a command to what it needs to go on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from evermix.cli.input.reading import open_rows
from evermix.cli.options.settings import Settings
from evermix.estimators import Mixture
from evermix.estimators.files import load_with_extra
from evermix.io import text as texts
from evermix.io.checkpoint import CheckpointError
from evermix.io.sources import Source
from evermix.io.text import TextCounter


class Saved(NamedTuple):
    """What a checkpoint holds: the mixture, how words are counted, and the command's own notes."""

    mix: Mixture
    text: TextCounter | None
    notes: dict[str, Any]


def load_run(checkpoint: Path, command: str) -> Saved:
    """Read a checkpoint that this command wrote."""
    mix, extra = load_with_extra(checkpoint)
    if command not in extra:
        raise CheckpointError(
            f"{checkpoint} is a model that `evermix {command}` did not write: it does not say "
            "where its source stopped. Begin anew with another --checkpoint."
        )
    text = None if extra["text"] is None else texts.from_spec(extra["text"])
    return Saved(mix, text, extra[command])


def open_again(settings: Settings, saved: Saved, checkpoint: Path, skip_bad: bool) -> Source:
    """Open the source of a checkpoint, if it still holds the same kind of rows."""
    source = open_rows(settings, skip_bad, None if saved.text else saved.mix.n_features_in_)
    if source.kind != saved.notes["kind"]:
        raise ValueError(
            f"{', '.join(settings.sources)} held {saved.notes['kind']} when the checkpoint "
            f"{checkpoint} was made, now it holds {source.kind}. Put the old files back, or begin "
            "anew with --overwrite."
        )
    return source


@contextmanager
def going_on(settings: Settings, checkpoint: Path) -> Iterator[None]:
    """Let errors of a run that goes on say with which files, and what to do."""
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"cannot go on from {checkpoint} with {', '.join(settings.sources)}: {error} On the "
            "command line: put the old files back, or begin anew with --overwrite."
        ) from error
