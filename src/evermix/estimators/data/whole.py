"""Which columns have held whole numbers only, so that they are shown so."""

from typing import Any

import numpy as np

from evermix._xp import Array, Bools

CELLS = 2**14  # that are looked at together


def whole_columns(X: Array, known: Bools | None = None) -> Bools:
    """Return which columns (D,) of dense rows X (N, D) hold whole numbers only, and did before.

    ``known`` are those of rows before, which may have had fewer columns.
    """
    whole = np.ones(X.shape[1], dtype=np.bool_)
    if known is not None:
        whole[: len(known)] = known[: len(whole)]
    size = max(CELLS // max(X.shape[1], 1), 1)
    for start in range(0, X.shape[0], size):
        some = np.flatnonzero(whole)
        if not len(some):
            break
        part = X[start : start + size, some]
        whole[some] = np.all((part == np.rint(part)) | np.isnan(part), axis=0)
    return whole


def from_spec(columns: Any, n_features: int) -> Bools:
    """Return the columns (D,) that are named by their numbers, or raise ValueError."""
    good = isinstance(columns, list) and all(type(d) is int for d in columns)
    if not good or columns != sorted({d for d in columns if 0 <= d < n_features}):
        raise ValueError("the file does not say which of its columns hold whole numbers.")
    whole = np.zeros(n_features, dtype=np.bool_)
    whole[columns] = True
    return whole
