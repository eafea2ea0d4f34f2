"""A stream that goes on with other files, after those that it has read to their end."""

import os
from typing import Any, NamedTuple

from evermix._words import counted
from evermix.cli.console import note
from evermix.cli.options.brokers import has_moved
from evermix.cli.options.settings import Settings
from evermix.cli.runs.resuming import Saved, open_again, resumed_settings
from evermix.io.brokers import is_address
from evermix.io.sources import Mark, Source
from evermix.io.sources.lines import digest_file
from evermix.io.sources.several import Several, files_named, names_several


class Place(NamedTuple):
    """Where a stream goes on.

    Attributes
    ----------
    past : list of Mark
        Of files that were read to their end, and need not be there any more.
    files : list of Mark
        Of files that are opened again.
    follows : bool
        Whether the files of the command line follow those of the checkpoint.
    """

    past: list[Mark]
    files: list[Mark]
    follows: bool

    @property
    def rows(self) -> int:
        """Rows of the files that are past."""
        return sum(mark.rows or 0 for mark in self.past)

    def opened(self, settings: Settings, saved: Saved, **reading: Any) -> Source:
        """Open the files, to be read on where the checkpoint was."""
        reading["continues"] = settings.stdin == "continues"
        known = settings.follow or reading["continues"] or is_address(settings.source)
        if known:  # these need not be looked at to know what they hold
            reading |= {"kind": saved.notes["kind"], "marks": self.files}
        source = open_again(settings, saved, **reading)
        if self.past:
            source = source if isinstance(source, Several) else Several([source])
            source.rows_before = self.rows
        if isinstance(source, Several):
            source.recall(self.files)
        elif self.files and not known:
            source.recall(self.files[0])
        return source


def check_stdin(settings: Settings) -> None:
    """Raise ValueError unless it is clear where standard input begins."""
    if settings.source == "-" and settings.stdin is None:
        raise ValueError(
            "--resume from standard input must know what comes there: with --stdin replayed the "
            "whole source from its first row on, of which rows that were read before are skipped; "
            "with --stdin continues only rows that were not read yet, none of which is skipped."
        )
    if settings.source != "-" and settings.stdin is not None:
        raise ValueError("--stdin is about standard input, and SOURCE is not -. Leave it out.")


def check_nothing_lost(settings: Settings) -> None:
    """Raise ValueError if a pipe goes on, whose first rows were answered and not kept."""
    lost = _lines_after(settings, 0) if settings.stdin != "replayed" else 0
    if lost:
        raise ValueError(
            f"there is no checkpoint {settings.checkpoint}: the run that wrote {settings.out} was "
            f"killed before its first one, so what it read from standard input is not learnt "
            f"({counted(lost, 'line')} of answers). Send the whole source again with --stdin "
            "replayed, or begin with what comes now by --overwrite in place of --resume."
        )


def note_lost(settings: Settings, at: int | None) -> None:
    """Warn of answers after the first ``at`` bytes, whose rows a pipe that goes on does not bring.

    They are removed when the run goes on.
    """
    lost = _lines_after(settings, at or 0) if settings.stdin == "continues" else 0
    if lost:
        note(
            f"warning: the run was killed after its last checkpoint, so the last "
            f"{counted(lost, 'line')} of {settings.out} and their rows are not part of it. The "
            "lines are removed: send these rows again."
        )


def _lines_after(settings: Settings, at: int) -> int:
    """Return how many lines of answers to standard input come after so many bytes."""
    if settings.source != "-" or settings.to is not None or not os.path.isfile(settings.out):
        return 0
    with open(settings.out, "rb") as file:
        file.seek(at)
        return sum(1 for _ in file)


def place_after(settings: Settings, notes: dict[str, Any]) -> Place:
    """Return where a stream goes on, by its settings and the notes of its checkpoint.

    ValueError: other files are named, and those before were not read to their end; or files were
    read before.
    """
    past, files = ([Mark(*mark) for mark in notes.get(name, [])] for name in ("past", "files"))
    before, now = settings.changed(**notes["settings"]).sources, settings.sources
    read = {mark.path: mark.rows for mark in past}
    for path in set(_files(now)) & read.keys():
        raise ValueError(
            f"{path} was read before ({read[path] or 0:,} rows), and other files after it: its "
            "rows would be learnt twice. Name only files that were not read yet; new rows may be "
            "appended to the last file, or come in a file of another name."
        )
    alone = settings.follow or "-" in now or notes["settings"].get("follow")
    alone = alone or any(is_address(name) for name in (*before, *now))
    if alone or set(now) & set(before) or set(_files(now)) & set(_files(before)):
        return Place(past, files, follows=False)
    if not notes.get("ended", True):
        raise ValueError(
            f"the stream was stopped before the end of {', '.join(before)}, so other files cannot "
            f"follow yet. Go on with the same files first, or name all: "
            f"{' '.join(map(os.path.relpath, [*before, *now]))}"
        )
    _warn_of_copies(_files(now), [*past, *files])
    known = sum(mark.rows or 0 for mark in [*past, *files[:-1]])
    last = [mark._replace(rows=notes["totals"]["offset"] - known) for mark in files[-1:]]
    return Place([*past, *files[:-1], *last], [], follows=True)


def _warn_of_copies(paths: list[str], marks: list[Mark]) -> None:
    """Warn of files that hold what others held, whose rows were read before."""
    for path in filter(os.path.isfile, paths):
        alike = [mark for mark in marks if mark.digest and mark.size == os.path.getsize(path)]
        for mark in alike:
            if digest_file(path) == mark.digest:
                note(
                    f"warning: {path} holds the same bytes as {mark.path}, which was read before: "
                    "its rows are learnt once more."
                )


def settings_after(settings: Settings, saved: Saved, place: Place) -> Settings:
    """Return the settings of a stream that goes on.

    Files may have been added after the last one, and the run may follow them from now on; a broker
    may have another address. With ``--no-follow`` files that were followed are read on in the same
    way, up to where they end now. What comes from other files may be written to another place, if
    all that was before is complete.
    """
    before, now = settings.changed(**saved.notes["settings"]), settings.source
    added = place.follows or settings.sources[: len(before.sources)] == before.sources
    added = added or has_moved(settings.sources, before.sources)
    free = {"follow", *(["source"] if added else [])}
    if place.follows and settings.out not in ("-", before.out):
        free.add("out")
        saved.notes["positions"].pop("out", None)
    after = resumed_settings(settings, saved, free).changed(source=now)
    return after.changed(follow=True, drain=True) if before.follow and not after.follow else after


def _files(sources: list[str]) -> list[str]:
    """Return the files that sources stand for, as far as there are any."""
    several = [path for path in sources if path != "-" and names_several(path)]
    there = [path for path in several if os.path.exists(path)]
    return [path for path in sources if path not in several] + (files_named(there) if there else [])
