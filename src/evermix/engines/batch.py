"""Batches of rows, and the results of learning them."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array

ROWS = 4096  # in a batch: few enough for progress, enough to cost nothing


class CapacityWarning(UserWarning):
    """The number of clusters reached ``max_clusters``."""


class Batch(NamedTuple):
    """Some rows of data, already validated.

    Attributes
    ----------
    X : array (N, D) or CSR matrix (N, D), float64
    weights : array (N,)
        Weight of each row; a row of weight zero is labelled but teaches nothing.
    key : int
        Number of the batch, by which engines that come back to the data know it again.
    times : array (N,) or None
        When the rows were seen, for models that forget by the clock on the wall.
    """

    X: Array
    weights: Array
    key: int = 0
    times: Array | None = None


class Batches(Sequence[Batch]):
    """Batches whose weights are known without reading their rows."""

    @abstractmethod
    def weights_of(self, key: int) -> Array:
        """Return the weights (N,) of a batch."""


def weights_of(batches: Sequence[Batch], key: int) -> Array:
    """Return the weights (N,) of a batch, without its rows where that can be."""
    return batches.weights_of(key) if isinstance(batches, Batches) else batches[key].weights


class RowResults(NamedTuple):
    """What was said of each row when it was met.

    Attributes
    ----------
    labels : int64 array (N,)
        The id of the most probable cluster; -1 where there was none yet (rows of weight zero).
    probabilities : array (N,)
        Its probability.
    log_predictive : array (N,)
        Log predictive density of the row before it was learnt, base measure included.
    born : bool array (N,)
        Whether the row opened a new cluster.
    """

    labels: Array
    probabilities: Array
    log_predictive: Array
    born: Array

    @classmethod
    def empty(cls, n: int) -> "RowResults":
        """Return results for n rows, to be filled."""
        return cls(np.full(n, -1, dtype=np.int64), np.zeros(n), np.zeros(n), np.zeros(n, bool))


@dataclass(frozen=True)
class Info:
    """What happened in a step: worth looking at, never needed to go on.

    Attributes
    ----------
    rows : int
        Rows in the batch.
    clock : int
        Observations seen so far.
    K : int
        Clusters after the step.
    births, dropped : list of int
        Ids of the clusters that were born, and of those that faded and were dropped.
    merges : list of (int, int)
        ``(gone, into)`` for every merge.
    log_predictive : float
        Sum of the log predictive densities of the rows, each before it was learnt.
    seconds : float
        Wall time of the step.
    results : RowResults or None
        What was said of each row, where the step tells it at once.
    lap : int
        Laps that were finished before the step.
    batches : int
        Batches of the step.
    scalars : dict of float
        Further numbers by name: how far assignments moved, the state of a chain.
    """

    rows: int
    clock: int
    K: int
    births: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    merges: list[tuple[int, int]] = field(default_factory=list)
    log_predictive: float = 0.0
    seconds: float = 0.0
    results: RowResults | None = None
    lap: int = 0
    batches: int = 1
    scalars: dict[str, float] = field(default_factory=dict)

    def summary(self) -> "Info":
        """Return the same without the row results, small enough to keep."""
        return replace(self, results=None)

    def to_event(self) -> dict[str, Any]:
        """Return the summary as a JSON-ready dict, for traces."""
        event = asdict(self.summary())
        del event["results"]
        return event


class Draws(NamedTuple):
    """Partitions drawn from the posterior, by one chain or several.

    Attributes
    ----------
    labels : int32 array (M, N)
        Cluster of each row in each draw; the numbers of one draw mean nothing in another.
    chain : int64 array (M,)
        The chain that each draw comes from.
    scalars : dict of arrays (M,)
        Log joint density, K, hyperparameters.
    """

    labels: Array
    chain: Array
    scalars: dict[str, Array]

    @property
    def n_draws(self) -> int:
        """Number of draws, M."""
        return len(self.chain)
