"""A tree over the clusters of a mixture, and where to cut it."""

from dataclasses import dataclass

import numpy as np

from evermix._xp import Floats, Ints
from evermix.estimators.mixture.valleys import Valleys

FLAT = 0.05  # a valley less deep is none
SHALLOW, DEEP = 0.4, 6.0  # valleys less deep, and those deeper, tell no more
WIDE = 1.3  # by what factor the valleys above a cut must be deeper, at least


@dataclass(frozen=True)
class Hierarchy:
    """Clusters joined two by two, those with the shallowest valley between them first.

    The height of a merge is the depth of the valley: by how much the log density of the mixture
    falls from the lower of two peaks to the saddle between them. A group's peak is its highest one,
    and the way to another group leads over its highest saddle, so that heights never fall.

    Attributes
    ----------
    ids : int64 array (K,)
        Names of the clusters.
    merges : int64 array (K - 1, 2)
        What is joined: k < K is cluster ``ids[k]``, K + i is what merge i made.
    heights : array (K - 1,)
        Depths of the valleys in nats; they never fall.
    sizes : int64 array (K - 1,)
        How many clusters each merge has joined.

    Examples
    --------
    >>> tree = Hierarchy(np.arange(3), np.array([[0, 2], [1, 3]]), np.array([0.1, 5.0]),
    ...                  np.array([2, 3]))
    >>> tree.cut()
    array([0, 1, 0])
    >>> tree.cut(n_groups=1)
    array([0, 0, 0])
    """

    ids: Ints
    merges: Ints
    heights: Floats
    sizes: Ints

    @property
    def linkage(self) -> Floats:
        """The tree as a linkage matrix (K - 1, 4) of ``scipy.cluster.hierarchy``."""
        return np.column_stack([self.merges, self.heights, self.sizes]).astype(np.float64)

    @property
    def n_groups(self) -> int:
        """How many groups the tree itself suggests.

        The cut is in the widest gap between two heights that follow each other, as a ratio. Depths
        below 0.4 and above 6 nats count as these numbers: ripples of a density that many clusters
        make up are about as deep as the first, and beyond the last there is nothing between two
        groups. A cut below all heights competes, with 0.4 as what is below it, and wins if no gap
        is wider than a factor of 1.3. What no valley parts is joined, but not all into one group:
        that one asks for.
        """
        K = len(self.ids)
        if K <= 2:
            return K
        joined = min(int(np.sum(self.heights < FLAT)), K - 2)
        steps = np.log(np.clip(np.append(SHALLOW, self.heights), SHALLOW, DEEP))
        gaps = np.diff(steps)[joined:]
        best = int(np.argmax(gaps))
        return K - joined - (best if gaps[best] >= np.log(WIDE) else 0)

    def cut(self, height: float | None = None, n_groups: int | None = None) -> Ints:
        """Return the group of each cluster (K,), named by the least id in it.

        Parameters
        ----------
        height : float, optional
            Join what valleys up to this depth part.
        n_groups : int, optional
            Join until there are so many groups. With neither, their number comes from the tree.
        """
        K = len(self.ids)
        if height is not None and n_groups is not None:
            raise ValueError("cut takes a height or n_groups, not both. Leave one of them out.")
        if height is not None:
            n_merges = int(np.searchsorted(self.heights, height, side="right"))
        else:
            n_merges = K - self._checked(n_groups)
        names = np.append(self.ids, np.zeros(n_merges, dtype=np.int64))
        parent = np.arange(K + n_merges)
        for i, pair in enumerate(self.merges[:n_merges]):
            names[K + i] = names[pair].min()
            parent[pair] = K + i
        for node in range(K + n_merges - 1, -1, -1):  # parents come after their children
            names[node] = names[parent[node]]
        return names[:K]

    def _checked(self, n_groups: int | None) -> int:
        if n_groups is None:
            return self.n_groups
        if not 1 <= n_groups <= len(self.ids):
            raise ValueError(
                f"n_groups must be from 1 to the number of clusters, {len(self.ids)}, got "
                f"{n_groups}."
            )
        return int(n_groups)


def grow(ids: Ints, valleys: Valleys) -> Hierarchy:
    """Return the tree of clusters with these ids (K,).

    The pair of groups with the shallowest valley is always an edge of the spanning tree of highest
    saddles: were there a way over higher saddles, its first step from the lower of the two would be
    shallower still. So its edges are all that need be looked at.
    """
    K = len(ids)
    edges, saddles = _spanning_tree(valleys.saddles)
    node, peaks = np.arange(K), valleys.peaks.copy()  # of each cluster: its group, and that's peak
    merges = np.zeros((max(K - 1, 0), 2), dtype=np.int64)
    heights, sizes = np.zeros(len(merges)), np.zeros(len(merges), dtype=np.int64)
    open_ = np.ones(len(merges), dtype=np.bool_)
    for i in range(len(merges)):
        left = np.flatnonzero(open_)
        depths = np.min(peaks[edges[left]], axis=1) - saddles[left]
        chosen = left[np.lexsort((-saddles[left], depths))[0]]
        pair, open_[chosen] = node[edges[chosen]], False
        group = np.isin(node, pair)
        before = heights[i - 1] if i else 0.0
        merges[i], sizes[i] = np.sort(pair), group.sum()
        heights[i] = max(float(depths.min()), before)  # rounding apart they never fall
        node[group], peaks[group] = K + i, peaks[group].max()
    return Hierarchy(ids.copy(), merges, heights, sizes)


def _spanning_tree(saddles: Floats) -> tuple[Ints, Floats]:
    """Edges (K - 1, 2) of the spanning tree with the highest saddles, and these (K - 1,)."""
    K = len(saddles)
    edges, heights = np.zeros((max(K - 1, 0), 2), dtype=np.int64), np.zeros(max(K - 1, 0))
    inside, best, source = np.zeros(K, dtype=np.bool_), np.full(K, -np.inf), np.zeros(K, np.int64)
    last = 0
    for i in range(K - 1):
        inside[last] = True
        better = ~inside & (saddles[last] > best)
        best[better], source[better] = saddles[last, better], last
        outside = np.flatnonzero(~inside)
        last = int(outside[np.argmax(best[outside])])
        edges[i], heights[i] = (source[last], last), best[last]
    return edges, heights
