"""Slice sampling inside compiled loops, of any density that registers itself.

A density is a NamedTuple of numbers and arrays, its *target*. As with the verbs of families
(``evermix.kernels.base``), numba picks the function that knows it by its type.
"""

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from evermix.kernels.base import F, kernel

WIDTH = 1.5  # first guess of a slice's width, of logs or log odds
LOWEST, HIGHEST = -650.0, 650.0  # between which logs move
STEPS_OUT = 200  # a slice is at most so many widths wide

_HEIGHTS: dict[type, Callable[..., Any]] = {}


def height(target: Any, x: float) -> float:
    """Log density at x, up to a constant; -inf where there is none."""
    raise TypeError("height is a verb of compiled loops; call it from a kernel.")


def implement_height(target: type, function: F) -> None:
    """Register the compiled log density of a target type (a NamedTuple class)."""
    _HEIGHTS[target] = function


@overload(height, inline="never", strict=False)
def _height(target: Any, x: float) -> Any:
    chosen = _HEIGHTS[target.instance_class]
    return lambda target, x: chosen(target, x)


@kernel
def slice_step(target: Any, x: float, width: float, rng: Any) -> float:
    """Move x by one step that leaves the target invariant: step out, then shrink [neal2003]_.

    References
    ----------
    .. [neal2003] R. Neal. Slice sampling. Annals of Statistics, 2003.
    """
    level = height(target, x) - rng.standard_exponential()
    low = x - width * rng.random()
    high = low + width
    to_the_left = int(STEPS_OUT * rng.random())
    for _ in range(to_the_left):
        if not height(target, low) > level:
            break
        low -= width
    for _ in range(STEPS_OUT - 1 - to_the_left):
        if not height(target, high) > level:
            break
        high += width
    while True:
        y = low + (high - low) * rng.random()
        if height(target, y) > level or high - low < 1e-14 * (1.0 + abs(x)):
            return y
        if y < x:
            low = y
        else:
            high = y
