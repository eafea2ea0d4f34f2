"""Rows that are read and prepared when they are needed, so that they need not fit into memory.

They look like an array: they have a shape, and ``rows[some]`` are prepared rows, for a slice or for
ascending numbers. All of them are read once at the start, to validate and count them and to compute
their digest.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from evermix._csr import DeviceCSR, is_foreign_csr
from evermix._xp import Array, host, take_rows
from evermix.engines.batch import ROWS
from evermix.estimators.data.rows import (
    LazyRows,
    Validator,
    device_rows,
    prepare_rows,
    stack,
)
from evermix.io.chunks import Chunks

HOST_ROWS = 2**16  # rows that are copied to the host at a time, to validate them


class MappedRows(LazyRows):
    """Rows of an array that lies in a file, of any real type.

    Parameters
    ----------
    X : array (N, D)
    validator : Validator
    """

    def __init__(self, X: Array, validator: Validator) -> None:
        self._X, self._validator = validator.array(X), validator
        self.family = validator.family_of(self._X)
        self._survey(self[start : start + ROWS] for start in range(0, self._X.shape[0], ROWS))

    def __getitem__(self, some: Any) -> Array:
        first = some.start or 0 if isinstance(some, slice) else int(some[0])
        with _named_place(first):
            return self._validator.prepared(self.family, self._X[some])


class ChunkedRows(LazyRows):
    """Rows that come in chunks, anew each time.

    Going forward continues where the last reading ended; going back begins anew.

    Parameters
    ----------
    chunks : Chunks
    validator : Validator
    """

    def __init__(self, chunks: Chunks, validator: Validator) -> None:
        self._chunks, self._validator = chunks, validator
        self._survey(self._prepared(first=True))
        if not self.shape[0]:
            raise ValueError("wanted at least one row, the chunks hold none.")
        self._begin()

    def __getitem__(self, some: Any) -> Array:
        if isinstance(some, slice):
            start, stop, _ = some.indices(self.shape[0])
            return self._read(start, stop)
        found, done = [], 0
        while done < len(some):
            first = int(some[done])
            end = int(np.searchsorted(some, first + ROWS))
            found.append(self._read(first, int(some[end - 1]) + 1)[some[done:end] - first])
            done = end
        return stack(found)

    def _prepared(self, first: bool = False) -> Iterator[Array]:
        """Yield chunks as prepared rows; ``first`` says whether this is the first reading."""
        n = 0
        for chunk in self._chunks:
            rows = _num_samples(chunk)
            if not rows:
                continue
            with _named_place(n):
                X = self._validator.array(chunk, first and n == 0)
                if first and n == 0:
                    self.family = self._validator.family_of(X)
                X = self._validator.prepared(self.family, X)
            yield X
            n += rows

    def _begin(self) -> None:
        self._parts = self._prepared()
        self._at, self._part = 0, next(self._parts, None)

    def _read(self, start: int, stop: int) -> Array:
        """Return rows start..stop, going forward where that is possible."""
        if start < self._at:  # the number of the first row of the chunk at hand
            self._begin()
        found: list[Array] = []
        while start < stop:
            if self._part is None:
                raise ValueError(_changed(self._at, self.shape[0]))
            end = self._at + self._part.shape[0]
            if start < end:
                found.append(self._part[start - self._at : stop - self._at])
                start += found[-1].shape[0]
            else:
                self._at, self._part = end, next(self._parts, None)
        if stop == self.shape[0]:
            self._end(stop)
        return found[0] if len(found) == 1 else stack(found)

    def _end(self, n: int) -> None:
        """Raise if more follows."""
        assert self._part is not None
        end = self._at + self._part.shape[0]
        if end > n or next(self._parts, None) is not None:
            raise ValueError(_changed(max(end, n + 1), n, "at least "))


class ForeignRows(LazyRows):
    """Rows of an array of another library, which stay where they are, and as precise as they are.

    Parameters
    ----------
    X : array (N, D)
    validator : Validator
    """

    elsewhere = True

    def __init__(self, X: Array, validator: Validator) -> None:
        if X.ndim != 2 or not X.shape[0]:
            raise ValueError(f"wanted rows (N, D), at least one, got an array of {tuple(X.shape)}.")
        family = validator.family
        if family is None:
            sparse = is_foreign_csr(X)
            first = host(DeviceCSR.of(X)[:ROWS] if sparse else X[: min(ROWS, X.shape[0]), :])
            family = validator.family_of(validator.array(first), levels=False)
        self.family = family
        self._X = device_rows(X, family.sparse)
        self._survey(self._prepared(validator))

    def __getitem__(self, some: Any) -> Array:
        """Return rows where they are for a slice, on the host for ascending numbers (M,)."""
        if isinstance(some, slice):
            start, stop, _ = some.indices(self._X.shape[0])  # the standard has none beyond the end
            return self._X[start:stop, :]
        return prepare_rows(self.family, host(take_rows(self._X, some)))

    def _prepared(self, validator: Validator) -> Iterator[Array]:
        for start in range(0, self._X.shape[0], HOST_ROWS):
            with _named_place(start):
                part = validator.array(host(self[start : start + HOST_ROWS]), start == 0)
                yield validator.prepared(self.family, part)


def check_array_like(X: Any) -> None:
    """Raise TypeError for iterators and chunks, where rows in memory are needed."""
    if isinstance(X, Iterator):
        raise TypeError(
            f"wanted rows that can be read more than once, and {X!r} cannot. Give an array, or the "
            "function that makes the iterator: fit(em.Chunks(make))."
        )
    if isinstance(X, Chunks):
        raise TypeError(
            "rows in chunks are read by fit and resume, and by engines that learn batch by batch "
            "(em.ADF, em.EP, em.FullVB, em.StochasticVB, em.MemoizedVB). Give an array, or go "
            "through the chunks one by one."
        )


def _changed(now: int, before: int, about: str = "") -> str:
    return (
        f"there were {before} rows when they were first read, and now there are {about}{now}. Rows "
        "must come anew, and be the same, each time; give a function that makes a new iterator: "
        "em.Chunks(make)."
    )


@contextmanager
def _named_place(row: int) -> Iterator[None]:
    """Add the number of the first row to the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        if not row:
            raise
        raise ValueError(f"in rows from {row} on: {error}") from error
