"""Lines on the topics of documents, those of ``predict`` and of ``topics --documents``."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.cli.output.lines import rounded

LEAST = 0.01  # share of a topic that a line names
DIGITS = 6  # behind the point, of shares

Line = dict[str, Any]


def document_lines(
    ids: Iterable[Any], shares: Array, names: Mapping[int, str], unknown: Array | None
) -> Iterator[Line]:
    """Yield a line for each document, given its shares of all topics (D, K).

    ``unknown`` are shares (D,) of unknown words, if texts have words; ``names`` those of topics.
    """
    for d, id in enumerate(ids):
        line = {"id": id, "topics": named_shares(shares[d], names)}
        yield line if unknown is None else line | {"unknown_words": rounded(unknown[d])}


def named_shares(shares: Array, names: Mapping[int, str]) -> list[Line]:
    """Return the topics of a document, given its share of each (K,); the largest first.

    Small ones are left out.
    """
    found = np.flatnonzero(shares >= min(LEAST, shares.max()))
    order = found[np.argsort(-shares[found], kind="stable")].tolist()
    return [
        {"topic": k, "share": round(float(shares[k]), DIGITS)}
        | ({"name": names[k]} if k in names else {})
        for k in order
    ]
