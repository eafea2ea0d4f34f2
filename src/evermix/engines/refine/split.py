"""Splits: two clusters in place of one, grown on its rows alone.

The children of all clusters grow together, from several starts each: what a step costs is then
the arithmetic and not the calls.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy import sparse
from scipy.special import expit

from evermix._xp import Array, Floats, Ints
from evermix.engines.bound import sorted_sticks
from evermix.engines.refine.problem import (
    Clusters,
    Problem,
    feature_sums,
    lines,
    xlogx,
)
from evermix.engines.seeding import Sample, seed
from evermix.families.base import Family
from evermix.families.coordinates import coordinates
from evermix.model import Model

HELD = 1e-3  # responsibility above which a row takes part in the split of a cluster
SMALLEST = 0.5  # mass of a child
STEPS = 8  # in which children grow
DIRECTIONS = 2  # along which a cluster is cut at first; one more start is around two rows
POWER_STEPS = 10  # of the power iteration for a direction
CHANGED = 0.02  # relative change of mass after which a split is tried again


@dataclass
class Pair:
    """Two children of a cluster.

    Attributes
    ----------
    parent : int
        Position of the cluster.
    rows : array (M,)
        Numbers of the rows that they share.
    sample : Sample
        These rows, weighted by what the parent holds of them.
    share : array (M,)
        What the second child holds of that.
    mass, stats : arrays (2,), (2, S)
        Sums over the rows.
    """

    parent: int
    rows: Ints
    sample: Sample
    share: Floats
    mass: Floats
    stats: Floats

    @property
    def alive(self) -> bool:
        """Whether neither child is empty."""
        return bool(self.mass.min() >= SMALLEST)

    def sum(self, family: Family) -> None:
        """Compute the sums of the shares."""
        weighted = np.empty((len(self.share), 2))
        np.multiply(self.sample.weights, 1 - self.share, out=weighted[:, 0])
        np.multiply(self.sample.weights, self.share, out=weighted[:, 1])
        self.mass = weighted.sum(axis=0)
        self.stats = family.from_features(feature_sums(self.sample, weighted))


def split(problem: Problem, clusters: Clusters) -> Clusters:
    """Split every cluster that gains by it, as long as there is room for more clusters."""
    change = np.abs(clusters.tried - clusters.mass)
    due = np.flatnonzero((change > CHANGED * clusters.mass) & (clusters.mass > 4 * SMALLEST))
    tried = clusters.tried.copy()
    tried[due] = clusters.mass[due]
    if not len(due) or clusters.K >= problem.cap:
        return clusters
    pairs = [pair for k in due for pair in _starts(problem, clusters, int(k))]
    _grow(clusters.model.family, pairs)
    best: dict[int, tuple[float, Pair]] = {}
    for pair, gain in zip(pairs, _gains(clusters.model, clusters.mass, pairs), strict=True):
        if gain > best.get(pair.parent, (0.0, None))[0]:
            best[pair.parent] = gain, pair
    chosen = sorted(best.values(), key=lambda one: -one[0])[: problem.cap - clusters.K]
    if not chosen:
        return replace(clusters, tried=tried)
    r = np.column_stack([clusters.r, np.zeros((len(clusters.r), len(chosen)))])
    for j, (_, pair) in enumerate(chosen, start=clusters.K):
        r[pair.rows, j] = r[pair.rows, pair.parent] * pair.share
        r[pair.rows, pair.parent] -= r[pair.rows, j]
        tried[pair.parent] = 0.0
    return problem.summed(clusters.model, r, np.append(tried, np.zeros(len(chosen))))


def halves(problem: Problem, clusters: Clusters) -> Floats | None:
    """Return what the second of two children of a single cluster holds of each row, (N,).

    Of several starts it is the one that gains most, even if none gains. None: rows are all alike.
    """
    pairs = list(_starts(problem, clusters, 0))
    _grow(clusters.model.family, pairs)
    gains = _gains(clusters.model, clusters.mass, pairs)
    best = pairs[int(gains.argmax())]
    return best.share if best.alive else None


def _starts(problem: Problem, clusters: Clusters, k: int) -> Iterator[Pair]:
    """Yield the first children of cluster k, from several starts."""
    rows = np.flatnonzero(clusters.r[:, k] > HELD)
    sample = problem.sample.take(rows)
    sample.features = problem.sample.features[rows, :]
    sample.weights = sample.weights * clusters.r[rows, k]
    shares = [along > 0 for along in _directions(sample, problem.rng)]
    shares.append(seed(sample, 2, problem.rng) > 0)
    for share in shares:
        pair = Pair(k, rows, sample, share.astype(np.float64), np.empty(0), np.empty(0))
        pair.sum(clusters.model.family)
        yield pair


def _grow(family: Family, pairs: list[Pair]) -> None:
    """Let all children grow by a few variational steps.   Consumes: pairs."""
    for _ in range(STEPS):
        alive = [pair for pair in pairs if pair.alive]
        if not alive:
            return
        mass = np.concatenate([pair.mass for pair in alive])
        slopes, intercepts = lines(family, mass, np.concatenate([p.stats for p in alive]))
        steps = slopes[1::2] - slopes[::2]
        levels = np.diff((intercepts + np.log(mass)).reshape(-1, 2), axis=1)[:, 0]
        for pair, step, level in zip(alive, steps, levels, strict=True):
            pair.share = expit(np.asarray(pair.sample.features @ step).ravel() + level)
            pair.sum(family)


def _gains(model: Model, mass: Floats, pairs: list[Pair]) -> Floats:
    """Exact change (P,) of the objective if children share the rows of their parents."""
    gains = np.full(len(pairs), -np.inf)
    alive = [p for p, pair in enumerate(pairs) if pair.alive]
    if not alive:
        return gains
    family = model.family
    masses = np.stack([pairs[p].mass for p in alive])
    stats = np.stack([pairs[p].stats for p in alive])
    apart = family.log_marginal(stats.reshape(-1, stats.shape[-1]), masses.ravel())
    whole = family.log_marginal(stats.sum(axis=1), masses.sum(axis=1))
    after = np.column_stack([np.tile(mass, (len(alive), 1)), np.zeros(len(alive))])
    before, each = after.copy(), np.arange(len(alive))
    parents = np.array([pairs[p].parent for p in alive])
    before[each, parents] = masses.sum(axis=1)
    after[each, parents], after[each, -1] = masses.T
    entropy = [
        -(pairs[p].sample.weights @ (xlogx(pairs[p].share) + xlogx(1 - pairs[p].share)))
        for p in alive
    ]
    sticks = sorted_sticks(model, after) - sorted_sticks(model, before)
    gains[alive] = apart.reshape(-1, 2).sum(axis=1) - whole + np.array(entropy) + sticks
    return gains


def _directions(sample: Sample, rng: Generator) -> Iterator[Floats]:
    """Yield the positions (M,) of rows along the directions in which they spread most."""
    X: Array = coordinates(sample.family, sample.X)
    weights = sample.weights / sample.weights.sum()
    mean = np.asarray(weights @ X).ravel()
    scale = np.ones(len(mean))  # columns of counts: rare words must not count as common ones
    if not sparse.issparse(X):
        spread = np.sqrt(np.maximum(weights @ (X * X) - mean**2, 0.0))
        scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
    found: list[Floats] = []
    for _ in range(min(DIRECTIONS, len(mean))):
        v = rng.standard_normal(len(mean))
        for _ in range(POWER_STEPS):
            for u in found:
                v -= (v @ u) * u
            along = _along(X, v * scale, mean)
            v = scale * ((weights * along) @ X - mean * (weights @ along))
            size = math.sqrt(v @ v)
            if not size > 0:
                return
            v /= size
        found.append(v)
        yield _along(X, v * scale, mean)


def _along(X: Array, direction: Floats, mean: Floats) -> Floats:
    """Return the positions (M,) of rows X (M, D) along a direction (D,), about the mean (D,)."""
    along: Floats = X @ direction
    along -= mean @ direction
    return along
