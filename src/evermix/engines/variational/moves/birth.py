"""Births and deletes: proposals to replace some clusters by others.

1. *Collection*: rows of the clusters are drawn from all batches.
2. *Creation*: they are clustered anew, those of a cluster alone and those of a cluster and a
   neighbour, which separates clusters that share rows in the wrong way; or, for a delete, assigned
   to the neighbours of the cluster to be removed.
3. *Adoption*: if that explains them better, the next lap evaluates it on all rows of the clusters
   (a :class:`~evermix.engines.variational.local.Trial`), and the exact bound decides.

A cluster for which nothing was found is tried again with more seeds, and both again; then, if its
rows are a small sample, with each row counted as often as rows that it stands for, since clusters
with many parameters are not worth their cost in few rows; and then not until its mass has changed.
A cluster without neighbours is tried once, and then in the last way, which needs no fewer rows than
a cluster has parameters: it would find noise in them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from evermix._threads import blas_alone
from evermix._xp import Floats, Ints
from evermix.engines.refine.groups import STEPS, Groups, joined
from evermix.engines.refine.regroup import (
    APART,
    Found,
    anew,
    chosen,
    compared,
    losses,
    lots,
    without,
)
from evermix.engines.seeding import RowsByCluster, collect
from evermix.engines.shards import Shards
from evermix.engines.variational.local import Trial, believe
from evermix.model import Model
from evermix.state import State

NEIGHBOURS = 3  # with which a cluster is clustered anew, one at a time
HEIRS = 4  # most neighbours that share the rows of a cluster that is removed
SMALL = 2.0  # rows that each row of a small sample stands for, at least
ROWS = 10_000  # of all clusters that are tried
MOST_ROWS, LEAST_ROWS = 10_000, 200  # of a cluster
CHANGED = 0.05  # relative change of mass after which a cluster is tried again


class Attempt(NamedTuple):
    """How the rows of clusters are clustered anew."""

    more: int  # seeds, beyond the number of clusters that are replaced
    steps: int = STEPS  # before each round of merges
    whole: bool = False  # whether rows count as often as rows that they stand for


ATTEMPTS = *(Attempt(3), Attempt(9)) * 2, Attempt(3, 25, whole=True)
STAGES = len(ATTEMPTS)


@dataclass
class Search:
    """The attempts that are possible after a lap."""

    births: bool
    deletes: bool  # which attempts are allowed
    near: list[Ints]  # neighbours of each cluster, the nearest first

    @property
    def any(self) -> bool:
        """Whether any attempt is allowed."""
        return self.births or self.deletes

    def forget(self, loss: Floats) -> None:
        """Keep neighbours that explain rows not much worse, given by how many nats (K, K)."""
        self.near = [some[loss[k, some] < APART] for k, some in enumerate(self.near)]

    def fresh(self, targets: Ints) -> list[Ints]:
        """Return clusters whose rows are clustered anew."""
        if not self.births:
            return []
        pairs = {(min(k, j), max(k, j)) for k in targets for j in self.near[k][:NEIGHBOURS]}
        return [*targets[:, None], *(np.array(pair) for pair in sorted(pairs))]

    def removals(self, targets: Ints) -> list[Ints]:
        """Return clusters to be removed, each followed by those that would take its rows."""
        some = targets if self.deletes else targets[:0]
        return [np.append(k, self.near[k][:HEIRS]) for k in some if len(self.near[k])]

    def isolated(self, targets: Ints) -> Ints:
        """Return those of some clusters that have no neighbours."""
        alone = [not len(self.near[k]) and len(self.near) > 1 for k in targets]
        return targets[np.array(alone, dtype=bool)]


def due(state: State) -> Ints:
    """Return positions of clusters with attempts left, those with the fewest so far first."""
    K, mass = state.tally.K, state.tally.mass
    tried, stage = state.columns["tried"][:K], state.columns["stage"][:K]
    changed = np.abs(mass - tried) > CHANGED * np.maximum(tried, 1.0)
    stage[changed], tried[changed] = 0, mass[changed]
    targets = np.flatnonzero((stage < STAGES) & (mass > 2.0))
    return targets[np.argsort(stage[targets], kind="stable")]


def plan_trials(
    model: Model, state: State, shards: Shards, search: Search, rng: Generator
) -> tuple[list[Trial], list[int]]:
    """Return trials that may raise the bound, and a cluster of each.   Consumes: state."""
    targets, stage = due(state), state.columns["stage"]
    if not len(targets):
        return [], []
    targets = targets[stage[targets] == stage[targets[0]]]
    wanted = np.zeros(state.tally.K, dtype=bool)
    wanted[targets] = True
    wanted[np.concatenate([search.near[k][:HEIRS] for k in targets])] = True
    most = int(np.clip(ROWS // wanted.sum(), LEAST_ROWS, MOST_ROWS))
    drawn = collect(model.family, wanted, shards, most, rng)
    found = _found(model, state, drawn, search, targets, rng)
    cap = np.inf if model.max_clusters is None else model.max_clusters
    taken = list(chosen(found, state.tally.K, cap))
    alone = np.setdiff1d(search.isolated(targets), _parents(found))
    failed = np.setdiff1d(targets, _parents(taken))
    stage[alone] = np.maximum(stage[alone], STAGES - 2)
    stage[failed] += 1
    counts = np.array([len(drawn.rows[k]) for k in failed])
    enough = (drawn.rates[failed] >= SMALL) & (counts >= model.family.n_stats)
    stage[failed[(stage[failed] == STAGES - 1) & ~enough]] = STAGES
    trials, mass = [], state.tally.mass
    for one in taken:
        scale = mass[one.parents].sum() / one.mass.sum()
        order = np.argsort(-one.mass, kind="stable")
        children = believe(model, scale * one.mass[order], scale * one.stats[order])
        trials.append(Trial(one.parents, children))
    return trials, [int(one.parents[0]) for one in taken]


@blas_alone()
def _found(
    model: Model,
    state: State,
    drawn: RowsByCluster,
    search: Search,
    targets: Ints,
    rng: Generator,
) -> list[Found]:
    """Return new clusters that explain samples of rows better than the present ones.

    Consumes: search.
    """
    mass, K = state.tally.mass, state.tally.K
    scores = np.asarray(drawn.sample.scores(*believe(model, mass, state.tally.stats)))
    cap = np.inf if model.max_clusters is None else model.max_clusters
    attempt = ATTEMPTS[state.columns["stage"][targets[0]]]
    held = np.zeros(scores.shape)
    for k, mine in enumerate(drawn.rows):
        held[mine, k] = 1.0
    if not attempt.whole:
        search.forget(losses(scores, held))
    found: list[Found] = []
    for gone, teams in enumerate((search.fresh(targets), search.removals(targets))):
        rows = [drawn.of(team)[0] for team in teams]
        for lot in lots(rows, drawn.sample.features.shape[1]):
            some = [teams[t] for t in lot if len(rows[t]) > 1]
            if not some:
                continue
            now = _groups(model, drawn, some, scores, mass, whole=attempt.whole)
            now.grow()
            now.grow()  # new clusters grow as long on the sample
            if not gone:
                found += anew(now, some, cap - K, rng, attempt.more, attempt.steps)
                continue
            new = _groups(model, drawn, some, scores, mass, first=1, whole=attempt.whole)
            new.settle()
            found += compared(now, new, some)
    return found


def _parents(found: list[Found]) -> Ints:
    """Return the clusters that some replace."""
    nothing = np.empty(0, dtype=np.int64)
    return np.concatenate([nothing, *(one.parents for one in found)])


def _groups(
    model: Model,
    drawn: RowsByCluster,
    teams: list[Ints],
    scores: Floats,
    mass: Floats,
    first: int = 0,
    whole: bool = False,
) -> Groups:
    """Return clusters of teams, from the ``first`` on, that share the rows of all of a team.

    If they are ``whole``, each row counts as often as rows that it stands for.
    """
    rows, rates = zip(*(drawn.of(team) for team in teams), strict=True)
    parts = [
        _shares(scores[np.ix_(mine, team[first:])], rate)
        for mine, team, rate in zip(rows, teams, rates, strict=True)
    ]
    held = np.array([part.sum() for part in parts])
    scale = held / np.array([mass[team].sum() for team in teams])  # all masses are of the sample
    if whole:
        parts = [part / factor for part, factor in zip(parts, scale, strict=True)]
        scale = np.ones(len(teams))
    return joined(model, drawn.sample, rows, parts, scale[:, None] * without(mass, teams))


def _shares(scores: Floats, rates: Floats) -> Floats:
    """Return responsibilities (N, M) for rows that represent several each."""
    r = np.exp(scores - scores.max(axis=1, keepdims=True))
    return r * (rates / r.sum(axis=1))[:, None]
