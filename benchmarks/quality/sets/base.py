"""What a labelled set is, and how its rows are put in order."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["KINDS", "LabelledSet", "Recipe", "in_order"]

KINDS = (
    *("vectors", "blobs", "newcomers", "drifting"),
    *("texts", "embeddings", "tables", "measurements"),
)


@dataclass(frozen=True)
class LabelledSet:
    """Rows and the clusters that they are said to be of.

    Parameters
    ----------
    name, kind : str
        The kind is one of ``KINDS``.
    X : array (N, D), CSR matrix (N, V) or pandas DataFrame
        Vectors, counts of words, or a table.
    y : int64 array (N,)
        Labels from 0; -1 is noise, which is not scored.
    eras : int64 array (N,) or None
        Non-decreasing; rows change places only within their era, where order has a meaning.
    """

    name: str
    kind: str
    X: Any
    y: np.ndarray
    eras: np.ndarray | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def K(self) -> int:
        """True number of clusters."""
        return len(np.unique(self.y[self.y >= 0]))

    def rows(self, which: np.ndarray) -> "LabelledSet":
        """Return the set of some rows, in the order in which they are named."""
        eras = None if self.eras is None else self.eras[which]
        return replace(self, X=self.part(which), y=self.y[which], eras=eras)

    def part(self, which: np.ndarray | slice) -> Any:
        """Return some rows of X."""
        return self.X.iloc[which] if self.kind == "tables" else self.X[which]


@dataclass(frozen=True)
class Recipe:
    """How a set is made, without making it.

    Parameters
    ----------
    name, kind : str
    make : callable
        From a seed to the set.
    fresh : bool
        Whether each order is a new draw; else the seed is always 0.
    """

    name: str
    kind: str
    make: Callable[[int], LabelledSet]
    fresh: bool = False


def in_order(one: LabelledSet, order: int) -> LabelledSet:
    """Return the set with its rows in random order, within their eras if it has any."""
    places = np.random.default_rng(order).permutation(one.n)
    if one.eras is not None:
        places = places[np.argsort(one.eras[places], kind="stable")]
    return one.rows(places)
