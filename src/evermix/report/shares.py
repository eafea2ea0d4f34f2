"""Shares in words, and which topics are large."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 1e-4  # a share below which it does not matter how small it is
LARGE = 0.01  # share of the words from which on a topic is large
TINY = 0.005  # share of the words of a time from which on pictures draw a topic


def percent(share: float) -> str:
    """Return a share as text shows it.

    Examples
    --------
    >>> percent(0.12345), percent(7e-6), percent(0.0)
    ('12.3 %', '< 0.01 %', '0 %')
    """
    return f"< {100 * LEAST:g} %" if 0 < share < LEAST else f"{100 * share:.3g} %"


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
