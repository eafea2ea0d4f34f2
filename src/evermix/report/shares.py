"""Shares in words, and which topics are too small to be shown."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 1e-4  # a share below which it does not matter how small it is
TINY, TOGETHER = 0.005, 0.01  # shares of topics that are left out: of each, and of all of them


def percent(share: float) -> str:
    """Return a share as text shows it.

    Examples
    --------
    >>> percent(0.12345), percent(7e-6), percent(0.0)
    ('12.3 %', '< 0.01 %', '0 %')
    """
    return f"< {100 * LEAST:g} %" if 0 < share < LEAST else f"{100 * share:.3g} %"


def tiny(weights: Any) -> NDArray[np.bool_]:
    """Return which topics (K,), by their shares, headlines and pictures leave out.

    Those that are small, and hold hardly anything together.

    Examples
    --------
    >>> tiny([0.9, 0.097, 0.003]).tolist(), tiny([0.8, 0.1] + [0.004] * 25).any()
    ([False, False, True], np.False_)
    """
    shares = np.asarray(weights, dtype=np.float64)
    small = shares < TINY
    return small if shares[small].sum() < TOGETHER else np.zeros_like(small)
