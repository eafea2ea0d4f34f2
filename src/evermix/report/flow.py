"""Shares of clusters or topics over time, and what happened to them on the way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LAYERS = 12  # clusters that are shown one by one
GROWING = 3  # of these, at most, those that are small but grow
GROWTH, LEAST = 2.0, 0.01  # of shares in the last quarter: over that in all, and alone
MOST, ROWS = 40, 25  # bins, and rows of each at least
NAMED = 6  # ids that a mark names
DIGITS = 5  # behind the point, of shares


class Mark(NamedTuple):
    """Clusters that were born, split from others, merged or ended in a bin."""

    at: int
    what: str
    ids: list[int]


@dataclass
class Flow:
    """Shares (T, K) of clusters with these ids (K,), at times or in bins of rows (T,).

    Attributes
    ----------
    xlabel : str
    x : list
        Times, or the rows in the middle of each bin.
    ids : list of int
    shares : array (T, K)
        Rows of nan where nothing is known.
    marks : list of Mark
    weights : array (K,), optional
        Shares in all, by which the largest are chosen; None: the mean over times.
    clocked : bool
        Whether rows are counted as the model has learnt them, so that their times may be known.
    at : list of float, optional
        Where the times are on an axis; None: at equal distances.
    starts : list of int
        Numbers of the times before which there are others without rows: layers have a gap there.
    caution : str
        How far births and deaths can be trusted; "" for streams.
    left_out : str
        Which times are not shown, in words.
    """

    xlabel: str
    x: list[Any]
    ids: list[int]
    shares: NDArray[Any]
    marks: list[Mark] = field(default_factory=list)
    weights: NDArray[Any] | None = None
    clocked: bool = True
    at: list[float] | None = None
    starts: list[int] = field(default_factory=list)
    caution: str = ""
    left_out: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the largest clusters one by one, and the others as one, as JSON-ready values.

        In streams, up to three of them are clusters that have grown most lately.
        """
        size = np.nan_to_num(self.shares).mean(axis=0) if self.weights is None else self.weights
        order = np.argsort(-size, kind="stable")
        growing = self._growing(size, order[LAYERS:]) if self.weights is None else []
        top = [*order[: LAYERS - len(growing)].tolist(), *growing]
        top = [k for k in top if size[k] > 0]
        layers = np.column_stack([self.shares[:, top], np.delete(self.shares, top, axis=1).sum(1)])
        return {
            "xlabel": self.xlabel,
            "clocked": self.clocked,
            "caution": self.caution,
            "left_out": self.left_out,
            "x": self.x,
            "at": list(range(len(self.x))) if self.at is None else self.at,
            "starts": self.starts,
            "ids": [self.ids[k] for k in top],
            "layers": layers.T.round(DIGITS).tolist(),
            "marks": [
                {"at": at, "what": what, "n": len(ids), "ids": ids[:NAMED]}
                for at, what, ids in self.marks
            ],
        }

    def _growing(self, size: NDArray[Any], some: NDArray[Any]) -> list[int]:
        """Return which of some columns had a much larger share lately than in all, if any."""
        lately = np.nan_to_num(self.shares[-max(len(self.shares) // 4, 1) :]).mean(axis=0)
        found = some[np.argsort(-lately[some], kind="stable")].tolist()
        grown = [k for k in found if lately[k] >= max(GROWTH * size[k], LEAST)]
        return [k for k in grown if self.ids[k] >= 0][:GROWING]  # -1 stands for all that are gone

    def course(self, k: int) -> list[float]:
        """Return the shares (T,) of one cluster."""
        return self.shares[:, k].round(DIGITS).tolist()


def flow_of_rows(
    ids: NDArray[Any],
    at: NDArray[Any],
    weights: NDArray[Any],
    clusters: Sequence[int],
    events: Iterable[tuple[int, str, list[int]]] = (),
) -> Flow | None:
    """Return the shares of clusters among rows, in bins of places; None of too few rows.

    Parameters
    ----------
    ids, at, weights : arrays (N,)
        Cluster, place in the stream and weight of each row. Rows of no cluster have negative ids.
    clusters : sequence of int (K,)
        Ids; all others count as one.
    events : iterable of (int, str, list of int)
        What happened at a place: "born", "split", "merged", or how clusters ended.
    """
    known = (ids >= 0) & (weights > 0)
    ids, at, weights = ids[known], at[known], weights[known]
    n = min(len(ids) // ROWS, MOST)
    if n < 2:
        return None
    edges = np.linspace(at.min(), at.max() + 1, n + 1)
    bins = np.searchsorted(edges, at, side="right").clip(1, n) - 1
    return flow_of_bins(edges, bins, ids, weights, clusters, events)


def flow_of_bins(
    edges: NDArray[Any],
    bins: NDArray[Any],
    ids: NDArray[Any],
    weights: NDArray[Any],
    clusters: Sequence[int],
    events: Iterable[tuple[int, str, list[int]]] = (),
) -> Flow:
    """Return the shares of clusters in n bins between ``edges`` (n + 1,), places in the stream.

    Parameters
    ----------
    edges : array (n + 1,)
    bins, ids, weights : arrays (N,)
        Bin, cluster and weight of each row, or of several together.
    clusters, events
        As in :func:`flow_of_rows`.
    """
    n, names = len(edges) - 1, np.asarray(clusters)
    order = np.argsort(names)
    place = order[np.searchsorted(names, ids, sorter=order).clip(max=len(order) - 1)]
    place = np.where(names[place] == ids, place, len(names))
    mass = np.zeros((n, len(names) + 1))
    np.add.at(mass, (bins, place), weights)
    total = mass.sum(axis=1, keepdims=True)
    shares = np.divide(mass, total, out=np.full_like(mass, np.nan), where=total > 0)
    found: dict[tuple[int, str], list[int]] = {}
    for clock, what, some in events:
        bin = int(np.searchsorted(edges, clock, side="right").clip(1, n)) - 1
        found.setdefault((bin, what), []).append(some[0])
    marks = [Mark(bin, what, some) for (bin, what), some in sorted(found.items())]
    middle = ((edges[1:] + edges[:-1]) / 2).round().astype(np.int64).tolist()
    return Flow("rows", middle, [*names.tolist(), -1], shares, marks)
