"""What a run does that finds a checkpoint under its name."""

import shlex
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from evermix._words import listed
from evermix.cli.options.earlier import LEARN, Earlier
from evermix.cli.options.settings import Settings
from evermix.cli.output.output_files import check_new
from evermix.cli.runs.going_on import shown_source
from evermix.estimators.data.fingerprint import OtherRowsError

MOST_NAMES = 5  # of checkpoints in a message


def is_begun(settings: Settings, command: str, of_results: Collection[str]) -> bool:
    """Whether the checkpoint is of this very run, but for options on what it writes at the end."""
    earlier = Earlier.of(settings.checkpoint)
    if earlier is None or earlier.command != command or "-" in settings.sources:
        return False
    return not set(_differing(settings, earlier)) - set(of_results)


def _differing(settings: Settings, earlier: Earlier) -> list[str]:
    """Return the names of options that are others now; what was chosen may be left open."""
    names = settings.differing(earlier.settings)
    return [name for name in names if name in settings.given or name not in earlier.chosen]


def names_output(settings: Settings, option: str) -> bool:
    """Whether the run may go on from a checkpoint that names the same file for this option.

    Earlier versions wrote files of any name.
    """
    earlier = None if settings.overwrite else Earlier.of(settings.checkpoint)
    return earlier is not None and earlier.settings.get(option) == settings.values[option]


def check_free(
    settings: Settings,
    command: str,
    of_results: Collection[str],
    check_source: Callable[[], object],
) -> None:
    """Raise ValueError if a checkpoint is there, which says what it is and how both can be kept."""
    path = settings.checkpoint
    if path is None:
        return
    what, ways = "", ["keep it with another --checkpoint NAME", "replace it with --overwrite"]
    if (earlier := Earlier.of(path)) is not None:
        what = "It was saved in Python. "
    if earlier is not None and earlier.command is not None:
        before = settings.changed(source=earlier.settings.get("source"))
        what = f"It is of `evermix {earlier.command} {' '.join(map(shown_source, before.sources))}`"
        other: list[str] = []
        if earlier.command == command and before.sources == settings.sources:
            ways.insert(0, "go on from it with --resume")
            differing = set(_differing(settings, earlier)) - set(of_results)
            other = [option.flag for option in settings.options if option.name in differing]
        what += f" with another {', '.join(other)}. " if other else ". "
        if command == "stream" and earlier.command == "fit":
            ways.insert(0, f"begin with it by --model {shlex.quote(str(path))} and another name")
    advice = f"{', '.join(ways[:-1])}, or {ways[-1]}."
    remedy = f"{what}{advice[0].upper()}{advice[1:]}"
    check_new({"--checkpoint": str(path)}, remedy, check_source)


def other_rows(settings: Settings) -> ValueError:
    """Return what is wrong if the sources of a run are not those that its checkpoint has learnt."""
    sources = ", ".join(map(shown_source, settings.sources))
    return ValueError(
        f"cannot go on from {settings.checkpoint}: it was made from other rows than there are now "
        f"in {sources}. Start again with --overwrite or another --checkpoint NAME, or put the old "
        "rows back."
    )


def cannot_go_on(settings: Settings, model: Any, error: ValueError) -> ValueError:
    """Return why a fit could not go on, and what to do, in place of advice for Python."""
    if isinstance(error, OtherRowsError):
        return other_rows(settings)
    path, sources = str(settings.checkpoint), settings.sources
    if getattr(vars(model).get("learner_"), "rows_digest", "") is None:
        predict = shlex.join(["evermix", "predict", path, *map(shown_source, sources)])
        changed = f"{path} was changed by hand, so its fit cannot go on."
        return ValueError(f"{changed} The clusters of rows: {predict}")
    return ValueError(
        f"cannot go on from {path} with {', '.join(sources)}: {error} On the command line: put the "
        "old files back, or start again with --overwrite or another --checkpoint NAME."
    )


def others_beside(checkpoint: Path) -> str:
    """Return the names of checkpoints beside one that is not there, for a message."""
    names = sorted(str(path) for path in checkpoint.parent.glob("*.evermix"))
    if not names:
        return ""
    return f" If another one was meant, it may be {listed(names, MOST_NAMES, ', ...')}."


def of_another(settings: Settings, command: str, extra: Mapping[str, Any]) -> str:
    """Return what is wrong with a checkpoint that another command or program wrote."""
    path = settings.checkpoint
    wrote = next((name for name in LEARN if name in extra), None)
    own = "was saved in Python" if wrote is None else f"is a checkpoint of `evermix {wrote}`"
    if command == "stream":
        again = _with_model(settings)
        return f"{path} {own}, not of a stream. A stream that begins with that model: {again}"
    if wrote is None:
        return (
            f"{path} {own}, so it does not say where in its rows `evermix {command}` "
            "should go on. Go on in Python, or start again with another --checkpoint; `evermix "
            "predict` and `evermix report` read it as it is."
        )
    return (
        f"{path} {own}, from which `evermix {command}` cannot go on. Go on with "
        f"`evermix {wrote} ... --resume`, or start again with another --checkpoint."
    )


def _with_model(settings: Settings) -> str:
    """Return the command of a stream that begins with the model under its --checkpoint."""
    path, out = settings.checkpoint, settings.out
    lines = [] if out == "-" else ["--out", shown_source(out)]
    kept = ["--checkpoint", str(path.with_suffix(".stream.evermix"))]
    words = ["evermix", "stream", *map(shown_source, settings.sources), "--model", str(path)]
    return shlex.join([*words, *lines, *kept])
