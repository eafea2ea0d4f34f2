"""The lines of a stream: what it answers for each of its rows."""

from collections.abc import Iterator, Sequence
from typing import Any

from evermix.cli.output.lines import rounded
from evermix.estimators import Mixture
from evermix.estimators.answers import row_answers
from evermix.io.sources import Chunk


def row_lines(
    mix: Mixture, chunk: Chunk, clock: int, faded: Sequence[int], provisional: bool
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a chunk that was just learnt; see :func:`row_answers`."""
    for line in row_answers(
        mix, chunk.ids, clock, faded=faded, provisional=provisional, offsets=chunk.offsets
    ):
        yield line | {"probability": rounded(line["probability"])}
