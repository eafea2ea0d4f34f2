"""A search by regrouping: rows of single clusters, and of pairs of neighbours, are clustered anew.

A cluster alone may be split into several. Two neighbours that share their rows in the wrong way are
separated again, where no sequence of splits and merges that all gain would do.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from evermix._threads import blas_alone
from evermix._xp import Bools, Floats, Ints
from evermix.engines.refine.groups import STEPS, Groups, joined, seeded
from evermix.engines.refine.merge import merged, thinned
from evermix.engines.refine.problem import Clusters, Problem
from evermix.engines.seeding import WORDS, Sample

ROUNDS = 40
NEIGHBOURS = 3  # of each cluster, with which it is regrouped
MORE = 3  # seeds of a group, beyond the number of its clusters
ROWS_PER_SEED = 10
MARGIN = 1.0  # nats by which new clusters must be better
CHANGED = 0.02  # relative change of mass after which a cluster is tried again
HELD = 1e-3  # responsibility above which a row takes part
LAPS = 5  # most laps after a round, before and after merges
DELETE_FROM = 3  # rounds before clusters that are still splitting may be deleted
FAR, APART = 50.0, 45.0  # nats by which neighbours explain a row worse, at most, and on average
WORK = 8e9  # operations of a search, after which it ends
PASSES = 50  # operations on each feature of each row, for each cluster, in an attempt
NUMBERS = 2**22  # most features of the rows of groups that grow together: 32 MB


class Found(NamedTuple):
    """New clusters in the place of some."""

    gain: float  # of the bound
    parents: Ints  # (M,) positions of the clusters that they replace
    part: Floats  # (N, J) what they share of the rows of these
    mass: Floats  # (J,)
    stats: Floats  # (J, S)


@blas_alone()
def explored(problem: Problem) -> Clusters:
    """Return the clusters of a sample that are found from one, when no regrouping gains."""
    clusters = problem.start(np.zeros(len(problem.sample), dtype=np.int64))
    work = 0.0
    for round in range(ROUNDS):
        if not _due(clusters).any() or work > WORK:
            break
        after, more = regrouped(problem, clusters)
        work += more
        clusters = problem.laps(merged(problem, after), LAPS)
        if round >= DELETE_FROM:
            clusters = thinned(problem, clusters)
        clusters = problem.laps(merged(problem, clusters), LAPS)
    return clusters


def regrouped(problem: Problem, clusters: Clusters) -> tuple[Clusters, float]:
    """Put new clusters in the place of groups of clusters that are due, where that gains.

    Return also the number of operations that it took.
    """
    due = _due(clusters)
    teams = [*np.flatnonzero(due)[:, None], *_pairs(problem, clusters, due)]
    rows = [np.flatnonzero(clusters.r[:, team].sum(axis=1) > HELD) for team in teams]
    found = []
    for lot in lots(rows, problem.sample.features.shape[1]):
        mine = [rows[t] for t in lot]
        parts = [clusters.r[np.ix_(rows[t], teams[t])] for t in lot]
        rest = without(clusters.mass, [teams[t] for t in lot])
        now = joined(clusters.model, problem.sample, mine, parts, rest)
        room = problem.cap - clusters.K
        found += anew(now, [teams[t] for t in lot], room, problem.rng)
    r, tried, young = clusters.r.copy(), clusters.tried.copy(), []
    tried[due] = clusters.mass[due]
    for one in chosen(found, clusters.K, problem.cap):
        held = r[:, one.parents].sum(axis=1)
        new = np.zeros((len(r), len(one.mass)))
        new[held > HELD] = held[held > HELD, None] * one.part
        new[:, 0] += np.where(held > HELD, 0.0, held)
        r[:, one.parents] = 0.0
        young.append(new)
    r = np.column_stack([r, *young])
    tried = np.append(tried, np.zeros(r.shape[1] - clusters.K))
    work = sum(attempt_work(problem.sample, *pair) for pair in zip(rows, teams, strict=True))
    return problem.summed(clusters.model, r, tried), work


def attempt_work(sample: Sample, rows: Ints, team: Ints, more: int = MORE) -> float:
    """Operations that it takes to cluster rows of a team of clusters anew."""
    family = sample.family
    numbers = len(rows) * (WORDS if family.sparse else family.n_slopes) + family.n_stats
    return float(PASSES * numbers * (len(team) + more))


def lots(rows: Sequence[Ints], width: int) -> Iterator[list[int]]:
    """Yield numbers of groups with these rows, few enough to grow together."""
    lot: list[int] = []
    size = 0
    for place, some in enumerate(rows):
        if lot and (size + len(some)) * width > NUMBERS:
            yield lot
            lot, size = [], 0
        lot.append(place)
        size += len(some)
    if lot:
        yield lot


def without(mass: Floats, teams: Sequence[Ints]) -> Floats:
    """Return masses (T, K) of clusters, 0 for those of each team."""
    rest = np.tile(mass, (len(teams), 1))
    for line, team in zip(rest, teams, strict=True):
        line[team] = 0.0
    return rest


def anew(
    now: Groups,
    teams: Sequence[Ints],
    room: float,
    rng: Generator,
    more: int = MORE,
    steps: int = STEPS,
) -> list[Found]:
    """Cluster the rows of teams of clusters anew; ``now`` are their present clusters.

    There are ``more`` seeds than clusters in a team, if it has enough rows and there is room. They
    grow by ``steps`` before each round of merges.
    """
    sizes = np.array([len(team) for team in teams])
    most = np.diff([*now.starts, len(now.sample)]) // ROWS_PER_SEED + sizes - 1
    counts = np.minimum(np.clip(most, 2, sizes + more), sizes + max(room, 0))
    fresh = seeded(now, counts.astype(np.int64), rng)
    fresh.settle(steps)
    return compared(now, fresh, teams)


def compared(now: Groups, new: Groups, teams: Sequence[Ints]) -> list[Found]:
    """Return new clusters of teams that are better than the present ones."""
    gains, found = new.values() - now.values(), []
    for g, (team, rows) in enumerate(zip(teams, new.slices, strict=True)):
        if gains[g] > MARGIN:
            real = new.mass[g] > 0
            part = new.part[rows, real]
            found.append(Found(gains[g], team, part, new.mass[g, real], new.stats[g, real]))
    return found


def chosen(found: list[Found], K: int, cap: float) -> Iterator[Found]:
    """Yield what shares no parents, the best first, as long as there is room for the clusters."""
    taken: set[int] = set()
    for one in sorted(found, key=lambda one: -one.gain):
        after = K + len(one.mass) - len(one.parents)
        if taken.isdisjoint(one.parents.tolist()) and after <= max(K, cap):
            taken |= set(one.parents.tolist())
            K = after
            yield one


def _due(clusters: Clusters) -> Bools:
    """Whether the mass of each cluster (K,) has changed since it was tried."""
    changed = np.abs(clusters.tried - clusters.mass) > CHANGED * clusters.mass
    return changed & (clusters.mass > 2.0)


def _pairs(problem: Problem, clusters: Clusters, due: Bools) -> Ints:
    """Return pairs (P, 2) of neighbours of which one is due."""
    loss = losses(problem.scores(clusters), problem.sample.weights[:, None] * clusters.r)
    near = np.argsort(loss, axis=1, kind="stable")[:, :NEIGHBOURS]
    pairs = np.stack([np.repeat(np.arange(clusters.K), near.shape[1]), near.ravel()], axis=1)
    pairs = pairs[loss[pairs[:, 0], pairs[:, 1]] < APART]
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return pairs[due[pairs].any(axis=1)]


def losses(scores: Floats, held: Floats) -> Floats:
    """Nats per row (K, K) by which other clusters explain the rows of each worse than the best.

    Rows are counted as far as a cluster holds them (N, K); a loss in a row is at most FAR.
    """
    scores = np.maximum(scores - scores.max(axis=1, keepdims=True), -FAR)
    loss = -(held.T @ scores) / np.maximum(held.sum(axis=0), 1e-300)[:, None]
    np.fill_diagonal(loss, np.inf)
    return loss
