"""Shares in words, and which topics are large, small, or too small to be shown."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 1e-4  # a share below which it does not matter how small it is
LARGE = 0.01  # share of the words from which on a topic is large
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


def large(weights: Any) -> NDArray[np.bool_]:
    """Return which topics (K,), by their shares, headlines and pictures call large.

    Those with 1 % of the words; all of them, if none has so much.

    Examples
    --------
    >>> large([0.6, 0.38, 0.008, 0.007, 0.005]).tolist(), large([0.005] * 200).all()
    ([True, True, False, False, False], np.True_)
    """
    found = np.asarray(weights, dtype=np.float64) >= LARGE
    return found if found.any() else np.ones_like(found)
