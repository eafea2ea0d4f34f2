"""Tables packed for the compiled verbs of ``kernels/families/mixed.py``."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array, Ints
from evermix.kernels.base import refresh_all
from evermix.kernels.families.mixed import GROUP, TERMS, MixedWork, TableRows
from evermix.kernels.rows import plain
from evermix.tally import Tally


class Part(NamedTuple):
    """A block whose kind has compiled verbs."""

    kind: int
    family: Any
    columns: Ints
    seen: Callable[[Array], Array] | None = None  # what the block sees of the numbers
    scaled: Callable[[Array], Array] | None = None  # what is done to these


def table_rows(parts: Sequence[Part], X: Array) -> TableRows:
    """Pack rows X (N, D), the columns in the order of the blocks."""
    values = []
    for part in parts:
        x = X[:, part.columns]
        x = x if part.seen is None else part.seen(x)
        x = x if part.scaled is None else part.scaled(x)
        origin = getattr(part.family, "origin", None)
        values.append(x if origin is None else x - origin)
    packed = plain(np.column_stack(values))
    seen = ~np.isnan(packed)
    return TableRows(np.where(seen, packed, 1.0), seen)


def table_work(parts: Sequence[Part], tally: Tally) -> MixedWork:
    """Pack the tally's buffers and what is derived from them."""
    lines, column, start, at, first = [], 0, 0, 0, 0
    for kind, family, columns, *_ in parts:
        d, S = len(columns), family.n_stats
        lines.append((kind, d, column, start, at, first, S))
        column, first = column + d, first + len(family.eta0)
        start += S + (len(family.eta0) > S)
        at += d + d * d + 2 if kind == GROUP else TERMS[kind]
    widest = max(len(part.columns) for part in parts)
    work = MixedWork(
        stats=tally.stats_buffer,
        terms=np.zeros((tally.capacity, at)),
        blocks=np.array(lines, dtype=np.int64),
        prior=np.concatenate([part.family.eta0 for part in parts]),
        scratch=np.zeros((widest, widest)),
        residual=np.zeros(widest),
        places=np.zeros(widest, dtype=np.int64),
    )
    refresh_all(work, tally.mass_buffer, tally.K)
    return work
