"""Scores and sums of many rows: the loops behind predictions and draws."""

from typing import Any

from evermix._xp import Floats, Ints
from evermix.kernels.base import add, kernel, score


@kernel
def score_rows(work: Any, rows: Any, slots: int, out: Floats) -> None:
    """Write log p(x_i | slot) - log h(x_i) of every row into ``out`` (N, slots)."""
    for i in range(out.shape[0]):
        score(work, rows, i, slots, out[i])


@kernel
def add_rows(work: Any, rows: Any, labels: Ints, mass: Floats) -> None:
    """Add every row to the slot ``labels[i]``, whose ``mass`` (capacity,) grows by one."""
    for i in range(labels.shape[0]):
        k = labels[i]
        mass[k] += 1.0
        add(work, rows, i, k, 1.0, mass[k])
