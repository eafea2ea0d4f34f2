"""Births and deletes: proposals to replace some clusters by others.

1. *Collection*: rows of the clusters are drawn from all batches.
2. *Creation*: they are clustered from scratch; or, for a delete, assigned to the neighbours of the
   cluster to be removed.
3. *Adoption*: if that explains them better, the next lap evaluates it on all rows of the clusters
   (a :class:`~evermix.engines.variational.local.Trial`), and the exact bound decides.

Attempts on a cluster follow a schedule: its rows alone first, then with those of neighbours, which
separates clusters that share rows in the wrong way. When all attempts have failed, the cluster is
not tried again until its mass has changed. A cluster without neighbours is tried once.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from evermix._xp import Bools, Ints, namespace
from evermix.engines.seeding import Sample, collect
from evermix.engines.shards import Shards
from evermix.engines.variational.local import Trial, assign, believe
from evermix.engines.variational.moves.analysis import SampleClusters, analyse, refine, valued
from evermix.model import Model
from evermix.state import State

FIRST, LATER, ALONE = 24, 10, 5  # seeds: while clusters are few, later, without neighbours
ROWS_PER_SEED = 10
MARGIN = 1.0  # nats by which an attempt must be better
TRIES, TRY_ROWS = 6, 3000  # most analyses of a small sample, and rows in all of them
CHANGED = 0.01  # relative change of mass after which the schedule starts again
LAPS, LEAST = 2.0, 2e10  # work on attempts after a lap, in laps, and least number of operations
PASSES, CALLS = 25, 5e6  # passes over a sample in an analysis, and the overhead of a pass


class Attempt(NamedTuple):
    """Split a cluster together with some of its neighbours, or remove it in their favour."""

    neighbours: slice
    fresh: bool = True


SPLIT = Attempt(slice(0, 0))
DELETE = Attempt(slice(0, 4), fresh=False)
SCHEDULE = (
    SPLIT,
    Attempt(slice(0, 1)),
    DELETE,
    Attempt(slice(1, 2)),
    Attempt(slice(2, 3)),
    Attempt(slice(3, 4)),
    Attempt(slice(0, 2)),
    SPLIT,
    Attempt(slice(0, 3)),
)


@dataclass
class Search:
    """The attempts that are possible after a lap."""

    births: bool
    deletes: bool  # which attempts are allowed
    near: list[Ints]  # neighbours of each cluster, the nearest first
    free: Bools  # (K,) clusters that no move uses yet

    @property
    def any(self) -> bool:
        """Whether any attempt is allowed."""
        return self.births or self.deletes

    def group(self, k: int, attempt: Attempt) -> Ints | None:
        """Return the clusters of an attempt on k, k first; None if it is impossible."""
        allowed = self.births if attempt.fresh else self.deletes
        others = self.near[k][attempt.neighbours]
        if not allowed or not self.free[others].all():
            return None
        return np.append(k, others) if len(others) or attempt is SPLIT else None

    def isolated(self, k: int) -> bool:
        """Whether a cluster has no neighbours."""
        return not len(self.near[k]) and len(self.near) > 1


def due(state: State) -> Ints:
    """Return positions of clusters with attempts left in their schedule.

    Those with the fewest attempts come first, and of these the largest.
    """
    K, mass = state.tally.K, state.tally.mass
    tried, stage = state.columns["tried"][:K], state.columns["stage"][:K]
    changed = np.abs(mass - tried) > CHANGED * np.maximum(tried, 1.0)
    stage[changed], tried[changed] = 0, mass[changed]
    targets = np.flatnonzero((stage < len(SCHEDULE)) & (mass > 2.0))
    return targets[np.lexsort((-mass[targets], stage[targets]))]


def plan_trials(
    model: Model, state: State, shards: Shards, search: Search, rng: Generator
) -> tuple[list[Trial], list[int]]:
    """Return trials that may raise the bound, and the cluster of each."""
    targets = due(state)
    trials: list[Trial] = []
    chosen: list[int] = []
    if not len(targets):
        return trials, chosen
    found = collect(model.family, state.tally.K, shards, rng)
    proposer = Proposer(model, state, found.total, rng)
    stage = state.columns["stage"]
    for k in targets:
        while proposer.work > 0 and search.free[k] and stage[k] < len(SCHEDULE):
            attempt = SCHEDULE[stage[k]]
            group = search.group(int(k), attempt)
            trial = None
            if group is not None:
                sample = found.of(group, rng)
                trial = proposer.trial(sample, group, attempt, search.isolated(int(k)))
            if trial is None:
                stage[k] = len(SCHEDULE) if search.isolated(int(k)) else stage[k] + 1
                continue
            trials.append(trial)
            chosen.append(int(k))
            search.free[group] = False
    return trials, chosen


class Proposer:
    """Makes trials from samples of rows, within the cap on the number of clusters.

    Attributes
    ----------
    work : float
        Operations left in the budget.
    """

    def __init__(self, model: Model, state: State, rows: int, rng: Generator) -> None:
        tally = state.tally
        self._model, self._mass, self._rng = model, tally.mass, rng
        self._beliefs = believe(model, tally.mass, tally.stats)
        self._price = 4.0 * self._beliefs.slopes.shape[1]  # operations per row and cluster
        self.work = max(LEAST, LAPS * self._price * rows * tally.K)
        self._seeds = FIRST if tally.K < 4 else LATER
        cap = model.max_clusters
        self._room = np.inf if cap is None else cap - tally.K

    def trial(self, sample: Sample, group: Ints, attempt: Attempt, alone: bool) -> Trial | None:
        """Return a trial if new clusters explain the sample better than the present ones."""
        self._pay(sample, len(group))
        if len(sample) < 2:
            return None
        slopes, intercepts = self._beliefs.slopes[group], self._beliefs.intercepts[group]
        scores, weights = sample.scores(slopes, intercepts), sample.device_weights
        copy = namespace(scores).asarray(scores, copy=True)
        now, _ = valued(self._model, sample, assign(copy, weights).r)
        if len(group) > 1:
            now = refine(self._model, sample, now, merge=False)
        if attempt.fresh:
            new = self._analysed(sample, len(group), alone)
        else:
            rest = assign(scores[:, 1:], weights).r
            new = refine(self._model, sample, valued(self._model, sample, rest)[0])
        if new is None or not new.value > now.value + MARGIN:
            return None
        self._room -= max(len(new.mass) - len(group), 0)
        scale = self._mass[group].sum() / new.mass.sum()
        return Trial(group, believe(self._model, scale * new.mass, scale * new.stats))

    def _analysed(self, sample: Sample, size: int, alone: bool) -> SampleClusters | None:
        """Return the best of several analyses; there are more for small samples."""
        seeds = min(self._seeds, ALONE) if alone else self._seeds
        most = int(np.clip(len(sample) // ROWS_PER_SEED, 2, seeds)) + size - 1
        most = int(min(most, self._room + size))
        if most < 2:
            return None
        tries = 1 if alone else int(np.clip(TRY_ROWS // len(sample), 1, TRIES))
        counts = [max(most // (1 + t % 3), 2) for t in range(tries)]
        self._pay(sample, *counts)
        found = [analyse(self._model, sample, count, self._rng) for count in counts]
        return max(found, key=lambda clusters: clusters.value)

    def _pay(self, sample: Sample, *counts: int) -> None:
        """Subtract the work of analyses that start with these numbers of clusters."""
        each = [self._price * len(sample) * count + CALLS for count in counts]
        self.work -= PASSES * sum(each)
