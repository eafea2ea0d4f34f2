"""Texts in place of rows, for models that know how words are counted."""

from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.io.text_counter import TextCounter


def texts_in(X: Any) -> list[str] | None:
    """Return texts (N,) in a list, an array or a column of a table; None for anything else."""
    if isinstance(X, str) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__getitem__"):
        return None
    listed = next((name for name in ("tolist", "to_pylist") if hasattr(X, name)), None)
    values = getattr(X, listed)() if listed else X
    if not isinstance(values, list | tuple):
        return None
    if not values or not all(isinstance(value, str) for value in values):
        return None
    return [str(value) for value in values]


def counter_of(estimator: Any, X: Any) -> tuple[TextCounter, list[str]] | None:
    """Return how a model counts words and the texts in X; None if it does not or there are none."""
    counter = vars(estimator).get("text_counter_")
    texts = None if counter is None else texts_in(X)
    return None if texts is None else (counter, texts)


def counted(estimator: Any, X: Any, dense: bool = False) -> Any:
    """Return the rows of texts if the model counts words, and else X as it is."""
    if (found := counter_of(estimator, X)) is None:
        return X
    rows: Array = found[0].counts(found[1])
    return rows.toarray() if dense and not isinstance(rows, np.ndarray) else rows
