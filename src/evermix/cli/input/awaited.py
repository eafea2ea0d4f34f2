"""What a run that follows files waits for, where there are no rows yet."""

import glob
import os
from collections.abc import Iterable, Iterator

from evermix.cli.console import note
from evermix.cli.options.settings import Settings
from evermix.io.similar_names import did_you_mean
from evermix.io.sources.follow import SUFFIXES, names_followed

SIMILAR = 0.8  # names of files, of which one may come later


def note_awaited(settings: Settings, then: str = "") -> None:
    """Say what is waited for, unless there is something to read or nobody wants to know.

    ``then`` is what begins with the first rows.
    """
    if settings.follow and not (settings.values.get("drain") or settings.quiet):
        for line in awaited(settings.sources):
            note(f"{line} Waiting for rows until a signal (Ctrl-C) ends it.{then}")


def awaited(sources: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each source without rows; nothing if another one has some."""
    found = list[str]()
    for source in sources:
        names = list(names_followed([source]))
        if any(map(_size, names)):
            return
        shown, ends = os.path.relpath(source), " or ".join(SUFFIXES)
        if names and os.path.exists(names[0]):
            found.append(f"{os.path.relpath(names[0])} has no rows yet.")
        elif os.path.isdir(source):
            found.append(f"the folder {shown} has no file yet whose name ends in {ends}.")
        elif glob.has_magic(source):
            found.append(f"no file is there yet whose name is like {shown}.")
        elif source.lower().endswith(SUFFIXES):  # else it cannot be followed
            found.append(f"{shown} does not exist yet.{did_you_mean(source, least=SIMILAR)}")
    yield from found


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
