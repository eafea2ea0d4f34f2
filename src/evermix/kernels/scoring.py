"""Scores and sums of rows: the loops behind predictions and draws."""

from math import inf
from typing import Any

from evermix._xp import Floats, Ints
from evermix.kernels.base import add, kernel, score

CLEAR = 1e-9  # relative difference of log probabilities that no rounding makes


@kernel
def score_rows(work: Any, rows: Any, slots: int, out: Floats) -> None:
    """Write log p(x_i | slot) - log h(x_i) of every row into ``out`` (N, slots)."""
    for i in range(out.shape[0]):
        score(work, rows, i, slots, out[i])


@kernel
def best_slot(work: Any, rows: Any, slots: int, log_weights: Floats, out: Floats) -> int:
    """Return the slot in which the first row has the largest log weight plus log predictive.

    -1 if a second one has as much, up to rounding. ``out`` (slots,) is overwritten.
    """
    score(work, rows, 0, slots, out)
    best = -1
    first = -inf
    second = -inf
    for k in range(slots):
        joint = out[k] + log_weights[k]
        if joint > first:
            best, first, second = k, joint, first
        else:
            second = max(second, joint)
    return best if first - second > CLEAR * (1.0 + abs(first)) else -1


@kernel
def add_rows(work: Any, rows: Any, labels: Ints, mass: Floats) -> None:
    """Add every row to the slot ``labels[i]``, whose ``mass`` (capacity,) grows by one."""
    for i in range(labels.shape[0]):
        k = labels[i]
        mass[k] += 1.0
        add(work, rows, i, k, 1.0, mass[k])
