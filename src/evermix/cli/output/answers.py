"""What a stream answers for each of its rows."""

from collections.abc import Iterator, Sequence
from typing import Any

from evermix.cli.output.lines import rounded
from evermix.estimators import Mixture
from evermix.io.sources import Chunk

COLUMNS = "id", "cluster", "probability", "new", "from", "name"
"""What the answer for a row of a stream may hold, beside what models that forget or wait say."""


def row_answers(
    mix: Mixture, chunk: Chunk, clock: int, faded: Sequence[int], provisional: bool
) -> Iterator[dict[str, Any]]:
    """Yield the line of each row of the last call of ``partial_fit``.

    Parameters
    ----------
    mix : Mixture
    chunk : Chunk
        The rows.
    clock : int
        Number of rows before these.
    faded : sequence of int
        Clusters that have faded meanwhile.
    provisional : bool
        Whether clusters may get other numbers, since the model waits for more rows to begin with.
    """
    labels, lineage = mix.labels_.tolist(), mix.lineage_
    names = lineage.hand.names
    rows = zip(chunk.ids, labels, mix.probabilities_.tolist(), strict=True)
    offsets = iter(chunk.offsets or ())
    gone: dict[int, list[int]] = {}
    for cluster in faded:  # before the row after its end, or perhaps behind the last one
        tick = min(lineage.ended[cluster] + 1, clock + len(labels))
        gone.setdefault(tick, []).append(cluster)
    newcomers = lineage.newcomers(set(labels), clock)
    for tick, (name, cluster, probability) in enumerate(rows, clock + 1):
        line = {"id": name, "cluster": cluster, "probability": rounded(probability)}
        first = cluster in newcomers
        parent = newcomers.pop(cluster, None)
        line["new"] = first and parent is None
        if parent is not None:
            line["from"] = parent
        if cluster in names:
            line["name"] = names[cluster]
        if mix.forgetting is not None:
            line["faded"] = gone.get(tick, [])
        if provisional:
            line["provisional"] = True
        if chunk.offsets is not None:
            line["offset"] = next(offsets)
        yield line
