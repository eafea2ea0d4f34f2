"""A tree over clusters in which those are joined first that are best described as one."""

from collections.abc import Callable, Mapping

import numpy as np

from evermix._xp import Floats, Ints
from evermix.estimators.mixture.hierarchy import Hierarchy
from evermix.families.base import Family
from evermix.tally import Tally

MOST = 2**31  # numbers in the statistics of all pairs, above which only common words are compared


def coarse_tree(family: Family, tally: Tally) -> Hierarchy:
    """Return the tree of a tally's clusters.

    Each step joins the two clusters, or what was joined before, whose union lowers the log evidence
    of all rows least: log p(rows of both as one cluster) - log p(those of one) - log p(those of the
    other), from the sums of their statistics. This is Ward's method with the likelihood of the
    family in the place of squared distances. The height of a merge is by how much the evidence
    falls, in nats, or has fallen at most in a merge before. Where there are so many clusters
    of so many words that pairs would take long, they are compared by their 512 most common words.
    """
    K = tally.K
    if K * K // 2 * tally.size > MOST:
        family, work = family.sketch(tally, np.arange(K))
    else:
        work = Tally.of(tally.ids, tally.mass, tally.stats, {}, tally.layout)

    def joined(a: int, b: int, others: Ints) -> Floats:
        work.stats[a] += work.stats[b]
        work.mass[a] += work.mass[b]
        pairs = np.column_stack([np.full(len(others), a), others])
        return _losses(family, work, pairs)

    return agglomerate(tally.ids, _all_losses(family, work), joined)


def agglomerate(ids: Ints, loss: Floats, join: Callable[[int, int, Ints], Floats]) -> Hierarchy:
    """Return the tree in which those two are joined first whose union loses least.

    ``loss`` (K, K) is that of all pairs, infinite on the diagonal, and is overwritten. ``join(a, b,
    others)`` takes b into a, and returns the losses of the union with the others.
    """
    K = len(ids)
    nearest = np.argmin(loss, axis=1)  # of each cluster: with which its union costs least
    merges, heights = np.zeros((max(K - 1, 0), 2), np.int64), np.zeros(max(K - 1, 0))
    node, sizes, alive = np.arange(K), np.ones(K, np.int64), np.ones(K, dtype=np.bool_)
    joined = np.zeros(len(merges), np.int64)
    for i in range(len(merges)):
        least = np.where(alive, loss[np.arange(K), nearest], np.inf)
        a, b = sorted((first := int(np.argmin(least)), int(nearest[first])))
        heights[i], merges[i] = loss[a, b], np.sort(node[[a, b]])
        sizes[a] += sizes[b]
        node[a], joined[i], alive[b] = K + i, sizes[a], False
        others = np.flatnonzero(alive & (np.arange(K) != a))
        losses = join(a, b, others)
        loss[b, :] = loss[:, b] = np.inf
        loss[a, others] = loss[others, a] = losses
        moved = np.isin(nearest, (a, b)) | (loss[:, a] < loss[np.arange(K), nearest])
        moved[a] = True
        nearest[moved] = np.argmin(loss[moved], axis=1)
    heights = np.maximum.accumulate(np.maximum(heights, 0.0)) if len(heights) else heights
    return Hierarchy(ids.copy(), merges, heights, joined)


def _all_losses(family: Family, tally: Tally) -> Floats:
    """Losses (K, K) of all pairs, infinite on the diagonal."""
    pairs = np.column_stack(np.triu_indices(tally.K, 1))
    loss = np.full((tally.K, tally.K), np.inf)
    loss[pairs[:, 0], pairs[:, 1]] = _losses(family, tally, pairs)
    return np.minimum(loss, loss.T)


def _losses(family: Family, tally: Tally, pairs: Ints) -> Floats:
    """By how much the log evidence falls if each pair (P, 2) becomes one, (P,)."""
    if not len(pairs):
        return np.zeros(0)
    return np.nan_to_num(-family.log_fusion(tally, pairs), nan=np.finfo(np.float64).max)


def cut_to(tree: Hierarchy, n: int, noun: str) -> Ints:
    """Return the name (K,) of what each cluster is part of: the least id in it; or ValueError."""
    if isinstance(n, bool) or int(n) != n or not 1 <= n <= len(tree.ids):
        raise ValueError(
            f"n_{noun} must be a whole number from 1 to the number of {noun}, {len(tree.ids)}, "
            f"got {n}."
        )
    return tree.cut(n_groups=int(n))


def fused(tally: Tally, names: Ints) -> Tally:
    """Return the tally of coarse clusters: mass and statistics of each name (K,) together."""
    ids, place = np.unique(names, return_inverse=True)
    mass, stats = np.zeros(len(ids)), np.zeros((len(ids), tally.size))
    np.add.at(mass, place, tally.mass)
    np.add.at(stats, place, tally.stats)
    return Tally.of(ids, mass, stats, {}, tally.layout)


def name_of(parts: Mapping[int, float], names: Mapping[int, str]) -> str:
    """Return the names that people gave to parts, and how many have none.

    ``parts`` have sizes. "": those with a name are less than half of all together.

    Examples
    --------
    >>> names = {4: "bus", 7: "tram"}
    >>> name_of({4: 9, 7: 2}, names), name_of({7: 5, 9: 3, 2: 1}, names)
    ('bus, tram', 'tram and 2 more')
    >>> name_of({9: 3, 7: 2}, names)
    ''
    """
    given = [part for part in parts if part in names]
    if not given or 2 * sum(parts[part] for part in given) < sum(parts.values()):
        return ""
    left = len(parts) - len(given)
    return ", ".join(names[part] for part in given) + (f" and {left} more" if left else "")
