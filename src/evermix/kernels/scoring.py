"""Scores and sums of rows: the loops behind predictions and draws."""

from math import exp, inf
from typing import Any

from evermix._xp import Floats, Ints
from evermix.kernels.base import add, kernel, score

CLEAR = 1e-9  # relative difference of log probabilities that no rounding makes
FAINT, BRIGHT = -60.0, 700.0  # log ratios whose exponential is nothing beside 1, or nearly infinite


@kernel
def score_rows(work: Any, rows: Any, slots: int, out: Floats) -> None:
    """Write log p(x_i | slot) - log h(x_i) of every row into ``out`` (N, slots)."""
    for i in range(out.shape[0]):
        score(work, rows, i, slots, out[i])


@kernel
def new_shares(scores: Floats, log_weights: Floats, out: Floats) -> None:
    """Write the probability of the last slot of every row of ``scores`` (N, K + 1) into ``out``.

    It is 0 where the last slot has no weight.
    """
    K = scores.shape[1] - 1
    for i in range(scores.shape[0]):
        new = scores[i, K] + log_weights[K]
        total = 0.0  # how often as probable as the last slot all are together
        for k in range(K + 1):
            ratio = scores[i, k] + log_weights[k] - new
            if ratio > BRIGHT:
                total = inf
                break
            if ratio > FAINT:
                total += exp(ratio)
        out[i] = 1.0 / total if total > 0.0 else 0.0


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
