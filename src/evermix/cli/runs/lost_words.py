"""A warning that new documents share words which a topic model does not count."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evermix._words import listed
from evermix.cli.runs.going_on import command_anew
from evermix.io.unknown_words import UnknownWords

NAMED = 8  # words


def lost_words(
    unknown: UnknownWords, saved: Mapping[str, Any], sources: Sequence[str], path: str | Path
) -> Iterator[str]:
    """Yield a warning if documents share words that the first fit did not know.

    ``saved`` are the settings of the first fit, ``sources`` the files of all documents; ``path`` is
    the file of the model.
    """
    words, n = unknown.frequent()
    if not words:
        return
    shown = listed(words, NAMED, ", ...")
    command = command_anew("topics", saved, sources, path)
    again = "" if command is None else f", with the options of the first fit: {command}"
    yield (
        f"warning: words that the first fit did not know are in {n:,} of {unknown.documents:,} "
        f"documents: {shown}. Topics are made of known words, so a topic of these cannot be found "
        f"here: fit all documents again{again}"
    )
