"""What rows must be, whatever they are rows of."""

import re
from collections.abc import Iterable
from os import PathLike
from typing import Any

import numpy as np

from evermix._xp import Array

FILE = re.compile(r"\S.*\.[A-Za-z]\w{0,7}")  # a name with the end of a file's


def check_plain(name: str, X: Any) -> None:
    """Raise TypeError for values that would silently be taken for other numbers."""
    if np.ma.isMaskedArray(X):
        raise TypeError(
            f"{name} must have no mask: masked values would be learnt as if they were known, got "
            "a masked array. Fill them in, or leave out these rows."
        )
    first = X[0] if isinstance(X, list | tuple) and len(X) else X
    if hasattr(X, "iloc") and X.ndim == 1 and len(X):  # of a data frame
        first = X.iloc[0]
        if isinstance(X.index[0], str) and not isinstance(X.name, str | None):
            raise TypeError(
                f"{name} must hold rows, got a Series with the labels of columns, as one row of a "
                "table is: give a table of one row, df.iloc[[0]] in place of df.iloc[0]."
            )
    if isinstance(X, PathLike) or (isinstance(X, str) and FILE.fullmatch(X)):
        path = str(X)
        raise TypeError(
            f"{name} must hold rows, got the path {path!r}. Read the file first: "
            f"em.Mixture().fit(pd.read_csv({path!r})), with pandas as pd."
        )
    if isinstance(first, str):
        raise TypeError(
            f"{name} must hold numbers, got {'a word' if first is X else 'texts'}. Count the words "
            "of texts (CountVectorizer().fit_transform(texts)), or embed them; read files first."
        )
    columns = getattr(X, "dtypes", None)  # of a data frame
    dtypes = [getattr(X, "dtype", None), *(columns if isinstance(columns, Iterable) else [])]
    if any(getattr(dtype, "kind", None) in ("m", "M") for dtype in dtypes):
        raise TypeError(
            f"{name} must hold numbers, got dates or durations. Turn them into numbers in a unit "
            "of your choice; the times of rows go into `times`."
        )


def word_in(X: Any) -> ValueError | None:
    """Return the error on the first word in rows that must be numbers, or None if there is none."""
    values = np.asarray(X, dtype=object)
    if values.ndim != 2:
        return None
    names = getattr(X, "columns", range(values.shape[1]))
    remedy = (
        "Leave the column out, or give no family: then words are categories."
        if hasattr(X, "columns")
        else "Give columns of different kinds as a table, a DataFrame or a dict of columns."
    )
    for (row, column), value in np.ndenumerate(values):
        if isinstance(value, str) and not _reads_as_number(value):
            return ValueError(
                f"X must hold numbers, got {value!r:.60} in row {row} of column "
                f"{names[column]!r}. {remedy}"
            )
    return None


def _reads_as_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def check_csr(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
    """Raise ValueError unless these arrays form a CSR matrix; SciPy does not check all of it."""
    n, n_features = shape
    kinds = indices.dtype.kind == indptr.dtype.kind == "i" and data.ndim == indices.ndim == 1
    whole = kinds and indptr.shape == (n + 1,) and indptr[0] == 0
    whole = whole and np.all(indptr[:-1] <= indptr[1:])  # differences might overflow
    if not whole or not len(indices) == len(data) >= indptr[-1]:
        raise ValueError("the rows of the sparse matrix do not begin and end inside its data.")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
        raise ValueError(
            f"the sparse matrix has {n_features} columns, but entries in columns from "
            f"{indices.min()} to {indices.max()}. Build it anew."
        )
