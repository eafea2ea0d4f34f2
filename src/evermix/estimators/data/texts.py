"""Texts in place of rows, for models that know how words are counted."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.estimators.data.tables import Table, is_table
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
    """Raise an error if X is neither texts nor rows of numbers, but was meant to be texts."""
    if isinstance(X, str):
        raise TypeError("X must be a list of texts, got one text: give [text].")
    if isinstance(X, Mapping) or is_table(X):
        names = X if isinstance(X, Mapping) else Table(X).names
        kind = "a dict" if isinstance(X, Mapping) else "a table"
        _refuse_fields(X, {name: X[name] for name in names}, kind, "X")
        return
    if getattr(X, "ndim", 1) == 2 and getattr(X, "dtype", np.dtype(float)).kind in "OUT":
        X = X.tolist()
    values = _listed(X)
    if values is None or (values and all(map(_is_row, values))):
        return
    if not values:
        raise ValueError("X must be a list of texts, got none: give at least one.")
    row, value = next((i, value) for i, value in enumerate(values) if not isinstance(value, str))
    if isinstance(value, Mapping):
        _refuse_fields(value, value, f"a dict in row {row}", "row", " for row in X")
    if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], str):
        raise TypeError(
            f"X must be a list of texts, got a list of one in row {row}: give the texts "
            "themselves, [row[0] for row in X]."
        )
    raise TypeError(
        f"X must be a list of texts, but row {row} holds no text, got {value!r:.60}: leave it out, "
        "or give '' for a text without words."
    )


def _is_row(value: Any) -> bool:
    """Whether a value is a number, or may be a row of numbers."""
    if isinstance(value, list | tuple) and any(isinstance(each, str) for each in value):
        return False
    return isinstance(value, Real) or (
        hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)
    )


def _refuse_fields(X: Any, fields: Mapping[Any, Any], kind: str, name: str, each: str = "") -> None:
    """Raise TypeError that names the field of the texts; not for a table that has none."""
    field = next((key for key, value in fields.items() if _has_texts(value)), None)
    if field is not None:
        one = f"{name}[{field!r}]"
        texts = f"[{one}{each}]" if each or isinstance(fields[field], str) else one
        raise TypeError(f"X must be a list of texts, got {kind}: give the texts alone, {texts}.")
    if isinstance(X, Mapping):
        raise TypeError(f"X must be a list of texts, got {kind} that holds none.")


def _has_texts(value: Any) -> bool:
    """Whether a value is a text, or has texts among its values."""
    return isinstance(value, str) or any(isinstance(each, str) for each in _listed(value) or ())
