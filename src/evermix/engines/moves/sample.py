"""Rows that stand for many: drawn from all batches, never more than memory allows."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from evermix._xp import Array, host, take_rows
from evermix.engines.base import Batch, weights_of
from evermix.engines.seeding import Sample
from evermix.families.base import Family
from evermix.state import State

__all__ = ["Collected", "collect", "draw_rows"]

NUMBERS = 2**24  # statistics that rows for a start may have: 128 MB
ROOM = 2**25  # numbers that rows of all clusters, or features of a sample, may hold: 256 MB
WORDS = 100  # numbers that a sparse row is taken to hold
LEAST_ROWS = 100  # that there are room for, however wide they are
FIRST_ROWS, LATER_ROWS, FEW = 10_000, 4000, 4  # rows drawn of each of few clusters, or of more


def draw_rows(
    family: Family, batches: Sequence[Batch], most: int, rng: np.random.Generator
) -> Sample:
    """Draw up to ``most`` rows of positive weight, evenly from all batches."""
    counts = [int(np.count_nonzero(host(weights_of(batches, k)))) for k in range(len(batches))]
    total = sum(counts)
    width = WORDS if family.sparse else family.n_stats
    most = min(most, max(NUMBERS // width, LEAST_ROWS))
    chosen = np.arange(total)
    if total > most:
        chosen = np.sort(rng.choice(total, most, replace=False))
    starts = np.cumsum([0, *counts])
    cuts = np.searchsorted(chosen, starts)
    rows = []
    for key, start in enumerate(starts[:-1]):
        mine = chosen[cuts[key] : cuts[key + 1]] - start
        rows.append(np.flatnonzero(host(weights_of(batches, key)))[mine] if len(mine) else mine)
    return gather(family, batches, rows)


def gather(family: Family, batches: Sequence[Batch], rows: Sequence[Array]) -> Sample:
    """Return the rows with these numbers, given for each batch, as a sample."""
    parts, weights = [], []
    for key, some in enumerate(rows):
        if len(some):
            batch = batches[key]
            found = take_rows(batch.X, some)
            parts.append(found if sparse.issparse(found) else host(found))
            weights.append(host(batch.weights)[some])
    return Sample(family, _stacked(parts), np.concatenate(weights))


class Collected:
    """Rows of every cluster.

    Attributes
    ----------
    total : int
        Number of rows in all batches.
    """

    def __init__(self, sample: Sample, owner: Array, rates: Array, total: int) -> None:
        self._sample, self._rates, self.total = sample, rates, total
        family = sample.family
        self._width = WORDS if family.sparse else family.features(sample.X[:1]).shape[1]
        order = np.argsort(owner, kind="stable")
        self._rows = np.split(order, np.searchsorted(owner[order], np.arange(1, len(rates))))

    def of(self, group: Array, rng: np.random.Generator) -> Sample:
        """Return rows of the clusters of a group, each cluster with its share of the weight."""
        rows = [self._rows[k] for k in group]
        rates = self._rates[group] / self._rates[group].min()
        rate = np.repeat(rates, [len(some) for some in rows])
        all_rows = np.concatenate(rows)
        most = min(FIRST_ROWS, max(ROOM // self._width, LEAST_ROWS))
        if len(all_rows) > most:
            some = rng.choice(len(all_rows), most, replace=False)
            all_rows, rate = all_rows[some], rate[some]
        sample = self._sample.take(all_rows)
        sample.weights *= rate
        return sample


def collect(
    family: Family, state: State, batches: Sequence[Batch], rng: np.random.Generator
) -> Collected:
    """Draw rows of every cluster from all batches, by the clusters that own them."""
    K = state.tally.K
    owners = [state.memo[str(key)]["owner"] for key in range(len(batches))]
    for key, owner in enumerate(owners):  # rows of weight zero teach nothing
        idle = host(weights_of(batches, key)) == 0
        owners[key] = np.where(idle, K, owner)
    owner = np.concatenate(owners)
    assert family.n_features is not None
    width = family.n_features if not family.sparse else WORDS
    most = min(FIRST_ROWS if K < FEW else LATER_ROWS, max(ROOM // (width * K), LEAST_ROWS))
    order = np.argsort(owner, kind="stable")
    each = np.split(order, np.searchsorted(owner[order], np.arange(1, K + 1)))[:K]
    drawn = [rng.choice(mine, most, replace=False) if len(mine) > most else mine for mine in each]
    rates = np.array([max(len(mine) / most, 1.0) for mine in each])
    rows = np.sort(np.concatenate(drawn))
    starts = np.cumsum([0, *(len(some) for some in owners)])
    cuts = np.searchsorted(rows, starts)
    parts = [rows[a:b] - start for a, b, start in zip(cuts, cuts[1:], starts, strict=False)]
    return Collected(gather(family, batches, parts), owner[rows], rates, len(owner))


def _stacked(parts: list[Array]) -> Array:
    if sparse.issparse(parts[0]):
        return sparse.csr_matrix(sparse.vstack(parts))
    return np.concatenate(parts)
