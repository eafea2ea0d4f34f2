"""Checks of hyperparameters, made once, when a family meets data."""

import numpy as np

from evermix._xp import Array


def as_given(value: float | Array) -> float | Array:
    """Return a number as a float and anything else as a float64 array, in its own shape."""
    return float(value) if np.ndim(value) == 0 else np.array(value, dtype=np.float64)


def positive(name: str, value: object) -> float:
    """Return a positive number as a float."""
    number = np.asarray(value, dtype=np.float64)
    if number.shape != () or not 0 < number < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return float(number)


def column(name: str, value: object, n_features: int) -> Array:
    """Return a number or an array (D,) as a float64 array (D,)."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n_features,)) or not np.all(np.isfinite(array)):
        raise ValueError(
            f"{name} must be a finite number or one per column, shape ({n_features},), "
            f"got {_said(array)}."
        )
    return np.broadcast_to(array, (n_features,)).copy()


def positive_columns(name: str, value: object, n_features: int) -> Array:
    """Return a positive number or a positive array (D,) as a float64 array (D,)."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n_features,)) or not np.all((array > 0) & (array < np.inf)):
        raise ValueError(
            f"{name} must be a positive number or one per column, shape ({n_features},), "
            f"got {_said(array)}."
        )
    return np.broadcast_to(array, (n_features,)).copy()


def positive_as_given(name: str, value: float | Array, n_features: int) -> float | Array:
    """Return a positive number as a float and a positive array (D,) as a float64 array."""
    positive_columns(name, value, n_features)
    return as_given(value)


def degrees(nu: object, n_features: int) -> float:
    """Return degrees of freedom for which the expected covariance exists, as a float."""
    number = positive("nu", nu)
    if number <= n_features + 1:
        raise ValueError(
            f"nu must be larger than D + 1 = {n_features + 1} (scale is the expected covariance, "
            f"which exists only then), got {number}."
        )
    return number


def covariance(scale: object, n_features: int) -> Array:
    """Return a number, variances (D,) or a covariance (D, D) as a positive definite (D, D)."""
    D, array = n_features, np.asarray(scale, dtype=np.float64)
    if array.shape in ((), (D,)) and np.all((array > 0) & (array < np.inf)):
        return np.diag(np.broadcast_to(array, (D,)))
    if array.shape == (D, D) and np.allclose(array, array.T) and _is_positive_definite(array):
        return array
    raise ValueError(
        f"scale must be a positive number, ({D},) variances or a positive definite ({D}, {D}) "
        f"covariance, got {_said(array)}."
    )


def _is_positive_definite(array: Array) -> bool:
    return bool(np.all(np.isfinite(array)) and np.linalg.eigvalsh(array)[0] > 0)


def _said(array: Array) -> str:
    if array.size <= 4:
        return repr(array.tolist())
    return f"shape {array.shape} with least value {np.min(array)}"
