"""A warning that new documents share words which a topic model does not count."""

import shlex
from collections.abc import Iterator, Sequence

from evermix.cli.runs.going_on import shown_source
from evermix.io.unknown_words import UnknownWords

NAMED = 8  # words


def lost_words(unknown: UnknownWords, sources: Sequence[str]) -> Iterator[str]:
    """Yield a warning if documents share words that the first fit did not know.

    ``sources`` are the files of all documents.
    """
    words, n = unknown.frequent()
    if not words:
        return
    shown = ", ".join(words[:NAMED]) + ", ..." * (len(words) > NAMED)
    command = ["evermix", "topics", *dict.fromkeys(map(shown_source, sources))]
    again = "" if "-" in command else f", with the options of the first fit: {shlex.join(command)}"
    yield (
        f"warning: words that the first fit did not know are in {n:,} of {unknown.documents:,} "
        f"documents: {shown}. Topics are made of known words, so a topic of these cannot be found "
        f"here: fit all documents again{again}"
    )
