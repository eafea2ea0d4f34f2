"""Groups of clusters whose rows are clustered anew, within the group and by the exact bound.

New clusters of a group share what its clusters, the *parents*, hold of the rows, and nothing else.
They begin with more seeds than are needed, grow by variational steps, and are merged wherever that
raises the bound. All groups grow together, in arrays that hold the rows of one after another: what
a step costs is then the arithmetic and not the calls.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from evermix._xp import Array, Floats, Ints
from evermix.engines.bound import sorted_sticks
from evermix.engines.refine.problem import disjoint, lines, xlogx
from evermix.engines.seeding import Sample, clusters_of
from evermix.model import Model

ROUNDS = 4  # most rounds of merges
STEPS = 4  # in which new clusters grow, before every round and after the last
SMALLEST = 0.5  # mass of a new cluster
FUSED = 256  # pairs fused at a time, to bound memory


@dataclass
class Groups:
    """Clusters that share the rows of others, for several groups of others.

    Attributes
    ----------
    model : Model
    sample : Sample
        The rows of all groups, one group after another, weighted by what the parents hold.
    starts : array (G,)
        Where the rows of each group begin.
    rest : array (G, K)
        Masses of all clusters; 0 for the parents.
    part : array (N, J)
        What each cluster has of the rows of its group; rows sum to 1.
    """

    model: Model
    sample: Sample
    starts: Ints
    rest: Floats
    part: Floats

    def __post_init__(self) -> None:
        self._features = [self.sample.features[rows, :] for rows in self.slices]
        self.sum()

    @property
    def slices(self) -> list[slice]:
        """The rows of each group."""
        ends = [*self.starts[1:].tolist(), len(self.sample)]
        return [slice(a, b) for a, b in zip(self.starts.tolist(), ends, strict=True)]

    def of_groups(self) -> Iterator[tuple[Array, slice]]:
        """Yield the features of the rows of each group, and which rows these are."""
        return zip(self._features, self.slices, strict=True)

    def take(self, some: Ints) -> "Groups":
        """Return some of the groups."""
        rows = self.rows_of(some)
        lengths = np.diff([*self.starts, len(self.sample)])[some]
        starts = np.cumsum([0, *lengths[:-1]])
        return Groups(self.model, self.sample.take(rows), starts, self.rest[some], self.part[rows])

    def rows_of(self, some: Ints) -> Ints:
        """Return the numbers of the rows of some groups."""
        slices = self.slices
        return np.concatenate([np.arange(slices[g].start, slices[g].stop) for g in some])

    # ---- sums ------------------------------------------------------------------------------

    def sum(self) -> None:
        """Compute mass (G, J) and statistics (G, J, S); small clusters join the largest."""
        self.mass = self._total(self.part)
        small = (self.mass < SMALLEST) & (self.mass < self.mass.max(axis=1, keepdims=True))
        if (self.mass[small] > 0).any():
            gone = self._each_row(small)
            heir = self._each_row(self.mass.argmax(axis=1))
            left = np.where(gone, self.part, 0.0).sum(axis=1)
            self.part[gone] = 0.0
            self.part[np.arange(len(heir)), heir] += left
            self.mass = self._total(self.part)
        weighted = self.sample.weights[:, None] * self.part
        sums = [(F.T @ weighted[rows]).T for F, rows in self.of_groups()]
        stats = self.model.family.from_features(np.concatenate(sums))
        self.stats = stats.reshape(*self.mass.shape, -1)

    def _total(self, values: Floats) -> Floats:
        """Weighted sums of values of rows, for each group."""
        weights = self.sample.weights.reshape(-1, *[1] * (values.ndim - 1))
        return np.add.reduceat(weights * values, self.starts, axis=0)

    def _each_row(self, values: Array) -> Array:
        """Return values of groups for each row of them."""
        return np.repeat(values, np.diff([*self.starts, len(self.sample)]), axis=0)

    def evidence(self) -> Floats:
        """Log evidence (G, J) of the clusters."""
        real = self.mass > 0
        values = np.zeros(self.mass.shape)
        values[real] = self.model.family.log_marginal(self.stats[real], self.mass[real])
        return values

    def values(self) -> Floats:
        """Contributions (G,) of the clusters of each group, and of all sticks, to the bound."""
        entropy = -self._total(xlogx(self.part).sum(axis=1))
        sticks = sorted_sticks(self.model, np.concatenate([self.rest, self.mass], axis=1))
        return self.evidence().sum(axis=1) + entropy + sticks

    # ---- growth ----------------------------------------------------------------------------

    def grow(self, steps: int = STEPS) -> None:
        """Make a few variational steps."""
        for _ in range(steps):
            real = self.mass > 0
            slopes, intercepts = lines(self.model.family, self.mass[real], self.stats[real])
            plus = np.full(self.mass.shape, -np.inf)
            plus[real] = intercepts + np.log(self.mass[real])
            each = np.split(slopes, np.cumsum(real.sum(axis=1))[:-1])
            for (F, rows), mine, some in zip(self.of_groups(), each, real, strict=True):
                self.part[rows, some] = F @ mine.T
            self.part += self._each_row(plus)
            self.part -= self.part.max(axis=1, keepdims=True)
            np.exp(self.part, out=self.part)
            self.part /= self.part.sum(axis=1, keepdims=True)
            self.sum()

    def settle(self, steps: int = STEPS) -> None:
        """Let clusters grow by so many steps, and merge them where that is better, in turns."""
        groups, here = self, np.arange(len(self.starts))
        for _ in range(ROUNDS):
            groups.grow(steps)
            self.part[self.rows_of(here)] = groups.part
            changed = groups.merge()
            if not len(changed):
                break
            groups, here = groups.take(changed), here[changed]
        else:
            groups.grow(steps)
            self.part[self.rows_of(here)] = groups.part
        self.sum()

    def merge(self) -> Ints:
        """Merge pairs of clusters that gain by it; return the numbers of groups that changed."""
        pairs = np.stack(np.triu_indices(self.part.shape[1], 1), axis=1)
        gains = self._fused_evidence(pairs)
        some = np.flatnonzero((gains > 0).any(axis=0))
        pairs, gains = pairs[some], gains[:, some]
        entropy = -self._total(xlogx(self.part))
        for p, (a, b) in enumerate(pairs):
            both = -self._total(xlogx(self.part[:, a] + self.part[:, b]))
            gains[:, p] += both - entropy[:, a] - entropy[:, b]
        changed = np.flatnonzero((gains > 0).any(axis=1))
        slices = self.slices
        for g in changed:
            for a, b in pairs[disjoint(pairs, gains[g])]:
                self.part[slices[g], a] += self.part[slices[g], b]
                self.part[slices[g], b] = 0.0
        return changed

    def _fused_evidence(self, pairs: Ints) -> Floats:
        """Change (G, P) of the evidence if pairs (P, 2) were fused; -inf for those empty."""
        (a, b), K = pairs.T, self.rest.shape[1]
        there = (self.mass[:, a] > 0) & (self.mass[:, b] > 0)
        group, pair = np.nonzero(there)
        i, j, alone = a[pair], b[pair], self.evidence()
        gains = np.full(there.shape, -np.inf)
        before = np.concatenate([self.rest, self.mass], axis=1)
        now = sorted_sticks(self.model, before)
        for start in range(0, len(group), FUSED):
            g, x, y = (one[start : start + FUSED] for one in (group, i, j))
            mass, stats = self.mass[g, x] + self.mass[g, y], self.stats[g, x] + self.stats[g, y]
            after, each = before[g], np.arange(len(g))
            after[each, K + x], after[each, K + y] = mass, 0.0
            gain = self.model.family.log_marginal(stats, mass) - alone[g, x] - alone[g, y]
            gains[g, pair[start : start + FUSED]] = gain + sorted_sticks(self.model, after) - now[g]
        return gains


def seeded(now: Groups, counts: Ints, rng: Generator) -> Groups:
    """Return clusters around seeds far from each other, ``counts`` (G,) for the rows of groups."""
    sample, each = now.sample, list(now.of_groups())
    N, gap, best = len(sample), np.ones(len(sample)), np.full(len(sample), -np.inf)
    nearest = np.zeros(N, dtype=np.int64)
    for j in range(int(counts.max())):
        p = sample.weights * gap * now._each_row(counts > j)
        total, last = np.add.reduceat(p, now.starts), np.cumsum(p)
        some = np.flatnonzero(total > 0)
        if not len(some):
            break
        aim = last[now.starts[some]] - p[now.starts[some]] + rng.random(len(some)) * total[some]
        ends = np.array([each[g][1].stop for g in some]) - 1
        rows = np.clip(np.searchsorted(last, aim, side="right"), now.starts[some], ends)
        slopes, intercepts = clusters_of(sample, rows)
        for g, slope, intercept in zip(some, slopes, intercepts, strict=True):
            features, mine = each[g]
            scores = np.asarray(features @ slope).ravel() + intercept
            nearest[mine] = np.where(scores > best[mine], j, nearest[mine])
            best[mine] = np.maximum(best[mine], scores)
        gap = np.maximum(sample.alone - best, 0.0)
    return Groups(now.model, sample, now.starts, now.rest, np.eye(int(counts.max()))[nearest])


def joined(
    model: Model, sample: Sample, rows: Sequence[Ints], parts: Sequence[Floats], rest: Floats
) -> Groups:
    """Return groups of clusters that hold parts (N, M) of some rows of a sample."""
    J = max(part.shape[1] for part in parts)
    padded = [np.pad(part, ((0, 0), (0, J - part.shape[1]))) for part in parts]
    part = np.concatenate(padded)
    held = part.sum(axis=1)
    some = sample.ready().take(np.concatenate(rows))
    some.weights = some.weights * held
    starts = np.cumsum([0, *(len(one) for one in rows[:-1])])
    return Groups(model, some, starts, rest, part / held[:, None])
