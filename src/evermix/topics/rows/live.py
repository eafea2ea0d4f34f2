"""Dependent mixtures that go on with new rows, and keep none of them.

What is known is a few draws. Each holds how many rows of each time its clusters have, their
statistics, and all that is learnt beside: everything that the law of new rows depends on. The
clusters of new rows are then drawn by the sampler of the fit, among clusters that count the rows of
the past with their own, and clusters that are born. The measure is drawn given all rows, old and
new. What is not drawn again is what the past chose.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from evermix._random import generator
from evermix._xp import Array, Bools, Floats, Ints
from evermix.families.base import Family
from evermix.topics.chains import DrawsThatGoOn, chosen
from evermix.topics.measures.opening import open_times
from evermix.topics.priors import DependentPrior
from evermix.topics.rows.chain import Past, RowChain, RowData
from evermix.topics.rows.draws import Clusters, RowDraw, RowRun
from evermix.topics.rows.samplers import RowSampler

KEPT = 4  # draws of a fit that go on
SWEEPS = 20  # over new rows


@dataclass(frozen=True, eq=False)
class Known:
    """A draw that goes on: what is known after all rows so far."""

    clusters: Clusters
    rng: np.random.Generator


class LiveRows(DrawsThatGoOn[Known]):
    """Draws that go on, in the place of the chains of a fit."""

    def __init__(
        self, family: Family, sampler: RowSampler, known: list[Known], labels: Ints, sweeps: int
    ) -> None:
        super().__init__(known, sweeps)
        self.family, self.sampler = family, sampler
        self.labels = labels  # (N,) of the rows of the last call, in the draw that is shown

    @classmethod
    def of(cls, run: RowRun, point: RowDraw) -> "LiveRows":
        """Return the draw that a fit shows, and some others, evenly spaced."""
        others = [draw for draws in run.draws for draw in draws if draw is not point]
        draws, rng = chosen(point, others, KEPT), deepcopy(run.rngs[0])
        known = [Known(Clusters.of(draw, run.data), generator(rng)) for draw in draws]
        labels = point.labels.astype(np.int64)
        return cls(run.data.family, run.sampler, known, labels, run.sweeps)

    def learnt(self, prior: DependentPrior, X: Array, times: Ints, n_times: int) -> "LiveRows":
        """Return what is known after new rows X (N, D) of times (N,), some of which may be new."""
        pasts = [_past(known.clusters, n_times) for known in self.known]
        data = [RowData(self.family, X, times, n_times, past) for past in pasts]
        pairs = zip(self.known, data, strict=True)
        learnt = [learn(known, prior, self.sampler, each) for known, each in pairs]
        known, labels = [known for known, _ in learnt], learnt[0][1]
        return LiveRows(self.family, self.sampler, known, labels, self.sweeps + SWEEPS)


def learn(
    known: Known, prior: DependentPrior, sampler: RowSampler, data: RowData
) -> tuple[Known, Ints]:
    """Return what a draw is after new rows, whose past it is, and their labels (N,)."""
    rng, chain = deepcopy(known.rng), opened(known.clusters, prior, data)
    for _ in range(SWEEPS):
        sampler.sweep(data, chain, rng)
    return Known(Clusters.of(RowDraw.of(chain, data), data), rng), chain.labels


def opened(clusters: Clusters, prior: DependentPrior, data: RowData) -> RowChain:
    """Return a chain over new rows before its first sweep: the clusters are those of the past."""
    T, n = clusters.counts.shape[0], np.bincount(data.times, minlength=data.n_times)
    measure = prior.measure(np.ones(data.n_times))
    new: Floats = n[T:].astype(np.float64)
    open_times(measure, clusters.measure, new, float(clusters.counts[-1].sum()))
    on: Bools = np.ones((data.n_times, clusters.K), dtype=bool)  # at new times, until it is drawn
    on[:T] = clusters.on
    labels = np.full(len(data), -1, dtype=np.int64)
    return RowChain(measure, labels, clusters.region, on, kept=clusters.K)


def _past(clusters: Clusters, n_times: int) -> Past:
    """Return the rows of clusters, with none at new times."""
    more = n_times - clusters.counts.shape[0]
    return Past(np.pad(clusters.counts, ((0, more), (0, 0))), clusters.stats)
