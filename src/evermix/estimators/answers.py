"""What is answered for each row of a stream, wherever it comes from."""

from collections.abc import Iterator, Sequence
from typing import Any

from evermix.estimators.mixture.estimator import Mixture

COLUMNS = "id", "cluster", "probability", "new", "from", "name"
"""What the answer for a row of a stream may hold, beside what models that forget or wait say."""


def row_answers(
    mix: Mixture,
    ids: Sequence[Any],
    clock: int,
    *,
    faded: Sequence[int] = (),
    provisional: bool = False,
    novelty: Sequence[float] | None = None,
    offsets: Sequence[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the answer for each row of the last call of ``partial_fit``.

    Parameters
    ----------
    mix : Mixture
    ids : sequence of length n
        None: the row has no id.
    clock : int
        Number of rows before these.
    faded : sequence of int
        Clusters that have faded meanwhile, which the row after the end of each says.
    provisional : bool
        Whether clusters may get other numbers, since the model waits for more rows to begin with.
    novelty : sequence of length n, optional
        The probability that each row was in no cluster that there was before.
    offsets : sequence of length n, optional
        Where the rows were in their source.
    """
    labels, lineage = mix.labels_.tolist(), mix.lineage_
    names = lineage.hand.names
    rows = zip(ids, labels, mix.probabilities_.tolist(), strict=True)
    gone: dict[int, list[int]] = {}
    for cluster in faded:  # before the row after its end, or perhaps behind the last one
        tick = min(lineage.ended[cluster] + 1, clock + len(labels))
        gone.setdefault(tick, []).append(cluster)
    newcomers = lineage.newcomers(set(labels), clock)
    for i, (id, cluster, probability) in enumerate(rows):
        line = {} if id is None else {"id": id}
        line |= {"cluster": cluster, "probability": probability}
        if novelty is not None:
            line["novelty"] = novelty[i]
        first = cluster in newcomers
        parent = newcomers.pop(cluster, None)
        line["new"] = first and parent is None
        if parent is not None:
            line["from"] = parent
        if cluster in names:
            line["name"] = names[cluster]
        if clock + 1 + i in gone:
            line["faded"] = gone[clock + 1 + i]
        if provisional:
            line["provisional"] = True
        if offsets is not None:
            line["offset"] = offsets[i]
        yield line
