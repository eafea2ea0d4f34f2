"""What a run reads of its checkpoint before it goes on."""

import shlex
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from evermix._schema import check_number
from evermix.cli.console import note
from evermix.cli.input.model_rows import known_kinds, n_columns
from evermix.cli.input.rows import open_rows
from evermix.cli.input.texts import with_function
from evermix.cli.options.settings import Settings
from evermix.cli.output.output_files import check_files, check_new
from evermix.cli.runs.going_on import command_to_go_on
from evermix.cli.runs.run import Run, checkpoint_file
from evermix.cli.runs.taken_names import of_another
from evermix.io import text as texts
from evermix.io.checkpoint import CheckpointError
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.io.sources import Source
from evermix.io.text_counter import TextCounter

AT_THE_END = {"--figure", "--curves", "--documents"}  # are made of a whole model, at any time


class Saved(NamedTuple):
    """Contents of a checkpoint: its command, the model, how words are counted, the run's notes."""

    command: str
    model: Any
    text: TextCounter | None
    notes: dict[str, Any]


def read_checkpoint(
    settings: Settings, run: type[Run], load: Callable[..., tuple[Any, dict[str, Any]]]
) -> Saved:
    """Read a checkpoint that this command wrote; ``load`` returns a model and what is beside it."""
    path, command = settings.checkpoint, run.command
    model, extra = load(path)
    if command not in extra:
        raise CheckpointError(of_another(settings, command, extra))
    notes = extra[command]
    try:
        settings.check_saved(notes["settings"])
        for name, length in notes["positions"].items():
            check_number(name, length)
        if not isinstance(notes["kind"], str):
            raise TypeError(f"kind must be a string, got {notes['kind']!r:.80}")
        run.check_notes(notes)
        text = None if extra["text"] is None else texts.from_spec(extra["text"])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(
            f"the notes in {path} on where `evermix {command}` was are not whole "
            f"({type(error).__name__}: {error}). They were edited; use an earlier copy, or start "
            "again with --overwrite."
        ) from error
    return Saved(command, model, text, notes)


def resumed_settings(settings: Settings, saved: Saved, free: Iterable[str] = ()) -> Settings:
    """Return the settings of a run that goes on, see :meth:`Settings.resumed`.

    A checkpoint is no order to write somewhere: a place that it alone names must be named on the
    command line. Pictures and the like, which are made at the end, are left out otherwise.
    """
    with_function(saved.text, settings)  # which raises if only the checkpoint names it
    resumed = settings.resumed(saved.notes["settings"], free)
    before = settings.changed(**saved.notes["settings"])
    given = {option.flag for option in settings.options if option.name in settings.given}
    only = {o: path for o, path in before.places.items() if o not in given}
    named = {o: f"{o} {shlex.quote(path)}" for o, path in only.items()}
    if only.keys() - AT_THE_END:
        places = " and ".join(f"{path} ({option})" for option, path in only.items())
        raise ValueError(
            f"the earlier run of {settings.checkpoint} wrote to {places}, and this command does "
            "not say where to write. A file may not choose that. If these places are yours, name "
            f"them: {command_to_go_on(saved.command, resumed, saved.notes['settings'])}"
        )
    if named:
        note(
            f"not written anew, since the command line does not name it: {' '.join(named.values())}"
        )
    absent = {option.name: None for option in settings.options if option.flag in named}
    return resumed.changed(**absent)


def check_resumed(settings: Settings, saved: Saved) -> None:
    """Check the files of a run that goes on; outputs of its own it may write again."""
    outputs = settings.outputs
    check_files(settings.sources, settings.inputs, outputs | checkpoint_file(settings))
    before = settings.changed(**saved.notes["settings"]).outputs
    new = {option: name for option, name in outputs.items() if name != before[option]}
    check_new(new, "Choose another place.")
    settings.lock_outputs()


def open_again(
    settings: Settings, saved: Saved, *, time_labels: bool = False, **reading: Any
) -> Source:
    """Open the source of a checkpoint, if it still holds the same kind of rows."""
    beside = isinstance(saved.text, EmbeddedTexts) and saved.text.name is None
    n_features = None if saved.text and not beside else n_columns(saved.model)
    reading |= {"beside": beside, "units": saved.notes.get("units", {})}
    if hasattr(saved.model, "levels_"):  # also where no cell of a file is missing or a word
        reading["kind"] = "table"
    source = open_rows(settings, n_features, time_labels, **known_kinds(saved.model), **reading)
    if source.kind != saved.notes["kind"]:
        raise ValueError(
            f"{', '.join(settings.sources)} held {saved.notes['kind']} when the checkpoint "
            f"{settings.checkpoint} was made, now it holds {source.kind}. Put the old files back, "
            "or start again with --overwrite or --checkpoint NAME."
        )
    return source
