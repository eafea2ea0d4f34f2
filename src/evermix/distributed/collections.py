"""Dask collections as partitions: rows that are not computed yet."""

import importlib
import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from evermix._xp import Array
from evermix.io.chunks import Chunks

AHEAD = 1  # partitions that are computed while another one is learnt


class Partition(NamedTuple):
    """Some rows that are not computed yet."""

    rows: Any  # a Dask delayed object
    length: int | None  # number of rows, if it is known


def is_collection(X: Any) -> bool:
    """Whether this is a Dask array, data frame, bag or delayed object, or a list of these last."""
    if isinstance(X, Partition):
        return True
    if isinstance(X, list | tuple) and X:
        if not is_collection(X[0]):
            return False
        if not all(is_collection(part) for part in X):
            raise TypeError(
                "expected a list of Dask objects, or of other objects, got a list of both."
            )
        return True
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def partitions(X: Any) -> list[Partition]:
    """Return the partitions of a Dask collection, in the order of its rows.

    Items of a bag, and the results of delayed objects, are arrays of rows.
    """
    if isinstance(X, Partition):
        return [X]
    if isinstance(X, list | tuple):
        return [part for some in X for part in partitions(some)]
    kind = type(X).__module__.split(".")[1:2]
    if kind == ["array"]:
        return _of_array(X)
    if kind == ["delayed"]:
        return [Partition(X, None)]
    try:
        return [Partition(part, None) for part in X.to_delayed()]
    except AttributeError:
        raise TypeError(
            f"expected a Dask array, data frame, bag or delayed rows, got {type(X).__name__}."
        ) from None


def _of_array(X: Any) -> list[Partition]:
    if X.ndim != 2:
        raise ValueError(f"expected rows (N, D), got a Dask array of {X.ndim} dimensions.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    lengths = [None if math.isnan(n) else int(n) for n in X.chunks[0]]
    parts = X.to_delayed(optimize_graph=True).ravel().tolist()
    return [Partition(*pair) for pair in zip(parts, lengths, strict=True)]


def computed(parts: Sequence[Partition]) -> Iterator[Any]:
    """Yield the rows of partitions in order; the next one is computed meanwhile."""
    from dask.base import compute

    from distributed import get_client

    try:
        client = get_client()
    except ValueError:  # no cluster: this process computes them
        for part in parts:
            yield stacked(compute(part.rows)[0])
        return
    waiting: deque[Any] = deque()
    for part in parts:
        waiting.append(client.compute(part.rows))
        if len(waiting) > AHEAD:
            yield stacked(waiting.popleft().result())
    while waiting:
        yield stacked(waiting.popleft().result())


def one_by_one(X: Any) -> Chunks:
    """Return the rows of a collection as chunks, one partition at a time."""
    parts = partitions(X)
    return Chunks(lambda: computed(parts))


def in_memory(X: Any) -> Any:
    """Return all rows of a collection."""
    parts = [part for part in computed(partitions(X)) if not isinstance(part, list | tuple)]
    if not parts:
        raise ValueError("expected at least one row, the Dask collection holds none.")
    return parts[0] if len(parts) == 1 else joined(parts)


def stacked(part: Any) -> Any:
    """Return the rows of a partition; those of a list of arrays in one array."""
    if isinstance(part, list | tuple):
        if not part:
            return part
        first: Any = part[0]
        flat = isinstance(first, np.ndarray) and first.ndim != 2
        part = joined(part) if _is_rows(first) and not flat else np.array(part)
    if not _is_rows(part):
        raise TypeError(f"expected an array of rows, a partition is {type(part).__name__}.")
    found: Any = part
    if isinstance(found, np.ndarray) or _is_frame(found):
        return found
    return sparse.csr_matrix(found)


def _is_rows(part: Any) -> bool:
    return _is_frame(part) or isinstance(part, np.ndarray) or bool(sparse.issparse(part))


def _is_frame(part: Any) -> bool:
    return type(part).__module__.startswith("pandas")


def joined(parts: Sequence[Array]) -> Array:
    """Return a copy of arrays of rows, as one array."""
    if sparse.issparse(parts[0]):
        return sparse.csr_matrix(sparse.vstack(parts))
    if type(parts[0]).__module__.startswith("pandas"):
        return importlib.import_module("pandas").concat(parts)  # columns keep their names
    return np.concatenate(parts)
