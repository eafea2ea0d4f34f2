"""Rows that stand for many: drawn from all batches, never more than memory allows."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from evermix._xp import Array, host
from evermix.engines.base import Batch
from evermix.engines.seeding import Sample
from evermix.families.base import Family

__all__ = ["draw_rows", "gather"]

NUMBERS = 2**24  # features that a sample may hold: 128 MB


def draw_rows(
    family: Family, batches: Sequence[Batch], most: int, rng: np.random.Generator
) -> Sample:
    """Draw up to ``most`` rows of positive weight, evenly from all batches."""
    sizes = [len(batch.weights) for batch in batches]
    total = sum(sizes)
    most = min(most, max(NUMBERS // family.n_stats, 100))
    chosen = np.arange(total)
    if total > most:
        chosen = np.sort(rng.choice(total, most, replace=False))
    starts = np.cumsum([0, *sizes])
    rows = [chosen[(chosen >= a) & (chosen < b)] - a for a, b in zip(starts, starts[1:], strict=False)]
    return gather(family, batches, rows)


def gather(family: Family, batches: Sequence[Batch], rows: Sequence[Array]) -> Sample:
    """Return the rows with these numbers, given for each batch, as a sample."""
    parts, weights = [], []
    for key, some in enumerate(rows):
        if len(some):
            batch = batches[key]
            parts.append(batch.X[some, :] if sparse.issparse(batch.X) else host(batch.X)[some, :])
            weights.append(host(batch.weights)[some])
    join = sparse.vstack if sparse.issparse(parts[0]) else np.concatenate
    X, w = join(parts), np.concatenate(weights)
    X = sparse.csr_matrix(X) if sparse.issparse(X) else X
    return Sample(family, X, w)
