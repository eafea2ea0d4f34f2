"""The data of a pass over rows, kept for the next one: for single rows, deriving takes longest."""

from collections.abc import Callable
from operator import is_
from threading import Lock
from typing import Any

import numpy as np

from evermix.engines.filters.assignment import AssignmentRule, PassResult, StepRows
from evermix.kernels.base import compiled_for
from evermix.kernels.engines.adf import FilterData
from evermix.kernels.rows import DenseRows
from evermix.kernels.scoring import best_slot

DOUBLE = np.dtype(np.float64)


class LastPass:
    """What a pass has kept up to date of what is derived from the clusters.

    It is used by one thread at a time, since kernels write into it even where they only score:
    whoever gets it by :meth:`take` must :meth:`release` it.

    Parameters
    ----------
    sources : tuple
        The objects that the data were made from.
    clock : int
        The clock since then.
    data : FilterData
    rule : AssignmentRule
    """

    def __init__(
        self, sources: tuple[Any, ...], clock: int, data: FilterData, rule: AssignmentRule
    ) -> None:
        self._sources, self._clock, self._data = sources, clock, data
        self.rule = rule
        self._lock = Lock()
        self._codes: dict[Callable[..., Any], Callable[..., Any]] = {}

    def take(self, sources: tuple[Any, ...], clock: int) -> bool:
        """Whether the data are still those of a state and nobody uses them; then the caller does.

        It does not wait for others, who may have been lost with a process.
        """
        same = self._clock == clock and all(map(is_, self._sources, sources))
        return same and self._lock.acquire(blocking=False)

    def release(self) -> None:
        """Let others use the data."""
        self._lock.release()

    def run(self, step: StepRows, K: int, start: int) -> PassResult:
        """Learn rows from ``start`` on with the compiled loop, given K clusters."""
        loop, args = self.rule.loop(self._data, step, K, self._clock, start)
        if _is_single(step):
            loop = self._code(loop, args)
        result: PassResult = loop(*args)
        self._clock = result[2]
        return result

    def best(self, rows: Any, K: int) -> int:
        """Return the slot of the most probable of K clusters for one row; -1 if it is not clear."""
        log_weights, rho = self._data.scratch.log_weight, self._data.scratch.rho
        args = (self._data.work, rows, K, log_weights, rho)
        function: Callable[..., Any] = best_slot
        if _is_plain(rows):
            function = self._code(function, args)
        return int(function(*args))

    def _code(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the machine code of a compiled function for single rows."""
        code = self._codes.get(function)
        if code is None:
            code = self._codes[function] = compiled_for(function, *args)
        return code


def _is_single(step: StepRows) -> bool:
    """Whether this is one row, of types that are always the same."""
    weights = step.weights
    return len(weights) == 1 and weights.dtype == DOUBLE and _is_plain(step.rows)


def _is_plain(rows: Any) -> bool:
    """Whether rows are one array of the only type that kernels are compiled for."""
    if type(rows) is not DenseRows:
        return False
    return bool(rows.values.flags.carray) and rows.values.dtype == DOUBLE
