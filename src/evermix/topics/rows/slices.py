"""Rows that move at once, among clusters that have jumps and parameters of their own.

A row draws a level below the jump of its cluster; every cluster whose jump lies above that level is
then chosen in proportion to its likelihood, times how much of it the row's time sees. Clusters
without rows are drawn too, as far down as the lowest level of *all* rows: any row may move to any
region.
"""

import numpy as np

from evermix._xp import Floats, Ints
from evermix.topics.measures import Measure, Occupancy
from evermix.topics.measures.levels import MAX_ENTRIES, levels_of_regions, lowest_level
from evermix.topics.rows.chain import RowChain, RowData


def slice_sweep(data: RowData, chain: RowChain, rng: np.random.Generator) -> None:
    """Move all rows at once, given new jumps and parameters of the clusters."""
    atoms, measure = chain.occupancy(data), chain.measure
    measure.draw_jumps(atoms, rng)
    level = atoms.log_jump[chain.labels] - rng.standard_exponential(len(data))
    # Rows whose level would need too many clusters stay where they are in this sweep. Which rows
    # these are depends on the levels alone, so the draws stay exact.
    width, mass = data.family.eta0.size, float(measure.a.sum())
    floor = lowest_level(len(data), width, mass, measure.sigma)
    choice = _BestCluster(data, chain.labels, level, np.flatnonzero(level >= floor))
    tally = data.state(chain.labels, chain.K).tally
    choice.offer(measure, atoms, data.family.posterior(tally.stats, tally.mass), 0, rng)
    fresh = measure.fresh(levels_of_regions(level, floor, data.times, measure.q), rng)
    prior = np.broadcast_to(data.family.eta0, (len(fresh.region), data.family.eta0.size))
    choice.offer(measure, fresh, prior, chain.K, rng)
    region = np.append(atoms.region, fresh.region)
    chain.relabel(choice.labels, region, np.hstack([atoms.on, fresh.on]))


class _BestCluster:
    """For each row a cluster above its level, in proportion to likelihood and presence.

    The largest of log likelihood + Gumbel noise has that law, so clusters can be offered in any
    order and forgotten.
    """

    def __init__(self, data: RowData, labels: Ints, level: Floats, rows: Ints) -> None:
        self.data, self.labels, self.level = data, labels.copy(), level
        self.rows = rows[np.argsort(level[rows])]  # those that may move, by increasing level
        self._best = np.full(len(labels), -np.inf)

    def offer(
        self, measure: Measure, atoms: Occupancy, eta: Floats, first: int, rng: np.random.Generator
    ) -> None:
        """Offer clusters of laws eta (C, E) under the numbers first, first + 1, ..."""
        presence, family = measure.log_presence(atoms), self.data.family
        by_jump = np.argsort(-atoms.log_jump)
        step = max(MAX_ENTRIES // max(len(self.labels), eta.shape[1]), 1)
        for start in range(0, len(by_jump), step):
            some = by_jump[start : start + step]
            params = family.draw_params(eta[some], rng)
            jump = atoms.log_jump[some]
            rows = self.rows[: np.searchsorted(self.level[self.rows], jump[0])]
            if not len(rows):
                continue
            fit = family.log_likelihood(self.data.X[rows], params)
            fit += presence[self.data.times[rows]][:, some]
            fit[self.level[rows, None] >= jump] = -np.inf
            self._choose(rows, fit + rng.gumbel(size=fit.shape), first + some)

    def _choose(self, rows: Ints, noisy: Floats, names: Ints) -> None:
        pick = noisy.argmax(axis=1)
        best = noisy[np.arange(len(rows)), pick]
        better = best > self._best[rows]
        self.labels[rows[better]] = names[pick[better]]
        self._best[rows[better]] = best[better]
