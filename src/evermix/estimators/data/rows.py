"""From what the user gave to rows that nothing inside need doubt."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from evermix._csr import DeviceCSR, is_foreign_csr
from evermix._xp import Array, alike, host, is_foreign, namespace, real
from evermix.engines.batch import ROWS, Batch, Batches
from evermix.estimators.data.fingerprint import RowHash
from evermix.families import Bernoulli, DiagonalGaussian, Gaussian, Multinomial
from evermix.families.base import Family
from evermix.forgetting import Exponential

FULL_COVARIANCE = 32  # features up to which "auto" takes full covariances
HEAVIEST = 1e12  # beyond this one row drowns the rest in rounding
LIGHTEST = 1e-200  # below this, weights times responsibilities underflow


class LazyRows(ABC):
    """Rows that are read when they are asked for.

    Attributes
    ----------
    family : Family
        What the rows are prepared for.
    shape : (int, int)
        Rows and features.
    hash : RowHash
        Of all rows.
    """

    family: Family
    shape: tuple[int, int]
    hash: RowHash

    def _survey(self, parts: Iterator[Array]) -> None:
        """Look at all rows once."""
        self.hash, n, width = RowHash(), 0, 0
        for part in parts:
            self.hash.update(part)
            n, width = n + part.shape[0], part.shape[1]
        self.shape = n, width

    @abstractmethod
    def __getitem__(self, some: Any) -> Array:
        """Return prepared rows, for a slice or for ascending numbers (M,)."""


Rows: TypeAlias = Array | LazyRows
"""Prepared rows in memory, or rows that are prepared when they are asked for."""


def automatic_family(X: Array) -> Family:
    """Choose a family for validated rows X: counts, yes/no answers, or real vectors."""
    if sparse.issparse(X):
        return Multinomial()
    if X.dtype.kind == "b":
        return Bernoulli()
    if X.dtype.kind in "iu" and (X.size == 0 or X.min() >= 0):
        return Multinomial()
    return Gaussian() if X.shape[1] <= FULL_COVARIANCE else DiagonalGaussian()


def prepare_rows(family: Family, X: Array) -> Array:
    """Return rows as the family wants them (float64, CSR or dense), or raise ValueError."""
    if family.sparse:
        X = sparse.csr_matrix(X, dtype=np.float64, copy=False)
        check_csr(X.data, X.indices, X.indptr, X.shape)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.ascontiguousarray(X, dtype=np.float64)
    values = X.data if family.sparse else X
    largest = max(values.max(), -values.min()) if values.size else 0.0
    if largest > family.largest:
        raise ValueError(
            f"X holds values up to {largest:.3g}; beyond {family.largest:g} their sums overflow in "
            f"{type(family).__name__}. Rescale the features."
        )
    family.check(X)
    return X


def prepare_foreign(family: Family, X: Array, validate: Callable[[Any], Array]) -> Array:
    """Return rows of another library as the family wants them, where they are, or raise ValueError.

    They are looked at there. Where something is amiss, ``validate`` and the family say what it is,
    of the rows in the memory of the host.
    """
    if X.ndim != 2 or not X.shape[0]:
        validate(host(X))
    rows = device_rows(X, family.sparse)
    validate(host(rows[: min(1, rows.shape[0]), :]))
    values = rows.data if family.sparse else rows
    xp, largest = namespace(values), 0.0
    if values.shape[0]:
        largest = float(xp.max(xp.abs(values)))  # not a number if any is not
    if not largest <= family.largest or not family.supports(rows):
        prepare_rows(family, validate(host(X)))
    return rows


def device_rows(X: Array, counts: bool) -> Array:
    """Return rows (N, D) of another library as real numbers where they are; counts as sparse."""
    if counts:
        X = DeviceCSR.of(X)
    elif is_foreign_csr(X):
        raise TypeError("sparse rows are counts: use em.Multinomial(), or give a dense array.")
    return real(X)


def check_csr(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
    """Raise ValueError unless these are the parts of a CSR matrix, which SciPy takes on trust."""
    n, n_features = shape
    kinds = indices.dtype.kind == indptr.dtype.kind == "i" and data.ndim == indices.ndim == 1
    whole = kinds and indptr.shape == (n + 1,) and indptr[0] == 0 and np.all(np.diff(indptr) >= 0)
    if not whole or not len(indices) == len(data) >= indptr[-1]:
        raise ValueError("the rows of the sparse matrix do not begin and end inside its data.")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
        raise ValueError(
            f"the sparse matrix has {n_features} columns, but entries in columns from "
            f"{indices.min()} to {indices.max()}. Build it anew."
        )


def prepare_weights(sample_weight: Any, X: Rows) -> Array:
    """Return one weight per row of X, (N,) float64, or raise ValueError."""
    if is_foreign(sample_weight):
        sample_weight = host(sample_weight)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    if weights.max() > HEAVIEST:
        raise ValueError(
            f"sample_weight goes up to {weights.max():.3g}; beyond {HEAVIEST:g} rounding drowns "
            "the prior and every other row. Divide the weights by a constant."
        )
    least = weights[weights > 0].min()
    if least < LIGHTEST:
        raise ValueError(
            f"sample_weight goes down to {least:.3g}; below {LIGHTEST:g} the mass of a row is lost "
            "in rounding. Multiply the weights by a constant, or set the smallest to 0."
        )
    return np.ascontiguousarray(weights)


def prepare_times(
    times: Any, n: int, forgetting: Exponential | None, since: float | None = None
) -> Array | None:
    """Return one time per row (n,) float64, dates as seconds, or raise TypeError or ValueError.

    ``since`` is the time of the row before the first.
    """
    if forgetting is None and times is not None:
        raise ValueError(
            "times were given, but the model forgets nothing. Set "
            "forgetting=em.Exponential(half_life=...), or leave times out."
        )
    if times is None:
        if forgetting is not None and forgetting.dated:
            raise ValueError("half_life is a timedelta, so every row needs a date: give times.")
        return None
    assert forgetting is not None
    stamps = np.asarray(times)
    if stamps.shape != (n,):
        raise ValueError(f"times must have one entry per row, ({n},), got shape {stamps.shape}.")
    stamps = _as_numbers(stamps, forgetting.dated)
    if not np.all(np.isfinite(stamps)):
        row = int(np.argmin(np.isfinite(stamps)))
        raise ValueError(f"times must be finite, got {np.asarray(times)[row]} in row {row}.")
    back = np.flatnonzero(np.diff(stamps, prepend=stamps[0] if since is None else since) < 0)
    if len(back):
        row = int(back[0])
        before = f"row {row - 1}" if row else "the last row that was learnt"
        raise ValueError(
            f"times must not go back: row {row} ({np.asarray(times)[row]}) comes before {before}. "
            "Sort the rows by time."
        )
    return np.ascontiguousarray(stamps)


def _as_numbers(stamps: Array, dated: bool) -> Array:
    """Return times (n,) as float64, in seconds where they are dates, or raise TypeError."""
    if stamps.dtype.kind == "O":  # dates of the standard library, or of a data frame
        try:
            stamps = _in_utc(stamps) if dated else stamps.astype(np.float64)
        except (TypeError, ValueError) as error:
            wanted = "dates" if dated else "numbers"
            raise TypeError(f"times must be {wanted}, got {stamps[0]!r}: {error}.") from error
    if dated != (stamps.dtype.kind == "M"):
        raise TypeError(
            f"half_life is {'a timedelta' if dated else 'a number'}, so times must be "
            f"{'dates' if dated else 'numbers'}, got {stamps.dtype}. For dates use "
            "em.Exponential(half_life=timedelta(days=7))."
        )
    if not dated:
        if stamps.dtype.kind not in "iuf":
            raise TypeError(f"times must be numbers or dates, got {stamps.dtype}.")
        return stamps.astype(np.float64)
    seconds = (stamps - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    return np.asarray(seconds, dtype=np.float64)


def _in_utc(dates: Array) -> Array:
    """Return dates (n,), perhaps with time zones, as datetime64 of UTC."""

    def plain(when: Any) -> Any:  # NumPy would warn that it keeps no zones
        zoned = isinstance(when, datetime) and when.tzinfo is not None
        return when.astimezone(UTC).replace(tzinfo=None) if zoned else when

    return np.array([plain(when) for when in dates], dtype="datetime64[us]")


def stack(parts: list[Array]) -> Array:
    """Return prepared rows one below the other."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


class Cuts(Batches):
    """Rows in batches, cut when they are asked for.

    Parameters
    ----------
    X : Rows (N, D)
    weights : array (N,)
    size : int
        Rows in a batch.
    times : array (N,) or None
    """

    def __init__(
        self, X: Rows, weights: Array, size: int = ROWS, times: Array | None = None
    ) -> None:
        self._X, self._weights, self.size, self._times = X, weights, max(size, 1), times

    def __len__(self) -> int:
        return -(-len(self._weights) // self.size)

    def __getitem__(self, key: Any) -> Any:
        if not 0 <= key < len(self):
            raise IndexError(key)
        if len(self) == 1 and not isinstance(self._X, LazyRows):
            return Batch(self._X, self._weights, times=self._times)
        X, weights = self._X[self._some(key)], self.weights_of(key)
        times = None if self._times is None else self._times[self._some(key)]
        return Batch(X, alike(weights, X) if is_foreign(X) else weights, key, times)

    def weights_of(self, key: int) -> Array:
        """Return the weights (N,) of a batch."""
        return self._weights[self._some(key)]

    def _some(self, key: int) -> slice:
        return slice(key * self.size, (key + 1) * self.size)
