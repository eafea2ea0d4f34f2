"""Rows that stand for many: drawn from all batches, never more than memory allows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evermix._csr import DeviceCSR
from evermix._xp import Array, doubled, host, namespace, take_rows
from evermix.engines.shards import Shard, Shards, Task
from evermix.engines.variational.seeding import Sample
from evermix.families.base import Family

NUMBERS = 2**24  # statistics that rows for a start may have: 128 MB
ROOM = 2**25  # numbers that rows of all clusters, or features of a sample, may hold: 256 MB
WORDS = 100  # numbers that a sparse row is taken to hold
LEAST_ROWS = 100  # that there are room for, however wide they are
FIRST_ROWS, LATER_ROWS, FEW = 10_000, 4000, 4  # rows drawn of each of few clusters, or of more


def draw_rows(family: Family, shards: Shards, most: int, rng: np.random.Generator) -> Sample:
    """Draw up to ``most`` rows of positive weight, evenly from all batches."""
    weights = [host(shards.weights_of(key)) for key in range(len(shards))]
    counts = [int(np.count_nonzero(some)) for some in weights]
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
        rows.append(np.flatnonzero(weights[key])[mine] if len(mine) else mine)
    return gather(family, shards, rows)


def gather(family: Family, shards: Shards, rows: Sequence[Array], stay: bool = False) -> Sample:
    """Return the rows with these numbers, given for each batch, as a sample.

    Dense rows on a device come to the host, unless they shall ``stay``.
    """
    wanted = {key: some for key, some in enumerate(rows) if len(some)}
    found = shards.do(TakeRows(wanted, stay), wanted)
    weights = [host(shards.weights_of(key))[some] for key, some in wanted.items()]
    return Sample(family, _stacked([found[key] for key in wanted]), np.concatenate(weights))


@dataclass(frozen=True)
class TakeRows(Task[dict[int, Array]]):
    """Take the rows with these numbers, given by batch; bring them to the host, or let them stay.

    They are few, so they are doubles from here on.
    """

    rows: dict[int, Array]
    stay: bool = False

    def part(self, keys: Sequence[int]) -> "TakeRows":
        """Return the same task for these batches."""
        return TakeRows({key: self.rows[key] for key in keys}, self.stay)

    def of(self, shard: Shard, key: int) -> dict[int, Array]:
        """Return rows (M, D) of one batch."""
        found = take_rows(shard[key].X, self.rows[key])
        if not sparse.issparse(found):
            found = doubled(found)
            here = isinstance(found, DeviceCSR) or not self.stay
            found = host(found) if here else found
        return {key: found}

    def joined(self, answers: Iterable[dict[int, Array]]) -> dict[int, Array]:
        """Return the rows of all batches."""
        return {key: rows for some in answers for key, rows in some.items()}


@dataclass(frozen=True)
class Owners(Task[dict[int, Array]]):
    """Tell which cluster owns each row, as it is remembered."""

    def of(self, shard: Shard, key: int) -> dict[int, Array]:
        """Return positions (N,) for one batch."""
        return {key: shard.memo[str(key)]["owner"]}

    def joined(self, answers: Iterable[dict[int, Array]]) -> dict[int, Array]:
        """Return the owners of all batches."""
        return {key: owner for some in answers for key, owner in some.items()}


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
        self._width = WORDS if family.sparse else family.n_slopes
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


def collect(family: Family, K: int, shards: Shards, rng: np.random.Generator) -> Collected:
    """Draw rows of each of K clusters from all batches, by the clusters that own them."""
    found = shards.do(Owners(), range(len(shards)))
    owners = []
    for key in range(len(shards)):  # rows of weight zero teach nothing
        owners.append(np.where(host(shards.weights_of(key)) == 0, K, found[key]))
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
    return Collected(gather(family, shards, parts, stay=True), owner[rows], rates, len(owner))


def _stacked(parts: list[Array]) -> Array:
    if sparse.issparse(parts[0]):
        return sparse.csr_matrix(sparse.vstack(parts))
    return namespace(parts[0]).concat(parts)
