"""Results of the rows of a fit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix.engines.base import Engine
from evermix.engines.batch import Info, RowResults
from evermix.engines.shards import CollectResults, Shards
from evermix.model import Model
from evermix.state import Record, State


def check_memo(engine: Engine, model: Model, state: State, n: int, lost: bool) -> None:
    """Raise ValueError if the records of the n rows of a fit are incomplete.

    ``lost``: whether results on a cluster were lost with it.
    """
    try:
        engine.check_memo(model, state, n)
    except ValueError as error:
        why = ", since the cluster that held it is gone" if lost else ""
        raise ValueError(
            f"what the fit remembers of its rows is not whole{why} ({str(error).rstrip('.')}). "
            "Load the last checkpoint, or call fit."
        ) from error


def met_once(engine: Engine, state: State) -> bool:
    """Whether rows were met only once: the clock counts them then, and visits otherwise."""
    return bool(engine.streams and state.lap + (state.at > 0) <= 1)


def rows_learnt(learner: Any) -> int:
    """Return how many rows a learner has learnt, each counted once."""
    once = met_once(learner.engine, learner.state)
    return int(learner.state.clock if once else len(learner.results.labels))


def in_order(learner: Any) -> bool:
    """Whether rows came one after another, in a stream: those of a fit have no order.

    So it is until the first row of a stream, also if clusters of the fit were changed by hand.
    """
    return learner.rows_digest is None and bool(learner.course.bins)


class FitResults:
    """Results of all rows of a fit, of which some may still be on a device or a cluster.

    Parameters
    ----------
    shards : Shards
        The batches of the fit.
    size : int
        Rows in a batch.
    n : int
        Rows of the fit.
    before : RowResults
        Of the rows that were learnt before the fit was resumed.
    """

    def __init__(self, shards: Shards, size: int, n: int, before: RowResults) -> None:
        self._shards, self._size, self._n = shards, size, n
        self._visited: set[int] = set()  # batches, since results were last collected
        self._rows = RowResults.empty(n)
        for values, old in zip(self._rows, before, strict=True):
            values[: len(old)] = old

    def add(self, info: Info, state: State, order: NDArray[np.int64]) -> RowResults:
        """Add the results of a step, and return those of all rows that were learnt so far.

        ``order`` is that of the batches in the lap; the last ones visited are those of the step.
        """
        keys = order[state.at - info.batches : state.at].tolist()
        n_batches = len(self._shards)
        self._visited.update(keys if info.rows else range(n_batches))  # laps may visit all again
        if info.results is not None:
            first = 0
            for key in keys:
                end = first + len(self._shards.weights_of(key))
                self._put(key, RowResults(*(values[first:end] for values in info.results)))
                first = end
        # A first lap in another order meets rows here and there.
        in_order = state.lap == 0 and np.array_equal(order, np.arange(n_batches))
        done = min(state.at * self._size, self._n) if in_order else self._n
        return RowResults(*(values[:done] for values in self._rows))

    def collect(self, memo: dict[str, Record]) -> None:
        """Bring the results, and what engines remember of batches, here.   Consumes: memo."""
        for key, results in self._shards.do(CollectResults(), sorted(self._visited)).items():
            self._put(key, results)
        self._visited.clear()
        self._shards.bring_home(memo)

    def _put(self, key: int, results: RowResults) -> None:
        some = slice(key * self._size, (key + 1) * self._size)
        for values, part in zip(self._rows, results, strict=True):
            values[some] = part
