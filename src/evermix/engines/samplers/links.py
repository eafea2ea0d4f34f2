"""Rows that people know to be together, or apart: exact constraints on partitions.

Rows that must be together are a block, which moves as one. A block is drawn into a cluster given
all other rows, with the probability of the whole partition; clusters that hold a row from which one
of its rows must be apart are left out. So draws have the law of the posterior, given that the
constraints hold.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from evermix._xp import Bools, Floats, Ints, logsumexp
from evermix.engines.batch import Batch, RowResults, cap_of
from evermix.families.terms import log_rising
from evermix.model import Model
from evermix.priors.base import GibbsType, HasPredictive

Pairs: TypeAlias = tuple[tuple[int, int], ...]


class Links(NamedTuple):
    """Blocks of rows that are together, and which of them are apart.

    Attributes
    ----------
    blocks : list of int arrays
        Rows of each block.
    apart : list of sets of int
        Of each block, the places of those that it must not be with.
    free : bool array (N,)
        Rows in no block.
    """

    blocks: list[Ints]
    apart: list[set[int]]
    free: Bools

    @classmethod
    def of(cls, must: Pairs, cannot: Pairs, n: int) -> "Links":
        """Return the links of n rows, or raise ValueError if they cannot hold."""
        most = max((max(pair) for pair in (*must, *cannot)), default=-1)
        if most >= n:
            raise ValueError(f"must_link and cannot_link name row {most}, but there are {n} rows.")
        a, b = np.array(must, dtype=np.int64).reshape(-1, 2).T
        graph = sparse.coo_matrix((np.ones(len(a)), (a, b)), shape=(n, n))
        _, part = connected_components(graph, directed=False)
        linked = np.unique([row for pair in (*must, *cannot) for row in pair]).astype(np.int64)
        names = np.unique(part[linked])
        place = {int(name): j for j, name in enumerate(names)}
        apart: list[set[int]] = [set() for _ in names]
        for one, two in cannot:
            first, second = place[int(part[one])], place[int(part[two])]
            if first == second:
                raise ValueError(
                    f"rows {one} and {two} cannot be apart: must_link puts them together."
                )
            apart[first].add(second)
            apart[second].add(first)
        return cls([np.flatnonzero(part == name) for name in names], apart, ~np.isin(part, names))


def checked_pairs(name: str, pairs: Any) -> Pairs:
    """Return pairs of different rows as plain tuples, or raise TypeError or ValueError."""
    if not isinstance(pairs, Iterable):
        raise TypeError(f"{name} must be pairs of rows such as [(0, 3)], got {pairs!r}.")
    found = []
    for pair in pairs:
        if np.shape(pair) != (2,) or not all(isinstance(i, int | np.integer) for i in pair):
            raise TypeError(f"{name} must be pairs of rows such as [(0, 3)], got {pair!r}.")
        one, two = (int(i) for i in pair)
        if min(one, two) < 0 or one == two:
            raise ValueError(f"{name} must name two different rows, from 0 on, got {pair!r}.")
        found.append((one, two))
    return tuple(found)


def sweep_blocks(
    model: Model, batch: Batch, links: Links, labels: Ints, results: RowResults, uniforms: Floats
) -> None:
    """Draw a cluster for each block, given all other rows.   Consumes: labels, results.

    ``labels`` (N,) are numbers of clusters, -1 for rows that have none yet; ``uniforms`` are random
    numbers, one for each block.
    """
    family, prior = model.family, model.prior
    assert isinstance(prior, HasPredictive)  # the engine's `needs` ensures it
    known = np.flatnonzero(labels >= 0)
    sizes = np.bincount(labels[known], minlength=1).astype(np.float64)
    shares = np.zeros((len(known), len(sizes)))
    shares[np.arange(len(known)), labels[known]] = 1.0
    stats = family.accumulate(batch.X[known], shares)
    for rows, apart, uniform in zip(links.blocks, links.apart, uniforms, strict=True):
        m = float(len(rows))
        own = family.accumulate(batch.X[rows], np.ones((len(rows), 1)))
        if (k := labels[rows[0]]) >= 0:
            sizes[k] -= m
            stats[k] = stats[k] - own[0] if sizes[k] > 0 else 0.0
        labels[rows] = -1
        alive = np.flatnonzero(sizes > 0)
        taken = [labels[links.blocks[other][0]] for other in apart]
        open_ = alive[~np.isin(alive, taken)]
        rho = np.append(
            family.log_marginal(stats[open_] + own, sizes[open_] + m)
            - family.log_marginal(stats[open_], sizes[open_]),
            family.log_marginal(own, np.array([m])),
        )
        rho += _log_partitions(prior, sizes[alive], np.searchsorted(alive, open_), m)
        if len(alive) >= cap_of(model):
            rho[-1] = -np.inf
        evidence = logsumexp(rho)
        q = np.exp(rho - evidence)
        pick = min(int(np.searchsorted(np.cumsum(q), uniform * q.sum(), side="right")), len(open_))
        born = pick == len(open_)
        results.log_predictive[rows] = evidence / m
        results.probabilities[rows], results.born[rows] = q[pick], born
        if born:
            sizes, stats = np.append(sizes, 0.0), np.vstack([stats, np.zeros_like(own)])
        k = len(sizes) - 1 if born else open_[pick]
        labels[rows] = k
        sizes[k] += m
        stats[k] += own[0]


def _log_partitions(prior: HasPredictive, sizes: Floats, some: Ints, m: float) -> Floats:
    """Log probabilities of partitions with m more rows in one of some clusters, or in a new one.

    They are relative to the partition without these rows, (len(some) + 1,).
    """
    before = prior.log_eppf(sizes) if len(sizes) else 0.0
    after = np.zeros(len(some))
    for place, j in enumerate(some):
        if place and isinstance(prior, GibbsType):  # only the factors of the sizes differ
            rising = log_rising(sizes[some] - prior.scalars().sigma, np.array(m))
            after = after[0] + rising - rising[0]
            break
        larger = sizes.copy()
        larger[j] += m
        after[place] = prior.log_eppf(larger)
    return np.append(after, prior.log_eppf(np.append(sizes, m))) - before
