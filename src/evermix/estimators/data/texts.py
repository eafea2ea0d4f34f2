"""Texts in place of rows, for models that know how words are counted."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.io.text_counter import TextCounter


def texts_in(X: Any) -> list[str] | None:
    """Return texts (N,) in a list, an array or a column of a table; None for anything else."""
    values = _listed(X)
    if not values or not all(isinstance(value, str) for value in values):
        return None
    return [str(value) for value in values]


def _listed(X: Any) -> list[Any] | tuple[Any, ...] | None:
    """Return the values of a list, an array (N,) or a column of a table; None of anything else."""
    if isinstance(X, str) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__getitem__"):
        return None
    listed = next((name for name in ("tolist", "to_pylist") if hasattr(X, name)), None)
    values = getattr(X, listed)() if listed else X
    return values if isinstance(values, list | tuple) else None


def counter_of(estimator: Any, X: Any) -> tuple[TextCounter, list[str]] | None:
    """Return how a model counts words and the texts in X; None if it does not or there are none."""
    counter = vars(estimator).get("text_counter_")
    texts = None if counter is None else texts_in(X)
    return None if texts is None else (counter, texts)


def counted(estimator: Any, X: Any, dense: bool = False) -> Any:
    """Return the rows of texts if the model counts words, and else X as it is."""
    if (found := counter_of(estimator, X)) is None:
        if "text_counter_" in vars(estimator):
            _check_near_misses(X)
        return X
    rows: Array = found[0].counts(found[1])
    return rows.toarray() if dense and not isinstance(rows, np.ndarray) else rows


def _check_near_misses(X: Any) -> None:
    """Raise TypeError if X is neither texts nor rows of numbers, but was meant to be texts."""
    if isinstance(X, str):
        raise TypeError("X must be a list of texts, got one text: give [text].")
    if isinstance(X, Mapping):
        field = _field_of_text(X)
        texts = f"[X[{field!r}]]" if isinstance(X.get(field), str) else f"X[{field!r}]"
        raise TypeError(
            f"X must be a list of texts, got a dict: give the texts themselves, {texts}."
        )
    values = _listed(X)
    if values is None or all(map(_is_row, values)):
        return
    row, value = next((i, value) for i, value in enumerate(values) if not isinstance(value, str))
    if isinstance(value, Mapping):
        raise TypeError(
            f"X must be a list of texts, got a dict in row {row}: give the texts themselves, "
            f"[row[{_field_of_text(value)!r}] for row in X]."
        )
    raise TypeError(
        f"X must be a list of texts, but row {row} holds no text, got {value!r:.60}: leave it out, "
        "or give '' for a text without words."
    )


def _is_row(value: Any) -> bool:
    """Whether a value is a number, or may be a row of numbers."""
    return isinstance(value, Real) or (
        hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)
    )


def _field_of_text(row: Mapping[Any, Any]) -> Any:
    """Return the key of a text, or of texts, in a dict."""
    texts = (key for key, value in row.items() if isinstance(value, str) or texts_in(value))
    return next(texts, "text")
