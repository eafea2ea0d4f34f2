"""The log scale with a knee, behind which it is linear: asinh(x / (2 knee)).

A knee is one number, or one for each column, (D,), where 0 stands for a column that stays as it is.
None is the logarithm itself.
"""

from typing import Any

import numpy as np

from evermix._xp import Array, Floats, alike, namespace


def scaled(X: Array, knee: float | Floats | None) -> Array:
    """Return numbers X (N, D) on the scale."""
    xp = namespace(X)
    if knee is None:
        return xp.log(X)
    double, linear = _doubled(knee, X)
    logs = xp.asinh(X / double)
    return logs if linear is None else xp.where(linear, X, logs)


def unscaled(logs: Floats, knee: float | Floats | None) -> Floats:
    """Return the numbers that are at ``logs`` (N, D) on the scale."""
    if knee is None:
        return np.exp(logs)
    double, linear = _doubled(knee, logs)
    if linear is None:
        return double * np.sinh(logs)
    return np.where(linear, logs, double * np.sinh(np.where(linear, 0.0, logs)))


def log_slopes(X: Array, knee: float | Floats | None) -> Array:
    """Return logarithms (N, D) of the derivatives of the scale."""
    xp = namespace(X)
    if knee is None:
        return -xp.log(X)
    double, linear = _doubled(knee, X)
    slopes = -0.5 * xp.log(X * X + double**2)
    return slopes if linear is None else xp.where(linear, xp.zeros_like(slopes), slopes)


def _doubled(knee: float | Floats, X: Array) -> tuple[Any, Any]:
    """Return twice the knees, and which columns stay as they are; None if all are scaled."""
    if np.ndim(knee) == 0:
        return 2 * float(knee), None
    linear = np.asarray(knee) == 0
    double = alike(np.where(linear, 1.0, 2 * np.asarray(knee)), X)
    return double, alike(linear, X) if linear.any() else None
