"""The values of rows: what is wrong with them, and how they are put together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from evermix._xp import Array


def fault(values: Array, columns: Sequence[Any] | Array, kind: str) -> str | None:
    """Say what is wrong with a row's values (n,) in these columns (n names), or return None."""
    for wrong, wanted in _checks(values, kind):
        if wrong.any():
            at = int(np.argmax(wrong))
            return f"wanted {wanted}, got {values[at]:g} in column {columns[at]}."
    return None


def faulty_rows(X: Any, kind: str) -> dict[int, str]:
    """Say what is wrong with rows of X: a dict of row to complaint, empty if all is well."""
    if kind == "text":
        return {}
    return _faults_sparse(X, kind) if sparse.issparse(X) else _faults_dense(X, kind)


def kept_rows(X: Any, rows: list[int]) -> Any:
    """Return these rows of X, whatever it is."""
    return [X[i] for i in rows] if isinstance(X, list) else X[rows]


def stack(parts: Sequence[Any]) -> Any:
    """Return the X of several chunks as one."""
    if isinstance(parts[0], list):
        return [text for part in parts for text in part]
    return np.vstack(parts) if isinstance(parts[0], np.ndarray) else sparse.vstack(parts, "csr")


def stack_dense(rows: list[Array], kind: str) -> Any:
    """Return rows (D,) as an array (n, D), or as a CSR matrix if they are counts."""
    X = np.array(rows, dtype=np.float64)
    return sparse.csr_matrix(X) if kind == "counts" else X


def stack_sparse(rows: list[tuple[Array, Array]], n_features: int, kind: str) -> Any:
    """Return rows given as (columns, values) as a CSR matrix (n, D), or dense if vectors."""
    columns = [row[0] for row in rows]
    ends = np.cumsum([0, *map(len, columns)])
    values = np.concatenate([row[1] for row in rows]).astype(np.float64)
    parts = (values, np.concatenate(columns).astype(np.int64), ends)
    X = sparse.csr_matrix(parts, shape=(len(rows), n_features))
    X.sum_duplicates()
    return X if kind == "counts" else X.toarray()


def _checks(values: Array, kind: str) -> list[tuple[Array, str]]:
    """Return masks of wrong values, and what was wanted instead, in order of gravity."""
    checks = [(~np.isfinite(values), "finite numbers")]
    if kind == "counts":
        checks.append((values < 0, "counts >= 0"))
        whole = 'whole counts (or read the source as kind "vectors")'
        checks.append((values != np.floor(values), whole))
    return checks


def _wrong(values: Array, kind: str) -> Array:
    """Return a mask of the values that fail any check."""
    return np.logical_or.reduce([wrong for wrong, _ in _checks(values, kind)])


def _faults_dense(X: Array, kind: str) -> dict[int, str]:
    rows = np.flatnonzero(_wrong(X, kind).any(axis=1))
    return {int(i): str(fault(X[i], range(X.shape[1]), kind)) for i in rows}


def _faults_sparse(X: Any, kind: str) -> dict[int, str]:
    rows = np.searchsorted(X.indptr, np.flatnonzero(_wrong(X.data, kind)), side="right") - 1
    faults = {}
    for i in np.unique(rows):
        row = slice(X.indptr[i], X.indptr[i + 1])
        faults[int(i)] = str(fault(X.data[row], X.indices[row], kind))
    return faults
