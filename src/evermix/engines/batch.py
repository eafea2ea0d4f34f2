"""Batches of rows, and the results of learning them."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.model import Model
from evermix.state import State

ROWS = 4096  # in a batch by default
NO_CAP = int(np.iinfo(np.int64).max)  # on the number of clusters


CAPPED, MANY = 1, 2  # bits of the latent "capped": what was warned of
MANY_SHARE, MANY_ROWS = 0.5, 1000  # clusters per row, of so many, above which there is a warning


class CapacityWarning(UserWarning):
    """The number of clusters reached ``max_clusters``, or grows with the number of rows."""


class Batch(NamedTuple):
    """Some rows of data, already validated.

    Attributes
    ----------
    X : array (N, D) or CSR matrix (N, D), float64
    weights : array (N,)
        Weight of each row; a row of weight zero is labelled but not learnt.
    key : int
        Number of the batch, under which engines remember it.
    times : array (N,) or None
        When the rows were observed, for models that forget by time stamps.
    """

    X: Array
    weights: Array
    key: int = 0
    times: Array | None = None

    def part(self, rows: slice) -> "Batch":
        """Return some of the rows."""
        times = None if self.times is None else self.times[rows]
        return Batch(self.X[rows], self.weights[rows], self.key, times)

    def copy(self) -> "Batch":
        """Return a batch with arrays of its own."""
        times = None if self.times is None else self.times.copy()
        return Batch(self.X.copy(), self.weights.copy(), self.key, times)


class Batches(Sequence[Batch]):
    """Batches whose weights are known without reading their rows."""

    @abstractmethod
    def weights_of(self, key: int) -> Array:
        """Return the weights (N,) of a batch."""


def weights_of(batches: Sequence[Batch], key: int) -> Array:
    """Return the weights (N,) of a batch, without reading its rows if possible."""
    return batches.weights_of(key) if isinstance(batches, Batches) else batches[key].weights


class RowResults(NamedTuple):
    """Results for each row of a batch, as of the moment when it was learnt.

    Attributes
    ----------
    labels : int64 array (N,)
        Id of the most probable cluster; -1 if there was none yet (rows of weight zero).
    probabilities : array (N,)
        Its probability.
    log_predictive : array (N,)
        Log predictive density of the row before it was learnt, base measure included.
    born : bool array (N,)
        Whether the row opened a new cluster.
    novelty : array (N,)
        Probability that the row was of a new cluster, before it was learnt; NaN if the engine does
        not compute it. It is not saved.
    """

    labels: Array
    probabilities: Array
    log_predictive: Array
    born: Array
    novelty: Array

    @classmethod
    def empty(cls, n: int) -> "RowResults":
        """Return results for n rows, to be filled."""
        labels = np.empty(n, dtype=np.int64)
        labels.fill(-1)
        return cls(labels, np.zeros(n), np.zeros(n), np.zeros(n, bool), np.full(n, np.nan))

    @classmethod
    def joined(cls, parts: Sequence["RowResults"]) -> "RowResults":
        """Return copies of the results of consecutive batches, at least one, as those of one."""
        if len(parts) == 1:
            return cls(*(values.copy() for values in parts[0]))
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass  # frozen ones take several times as long to make, which single rows feel
class Info:
    """What happened in a step, for observers; no later step needs it. Only to be read.

    Attributes
    ----------
    rows : int
        Rows in the batch.
    clock : int
        Observations seen so far.
    K : int
        Clusters after the step.
    births, dropped : list of int
        Ids of the clusters that were opened, and of those that were dropped.
    merges : list of (int, int)
        ``(gone, into)`` for every merge.
    log_predictive : float
        Sum of the log predictive densities of the rows, each before it was learnt.
    seconds : float
        Wall time of the step.
    results : RowResults or None
        Results for each row, if the step returns them at once.
    lap : int
        Laps finished before the step.
    batches : int
        Number of batches in the step.
    scalars : dict of float
        Further numbers by name, such as the change of assignments or the state of a chain.
    model : Model or None
        The model after the step, if the clusters were reviewed in it.
    reviews : list of Info
        What happened in each of these reviews; it is part of what happened in the step.
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
    model: Model | None = None
    reviews: "list[Info]" = field(default_factory=list)

    def summary(self) -> "Info":
        """Return the same without results of rows, model and reviews, small enough to keep."""
        summary = object.__new__(Info)
        summary.__dict__ = {**vars(self), "results": None, "model": None, "reviews": []}
        return summary

    @classmethod
    def joined(cls, parts: Sequence["Info"]) -> "Info":
        """Return the information on consecutive steps, at least one, as that of one step."""
        if len(parts) == 1 and parts[0].model is None:
            return parts[0]
        results = [info.results for info in parts if info.results is not None]
        rows = RowResults.joined(results) if results else None
        return replace(
            parts[-1],
            rows=sum(info.rows for info in parts),
            births=[k for info in parts for k in info.births],
            dropped=[k for info in parts for k in info.dropped],
            merges=[pair for info in parts for pair in info.merges],
            log_predictive=sum(info.log_predictive for info in parts),
            seconds=sum(info.seconds for info in parts),
            results=rows,
            model=next((info.model for info in reversed(parts) if info.model is not None), None),
            reviews=[info.summary() for info in parts if info.model is not None],
        )

    def to_event(self) -> dict[str, Any]:
        """Return the summary as a JSON-ready dict, for traces."""
        event = asdict(self.summary())
        for name in ("results", "model", "reviews"):
            del event[name]
        return event


def cap_of(model: Model) -> int:
    """Return the largest number of clusters that a model allows."""
    return NO_CAP if model.max_clusters is None else model.max_clusters


def warn_once(model: Model, state: State, remedy: str = "lower the prior's concentration") -> None:
    """Warn that ``max_clusters`` was reached, unless that was done before."""
    if not _first_time(state, CAPPED):
        return
    warnings.warn(
        f"K reached max_clusters={model.max_clusters} at observation {state.clock}; later data "
        f"join existing clusters. Raise max_clusters, or {remedy}.",
        CapacityWarning,
        stacklevel=2,
    )


def warn_of_many(model: Model, state: State) -> None:
    """Warn once if most rows have opened a cluster of their own, and nothing bounds that."""
    K, rows = state.tally.K, state.clock
    few = rows < MANY_ROWS or K <= MANY_SHARE * rows
    if few or model.max_clusters is not None or not _first_time(state, MANY):
        return
    warnings.warn(
        f"{K:,} clusters after {rows:,} rows: most rows open a cluster of their own, so that "
        "memory and time for a row grow without end. Set max_clusters to bound them. If there "
        "should be fewer: standardise the columns, allow for wider clusters in the family, or "
        "lower the prior's concentration.",
        CapacityWarning,
        stacklevel=2,
    )


def _first_time(state: State, bit: int) -> bool:
    """Whether nothing was warned of under this bit before; from now on it was."""
    flags = state.latents if "capped" in state.latents else state.derived
    before = int(flags.get("capped", np.zeros(1))[0])
    flags["capped"] = np.full(1, float(before | bit))
    return not before & bit


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
