r"""Samples of rows from all batches, and seeds among them, for starts and births.

Seeds are far from each other in the family's divergence. A seed is a cluster that has learnt one
row. The distance of a row x is how much better a cluster that has learnt x itself would explain it,

.. math::

    d(x, s) = E[\log p(x | \phi) | x] - E[\log p(x | \phi) | x_s],

a Bregman divergence between means that the prior smooths. Seeds are drawn one after another with
probability proportional to the distance from the nearest seed so far (k-means++).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from evermix._xp import Array, Bools, Floats, Ints, alike, host, namespace, take_rows
from evermix.engines.shards import Shard, Shards, TakeRows, Task
from evermix.families.base import Family
from evermix.families.values import finite

SEED_ROWS = 2000  # number of rows among which seeds are chosen
NUMBERS = 2**24  # most statistics of the rows of a start: 128 MB
WORDS = 100  # assumed number of entries of a sparse row
MIN_SAMPLE = 100  # rows, even if they are very wide


@dataclass
class Sample:
    """Rows that represent many.

    Attributes
    ----------
    family : Family
    X : array (N, D)
        An array of any library.
    weights : array (N,)
        How many rows each one represents; a NumPy array.
    """

    family: Family
    X: Array
    weights: Floats

    @cached_property
    def features(self) -> Array:
        """Features of the rows, (N, F)."""
        return self.family.features(self.X)

    @cached_property
    def alone(self) -> Floats:
        """Expected log likelihood (N,) of each row when a cluster has learnt that row alone."""
        return host(self.family.self_log_likelihood(self.X))

    def scores(self, slopes: Array, intercepts: Array, rows: slice = slice(None)) -> Array:
        """Return linear functions (N, K) of the features of some rows, on their device."""
        out = self.features[rows, :] @ self.on_device(slopes).T
        out += self.on_device(intercepts)
        return out

    def on_device(self, values: Array) -> Array:
        """Return an array on the device of the rows."""
        return values if sparse.issparse(self.X) else alike(values, self.X)

    def __len__(self) -> int:
        return len(self.weights)

    def ready(self) -> "Sample":
        """Compute what samples of these rows will need, once for all of them."""
        assert len(self.alone) == self.features.shape[0]
        return self

    def take(self, rows: Ints) -> "Sample":
        """Return some of the rows."""
        some = Sample(self.family, take_rows(self.X, rows), self.weights[rows])
        for name in ("features", "alone"):  # what is known already
            if name in self.__dict__:
                setattr(some, name, take_rows(getattr(self, name), rows))
        return some


def draw_rows(
    family: Family,
    shards: Shards,
    most: int,
    rng: Generator,
    weights: Sequence[Floats] | None = None,
) -> Sample:
    """Draw up to ``most`` rows of positive weight, evenly from all batches.

    ``weights`` are those (N,) of the rows of each batch, if not all may be drawn.
    """
    if weights is None:
        weights = [host(shards.weights_of(key)) for key in range(len(shards))]
    counts = [int(np.count_nonzero(some)) for some in weights]
    total = sum(counts)
    width = WORDS if family.sparse else family.n_stats
    most = min(most, max(NUMBERS // width, MIN_SAMPLE))
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


def gather(family: Family, shards: Shards, rows: Sequence[Ints]) -> Sample:
    """Return the rows with these numbers, given for each batch, as a sample on the host."""
    wanted = {key: some for key, some in enumerate(rows) if len(some)}
    found = shards.do(TakeRows(wanted), wanted)
    weights = [host(shards.weights_of(key))[some] for key, some in wanted.items()]
    return Sample(family, _stacked([found[key] for key in wanted]), np.concatenate(weights))


@dataclass(frozen=True)
class CollectOwners(Task[dict[int, NDArray[np.int32]]]):
    """Collect the best cluster of each row from the records."""

    def of(self, shard: Shard, key: int) -> dict[int, NDArray[np.int32]]:
        """Return positions (N,) for one batch."""
        return {key: shard.memo[str(key)]["owner"]}

    def joined(
        self, answers: Iterable[dict[int, NDArray[np.int32]]]
    ) -> dict[int, NDArray[np.int32]]:
        """Return those of all batches."""
        return {key: owner for some in answers for key, owner in some.items()}


class RowsByCluster(NamedTuple):
    """A sample of the rows of clusters."""

    sample: Sample
    rows: list[Ints]  # for each cluster the numbers of its rows in the sample
    rates: Floats  # (K,) how many rows of a cluster each of them represents

    def of(self, team: Ints) -> tuple[Ints, Floats]:
        """Return the rows of some clusters, and how many each represents, at least 1."""
        rows = [self.rows[k] for k in team]
        rates = self.rates[team] / self.rates[team].min()
        return np.concatenate(rows), np.repeat(rates, [len(some) for some in rows])


def collect(
    family: Family, wanted: Bools, shards: Shards, most: int, rng: Generator
) -> RowsByCluster:
    """Draw up to ``most`` rows of each wanted cluster (K,) from all batches, by best cluster."""
    found, K = shards.do(CollectOwners(), range(len(shards))), len(wanted)
    owners = []
    for key in range(len(shards)):  # rows of weight zero are left out
        owners.append(np.where(host(shards.weights_of(key)) == 0, K, found[key]))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    each = np.split(order, np.searchsorted(owner[order], np.arange(1, K + 1)))[:K]
    drawn = []
    for mine, want in zip(each, wanted, strict=True):
        some = rng.choice(mine, most, replace=False) if len(mine) > most else mine
        drawn.append(np.sort(some) if want else mine[:0])
    rows = np.sort(np.concatenate(drawn))
    starts = np.cumsum([0, *(len(some) for some in owners)])
    cuts = np.searchsorted(rows, starts)
    parts = [rows[a:b] - start for a, b, start in zip(cuts, cuts[1:], starts, strict=False)]
    rates = np.array([max(len(mine) / most, 1.0) for mine in each])
    places = [np.searchsorted(rows, some) for some in drawn]
    return RowsByCluster(gather(family, shards, parts), places, rates)


def _stacked(parts: list[Array]) -> Array:
    if sparse.issparse(parts[0]):
        return sparse.csr_matrix(sparse.vstack(parts))
    return namespace(parts[0]).concat(parts)


# ---- seeds ---------------------------------------------------------------------------------


def seed(sample: Sample, K: int, rng: Generator, spread: bool = True) -> Ints:
    """Return the nearest of up to K seeds for each row of a sample, (N,).

    Seeds are spread out (k-means++), or drawn at random.
    """
    some = sample
    if len(sample) > SEED_ROWS and K * 10 < SEED_ROWS:
        some = sample.take(np.sort(rng.choice(len(sample), SEED_ROWS, replace=False)))
    slopes, intercepts = _spread_seeds(some, K, rng) if spread else _random_seeds(some, K, rng)
    nearest = np.empty(len(sample), dtype=np.int64)
    for rows in sample.family.chunks(sample.X, K):
        scores = sample.scores(slopes, intercepts, rows)
        nearest[rows] = host(namespace(scores).argmax(scores, axis=1))
    return nearest


def _random_seeds(sample: Sample, K: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw seeds; return their slopes (K, F) and intercepts (K,)."""
    p = sample.weights / sample.weights.sum()
    rows = rng.choice(len(sample), min(K, int(np.count_nonzero(p))), replace=False, p=p)
    return clusters_of(sample, rows)


def _spread_seeds(sample: Sample, K: int, rng: Generator) -> tuple[Floats, Floats]:
    """Draw seeds far from each other; return their slopes (K, F) and intercepts (K,)."""
    gap, best = np.ones(len(sample)), np.full(len(sample), -np.inf)
    slopes, intercepts = [], []
    for _ in range(K):
        p = sample.weights * gap
        if not p.sum() > 0:  # every row is a seed already
            break
        slope, intercept = clusters_of(sample, rng.choice(len(sample), 1, p=p / p.sum()))
        slopes.append(slope)
        intercepts.append(intercept)
        best = np.maximum(best, host(sample.scores(slope, intercept))[:, 0])
        gap = np.maximum(sample.alone - best, 0.0)
    return np.concatenate(slopes), np.concatenate(intercepts)


def clusters_of(sample: Sample, rows: Ints) -> tuple[Floats, Floats]:
    """Return slopes and intercepts of clusters of one row each."""
    family = sample.family
    stats = host(family.statistic(take_rows(sample.X, rows)))
    params = finite(family.mean_params(family.posterior(stats, np.ones(len(rows)))))
    return family.slopes(params), np.sum(params[:, family.n_stats :], axis=1)
