"""Answers in the precision of the rows that they are about."""

from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.io.libraries import batches_of

SINGLE = np.dtype(np.float32)


def as_precise_as(X: Any, answer: Array) -> Array:
    """Return numbers of rows X, computed in double precision, in single if the rows are.

    Rows of other libraries are answered in their precision already.
    """
    if type(answer) is not np.ndarray or not _is_single(X):
        return answer
    return answer.astype(SINGLE, copy=False)


def _is_single(X: Any) -> bool:
    """Whether these are rows in single precision: an array, a sparse matrix or a data frame."""
    dtype = getattr(X, "dtype", None)
    if dtype is not None:
        return bool(dtype == SINGLE)
    if batches_of(X) is not None:  # whose columns are not known yet
        return False
    columns = getattr(X, "dtypes", None)
    return columns is not None and len(columns) > 0 and all(_is(each) for each in columns)


def _is(dtype: Any) -> bool:
    """Whether the type of a column is single precision, in the words of pandas or polars."""
    return str(dtype).lower() == "float32"
