"""Loops of engines for families without compiled verbs: the same source, run by Python.

A loop is written once (``evermix.kernels.base``). Where it gets an :class:`ArrayWork`, alone or in
a tuple, numba cannot compile it, and Python runs its source instead: slower, and equal to rounding.
"""

import math
from collections.abc import Callable
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from evermix._xp import Array, Floats
from evermix.tally import Layout, Tally

# Compiled maths gives inf or nan where that of Python raises an error.
_MATHS = {name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "sqrt")}
_SAFE = {getattr(math, name): function for name, function in _MATHS.items()}
_MODULE = SimpleNamespace(**(vars(math) | _MATHS))


class ArrayRows:
    """Rows X (N, D) for the array maths of a family."""

    def __init__(self, family: Any, X: Array) -> None:
        self._family, self._X = family, X
        self._at, self._statistic = -1, np.empty(0)

    def row(self, i: int) -> Array:
        """Row i, (1, D)."""
        return self._X[i : i + 1]

    def statistic(self, i: int) -> Floats:
        """Sufficient statistics of row i, (S,)."""
        if i != self._at:  # a loop adds the same row to several slots
            self._at, self._statistic = i, self._family.statistic(self.row(i))[0]
        return self._statistic


class ArrayWork:
    """The verbs of a family's work, by its array maths; see ``evermix.kernels.base``."""

    def __init__(self, family: Any, tally: Tally) -> None:
        self.stats = tally.stats_buffer
        by_slot = tally.layout is Layout.CLUSTER_MAJOR
        self._family, self._by_slot = family, self.stats if by_slot else self.stats.T
        self._mass = np.zeros(tally.capacity)
        self._mass[: tally.K] = tally.mass

    def score(self, rows: ArrayRows, i: int, slots: int, out: Floats) -> None:
        """Write log p(x_i | slot) - log h(x_i) into ``out[:slots]``."""
        eta = self._family.posterior(self._by_slot[:slots], self._mass[:slots])
        out[:slots] = self._family.log_predictive(rows.row(i), eta)[0]

    def add(self, rows: ArrayRows, i: int, slot: int, weight: float, mass: float) -> None:
        """Add ``weight`` times the statistic of row i to a slot, whose mass is now ``mass``."""
        self._by_slot[slot] += weight * rows.statistic(i)
        self._mass[slot] = mass

    def refresh(self, slot: int, mass: float) -> None:
        """Note the mass of a slot: its parameters are computed when it is scored."""
        self._mass[slot] = mass


def interpretable(compiled: Any) -> Any:
    """Let Python run a compiled function where it gets an :class:`ArrayWork`; return it."""
    compile = compiled._compile_for_args

    def compile_or_interpret(*args: Any, **kwargs: Any) -> Callable[..., Any]:
        """Return what is called with these arguments; numba asks where no compiled code fits."""
        if not any(_holds_array_work(value) for value in args):
            return compile(*args, **kwargs)
        compiled._types_active_call.clear()
        return np.errstate(all="ignore")(_interpreted(compiled.py_func))

    compiled._compile_for_args = compile_or_interpret
    return compiled


def _holds_array_work(value: Any) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(part, ArrayWork) for part in parts)


@cache
def _interpreted(source: Any) -> Callable[..., Any]:
    """Return a function of the same source with the maths of NumPy, for Python to run."""
    names = set(source.__code__.co_names) & set(source.__globals__)
    replaced = {name: _replaced(source.__globals__[name]) for name in names}
    known = source.__globals__ | replaced
    return FunctionType(source.__code__, known, source.__name__, source.__defaults__)


def _replaced(value: Any) -> Any:
    """Return what stands for a global value of a compiled function in an interpreted one."""
    if isinstance(value, Dispatcher):
        return _compiled_or_interpreted(value)
    if value is math:
        return _MODULE
    return _SAFE.get(value, value) if callable(value) else value


@cache
def _compiled_or_interpreted(compiled: Any) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        by_arrays = any(isinstance(value, ArrayWork) for value in args)  # numba is slow to find out
        return (_interpreted(compiled.py_func) if by_arrays else compiled)(*args)

    return call
