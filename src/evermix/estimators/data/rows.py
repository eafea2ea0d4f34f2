"""Rows that users give: validated, and stored as families and engines want them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import _check_sample_weight, validate_data

from evermix._csr import DeviceCSR, is_foreign_csr
from evermix._xp import Array, alike, host, is_foreign, namespace, real
from evermix.engines.batch import ROWS, Batch, Batches
from evermix.estimators.data.fingerprint import RowHash
from evermix.estimators.data.tables import automatic_table, encoded, is_table
from evermix.families import (
    Bernoulli,
    Gaussian,
    LowRankGaussian,
    Mixed,
    Multinomial,
    VonMisesFisher,
)
from evermix.families.base import Family
from evermix.families.dense import MAX_FULL_COVARIANCE
from evermix.families.growing import grows

MAX_WEIGHT = 1e12  # above this, one row drowns the rest in rounding
UNIT_ROWS, UNIT_TOL = 100, 1e-3  # rows that are looked at, and how far lengths may be from 1
MIN_WEIGHT = 1e-200  # below this, weights times responsibilities underflow


class LazyRows(ABC):
    """Rows that are read when they are needed.

    Attributes
    ----------
    family : Family
        The family that the rows are prepared for.
    shape : (int, int)
        Rows and features.
    hash : RowHash
        Of all rows.
    """

    elsewhere: ClassVar[bool] = False
    """Whether rows and their results are on a device or a cluster, and take time to bring here."""

    family: Family
    shape: tuple[int, int]
    hash: RowHash

    def _survey(self, parts: Iterator[Array]) -> None:
        """Count the rows and compute their digest."""
        self.hash, n, width = RowHash(), 0, 0
        for part in parts:
            self.hash.update(part)
            n, width = n + part.shape[0], part.shape[1]
        self.shape = n, width

    @abstractmethod
    def __getitem__(self, some: Any) -> Array:
        """Return prepared rows, for a slice or for ascending numbers (M,)."""


Rows: TypeAlias = Array | LazyRows
"""Prepared rows in memory, or rows that are prepared when they are needed."""


def automatic_family(X: Array) -> Family:
    """Choose a family for validated rows X: counts, yes/no answers, directions or real vectors.

    Where values are missing, columns are independent.
    """
    if sparse.issparse(X):
        return Multinomial()
    if X.dtype.kind == "b":
        return Bernoulli()
    if X.dtype.kind in "iu" and (X.size == 0 or X.min() >= 0):
        return Multinomial()
    some = X if type(X) is np.ndarray else X[:ROWS]
    if some.dtype.kind == "f" and some.size and np.isnan(some.min()):
        return Mixed()
    if X.shape[1] <= MAX_FULL_COVARIANCE:
        return Gaussian()
    lengths = np.linalg.norm(X[:UNIT_ROWS].astype(np.float64), axis=1)
    return VonMisesFisher() if np.all(np.abs(lengths - 1.0) < UNIT_TOL) else LowRankGaussian()


def prepare_rows(
    family: Family, X: Array, digest: RowHash | None = None, estimator_name: str | None = None
) -> Array:
    """Return rows as the family stores them (float64, CSR or dense), or raise ValueError.

    Checks and digest go over the rows together, block by block, so that memory is read once.
    """
    if family.sparse:
        if type(X) is not sparse.csr_matrix or X.dtype != np.float64:
            X = sparse.csr_matrix(X, dtype=np.float64, copy=False)
        check_csr(X.data, X.indices, X.indptr, X.shape)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.ascontiguousarray(X, dtype=np.float64)
    n = X.shape[0]
    try:
        for start in range(0, n, ROWS):
            block = X if n <= ROWS else X[start : start + ROWS]
            _check_values(family, block, estimator_name)
            if digest is not None:
                digest.update(block)
    except ValueError:
        _check_values(family, X, estimator_name)  # whose message counts rows from the first
        raise
    return X


def _check_values(family: Family, X: Array, estimator_name: str | None) -> None:
    """Raise ValueError unless all values are finite, not too large and in the family's support.

    They may be missing where the family allows it.
    """
    values = X.data if family.sparse else X
    known = values[~np.isnan(values)] if family.missing else values
    largest = max(known.max(), -known.min()) if known.size else 0.0
    if not largest <= family.largest:
        if np.isnan(largest) and not family.sparse:
            raise ValueError(
                f"Input X contains NaN, but {type(family).__name__} needs every value. Use "
                "family=em.Mixed(), which integrates out what is missing, or leave out these rows."
            )
        assert_all_finite(
            X, allow_nan=family.missing, estimator_name=estimator_name, input_name="X"
        )
        raise ValueError(
            f"X holds values up to {largest:.3g}; beyond {family.largest:g} their sums overflow in "
            f"{type(family).__name__}. Rescale the features."
        )
    family.check(X)


class Validator:
    """Validates rows as scikit-learn does, but for finite values, which prepare_rows checks.

    Parameters
    ----------
    estimator : estimator
        Its ``n_features_in_`` and ``feature_names_in_`` are compared with the rows, or set.
    family : Family or None
        None if the rows decide.
    reset : bool
        Whether to set the number and the names of features.
    streaming : bool
        Whether rows of a family that grows may have another number of columns.
    learning : bool
        Whether levels of categories that are not known yet become known.
    """

    def __init__(
        self,
        estimator: Any,
        family: Family | None,
        reset: bool = False,
        streaming: bool = False,
        learning: bool = False,
    ) -> None:
        self.estimator, self.family, self.reset = estimator, family, reset
        self.learning = learning
        self.growing = streaming and grows(family)

    def array(self, X: Any, first: bool = True) -> Array:
        """Return an array or CSR matrix (N, D) of real numbers, which may not be finite.

        ``first`` says whether these are the first of several parts.
        """
        reset = self.reset and first
        if is_table(X):
            family = self._family_of_table(X)
            if family is not None:
                return self._table(family, X, reset)
        check_plain("X", X)
        self._forget_levels(reset)
        if not reset and self._is_valid(X):
            return X
        accept = "csr" if self.family is None or self.family.sparse else False
        if self.growing and not reset:
            return check_array(
                X, accept_sparse=accept, dtype="numeric", ensure_all_finite=False, input_name="X"
            )
        return validate_data(
            self.estimator,
            X,
            reset=reset,
            accept_sparse=accept,
            dtype="numeric",
            ensure_all_finite=False,
        )

    def family_of(self, X: Array) -> Family:
        """Return the family, or one that suits the validated rows X (N, D)."""
        family = automatic_family(X) if self.family is None else self.family
        return family.for_columns(X.shape[1]) if isinstance(family, Mixed) else family

    def _family_of_table(self, X: Any) -> Mixed | None:
        """Return the family for the columns of a table; None if it is taken as an array."""
        if isinstance(self.family, Mixed) and self.family.blocks is not None:
            return self.family
        if self.family is None or self.family.missing:
            return automatic_table(X)
        if isinstance(X, Mapping):
            raise TypeError(
                f"a dict of columns needs the family em.Mixed or 'auto', this is {self.family!r}."
            )
        return None

    def _table(self, family: Mixed, X: Any, reset: bool) -> Array:
        """Return the rows of a table as numbers, its columns in the order of the family."""
        known = {} if reset else vars(self.estimator).get("levels_", {})
        rows, levels = encoded(family, X, known, self.learning)
        if self.learning:
            self.family, self.estimator.levels_ = family, levels
        if reset:
            self.estimator.n_features_in_ = rows.shape[1]
            self.estimator.feature_names_in_ = np.array(list(map(str, family.names)), dtype=object)
        return rows

    def _forget_levels(self, reset: bool) -> None:
        """Forget the levels of a table before, or raise ValueError where they are needed."""
        if reset:
            vars(self.estimator).pop("levels_", None)
        elif "levels_" in vars(self.estimator):
            names = ", ".join(map(repr, self.estimator.feature_names_in_))
            raise ValueError(f"the model was fitted to a table: give one with columns {names}.")

    def prepared(self, family: Family, X: Array, digest: RowHash | None = None) -> Array:
        """Return the array X as the family stores rows, or raise ValueError."""
        return prepare_rows(family, X, digest, type(self.estimator).__name__)

    def _is_valid(self, X: Any) -> bool:
        """Whether scikit-learn would return these rows as they are, without a warning."""
        dense = type(X) is np.ndarray and X.ndim == 2
        counts = type(X) is sparse.csr_matrix and self.family is not None and self.family.sparse
        return (
            (dense or counts)
            and X.dtype == np.float64
            and X.shape[0] > 0
            and X.shape[1] == self.estimator.n_features_in_
            and "feature_names_in_" not in vars(self.estimator)
        )


def prepare_foreign(family: Family, X: Array, validator: Validator) -> Array:
    """Return rows of another library as the family stores them, where they are.

    They are checked there; if a check fails, the rows are copied to the host to raise ValueError
    with the usual message.
    """
    if X.ndim != 2 or not X.shape[0]:
        validator.array(host(X))
    rows = device_rows(X, family.sparse)
    validator.array(host(rows[: min(1, rows.shape[0]), :]))
    values = rows.data if family.sparse else rows
    xp, largest = namespace(values), 0.0
    if values.shape[0]:
        largest = float(xp.max(xp.abs(values)))  # not a number if any is not
    if not largest <= family.largest or not family.supports(rows):
        validator.prepared(family, validator.array(host(X)))
    return rows


def device_rows(X: Array, counts: bool) -> Array:
    """Return rows (N, D) of another library as real numbers where they are; counts as sparse."""
    if counts:
        X = DeviceCSR.of(X)
    elif is_foreign_csr(X):
        raise TypeError("sparse rows are counts: use em.Multinomial(), or give a dense array.")
    return real(X)


def check_plain(name: str, X: Any) -> None:
    """Raise TypeError for values that would silently be taken for other numbers."""
    if np.ma.isMaskedArray(X):
        raise TypeError(
            f"{name} must have no mask: masked values would be learnt as if they were known, got "
            "a masked array. Fill them in, or leave out these rows."
        )
    columns = getattr(X, "dtypes", None)  # of a data frame
    dtypes = [getattr(X, "dtype", None), *(columns if isinstance(columns, Iterable) else [])]
    if any(getattr(dtype, "kind", None) in ("m", "M") for dtype in dtypes):
        raise TypeError(
            f"{name} must hold numbers, got dates or durations. Turn them into numbers in a unit "
            "of your choice; the times of rows go into `times`."
        )


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


def prepare_weights(sample_weight: Any, X: Rows) -> NDArray[np.float64]:
    """Return one weight per row of X, (N,) float64, or raise ValueError."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    check_plain("sample_weight", sample_weight)
    if is_foreign(sample_weight):
        sample_weight = host(sample_weight)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    if weights.max() > MAX_WEIGHT:
        raise ValueError(
            f"sample_weight goes up to {weights.max():.3g}; beyond {MAX_WEIGHT:g} rounding drowns "
            "the prior and every other row. Divide the weights by a constant."
        )
    least = weights[weights > 0].min()
    if least < MIN_WEIGHT:
        raise ValueError(
            f"sample_weight goes down to {least:.3g}; below {MIN_WEIGHT:g} the mass of a row is "
            "lost in rounding. Multiply the weights by a constant, or set the smallest to 0."
        )
    return np.ascontiguousarray(weights)


def stack(parts: Sequence[Array]) -> Array:
    """Return prepared rows one below the other."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def together(batches: Sequence[Batch], start: int = 0) -> Batch:
    """Return the prepared rows of some batches as one batch, from row ``start`` on."""
    parts = []
    for batch in batches:
        if start < len(batch.weights):
            parts.append(batch.part(slice(start, None)) if start > 0 else batch)
        start -= len(batch.weights)
    X, weights, _, times = zip(*parts, strict=True)
    stamps = None if any(each is None for each in times) else np.concatenate(times)
    return Batch(stack(X), np.concatenate(weights), times=stamps)


class Cuts(Batches):
    """Rows in batches, cut when they are needed.

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
