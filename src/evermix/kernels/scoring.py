"""Scores of many rows: the compiled loop behind predictions."""

from typing import Any

from evermix._xp import Array
from evermix.kernels.base import kernel, score

__all__ = ["score_rows"]


@kernel
def score_rows(work: Any, rows: Any, slots: int, out: Array) -> None:
    """Write log p(x_i | slot) - log h(x_i) of every row into ``out`` (N, slots)."""
    for i in range(out.shape[0]):
        score(work, rows, i, slots, out[i])
