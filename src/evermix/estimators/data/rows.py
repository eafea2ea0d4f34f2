"""Rows that users give: validated, and stored as families and engines want them."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import validate_data

from evermix._csr import DeviceCSR, is_foreign_csr
from evermix._xp import Array, alike, host, is_foreign, namespace, real
from evermix.engines.batch import ROWS, Batch, Batches
from evermix.estimators.columns_in_words import kinds_in_a_line
from evermix.estimators.data.checks import check_csr, check_plain, word_in
from evermix.estimators.data.fingerprint import RowHash
from evermix.estimators.data.table_family import automatic_table
from evermix.estimators.data.tables import encoded, in_order_of, is_table, known_columns
from evermix.estimators.data.texts import counter_of
from evermix.estimators.data.whole import whole_columns
from evermix.estimators.data.written import Reading
from evermix.families import Mixed
from evermix.families.base import Family
from evermix.families.choosing import FEW_WORDS, choose, has_gaps
from evermix.families.growing import grows
from evermix.io.sources.dialect import Writing

LOG = logging.getLogger("evermix")


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
        X = np.ascontiguousarray(densified(X), dtype=np.float64)
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
    before : sequence of arrays
        Rows of a stream that wait for the family to be chosen.
    enough : int or None
        How many rows of a stream choose the family; None if the rows are all there are.
    provisional : Family or None
        The family until then.
    """

    def __init__(
        self,
        estimator: Any,
        family: Family | None,
        reset: bool = False,
        streaming: bool = False,
        learning: bool = False,
        before: Sequence[Array] = (),
        enough: int | None = None,
        provisional: Family | None = None,
    ) -> None:
        self.provisional = provisional
        self.estimator, self.family, self.reset = estimator, family, reset
        self.learning, self.before, self.enough = learning, before, enough
        self.streaming = streaming
        self.growing = streaming and grows(family)
        self._first = reset  # whether no rows were prepared yet, nor learnt before

    def array(self, X: Any, first: bool = True) -> Array:
        """Return an array or CSR matrix (N, D) of real numbers, which may not be finite.

        ``first`` says whether these are the first of several parts.
        """
        reset, kept = self.reset and first, vars(self.estimator)
        written: dict[str, Writing] = {}
        named = not is_table(X) and "column_names_" in kept  # units are given with such names
        if is_table(X):
            known = {} if reset else kept.get("written_", {})
            names = None if reset else kept.get("feature_names_in_")
            X, written = Reading.by(self.family, names, known)(X)
        rows = self._array(X, reset)
        if self.learning and not named:
            self._note(written, reset)
        return rows

    def _array(self, X: Any, reset: bool) -> Array:
        if is_table(X):
            family = self._family_of_table(X)
            if family is not None:
                return self._table(family, X, reset)
            if not self.learning:
                X = known_columns(X, vars(self.estimator).get("feature_names_in_"))
        if self.learning and not reset and counter_of(self.estimator, X) is not None:
            raise TypeError(
                "X must hold counts of words, got texts. text_counter_.counts(texts) counts the "
                "words that the model knows; `evermix stream FILE --resume` learns new ones too."
            )
        check_plain("X", X)
        self._forget(reset)
        if not reset and self._is_valid(X):
            return X
        check = partial(validate_data, self.estimator, reset=reset)
        if self.growing and not reset:
            check = partial(check_array, input_name="X")
        accept = "csr" if self._takes_sparse(reset) else False
        try:
            rows = check(X, accept_sparse=accept, dtype="numeric", ensure_all_finite=False)
            return rows.astype(np.float64) if rows.dtype == object else rows  # None is missing
        except ValueError as error:
            if (plainer := word_in(X)) is not None:
                raise plainer from error
            raise

    def family_of(self, X: Array, levels: bool = True) -> Family:
        """Return the family, or one that suits the validated rows X (N, D), and tell why.

        ``levels`` says whether columns of arrays may be taken for levels.
        """
        family = self.family
        if family is None:
            n = X.shape[0] + sum(map(len, self.before))
            few = self.enough is not None and n < self.enough
            if few and self.provisional is not None and not has_gaps(X):
                return self.provisional
            if self.before:
                X = np.vstack([*self.before, densified(X)])
            family, why = choose(X, levels, self.enough)
            self._chose(family, why, final=not few)
        return family.for_columns(X.shape[1]) if isinstance(family, Mixed) else family

    def _chose(self, family: Family, why: str, final: bool = True) -> None:
        self.estimator.family_reason_ = why
        if final:
            LOG.info("the family is %s: %s.", type(family).__name__, why)

    def _takes_sparse(self, reset: bool) -> bool:
        """Whether rows may be sparse: as counts, or as few columns that "auto" makes dense."""
        if self.family is None or self.family.sparse:
            return True
        automatic = getattr(self.estimator, "family", None) == "auto" and not reset
        return automatic and self.estimator.n_features_in_ <= FEW_WORDS

    def _note(self, written: dict[str, Writing], reset: bool) -> None:
        """Keep how the numbers of a table were written, with what is known of rows before."""
        kept = vars(self.estimator)
        known = kept.pop("written_", {})
        if written or (known and not reset):
            self.estimator.written_ = written if reset else known | written

    def _family_of_table(self, X: Any) -> Mixed | None:
        """Return the family for the columns of a table; None if it is taken as an array."""
        if isinstance(self.family, Mixed) and self.family.blocks is not None:
            return self.family if isinstance(self.family.names[0], str) else None
        if self.before:  # arrays
            return None
        if self.family is None or self.family.missing:
            return automatic_table(X, whole=self.enough is None)
        if isinstance(X, Mapping):
            raise TypeError(
                f"a dict of columns needs the family em.Mixed or 'auto', this is {self.family!r}."
            )
        return None

    def _table(self, family: Mixed, X: Any, reset: bool) -> Array:
        """Return the rows of a table as numbers, its columns in the order of the first table."""
        if reset:
            family = in_order_of(X, family)
        known = {} if reset else vars(self.estimator).get("levels_", {})
        may_lack = self.streaming or not self.learning  # rows of a fit are always the same
        rows, levels = encoded(family, X, known, self.learning, reset, may_lack)
        if reset:
            self._forget(reset)
            if self.family is None:
                self._chose(family, f"columns are taken as {kinds_in_a_line(family)}")
        if self.learning:
            self.family, self.estimator.levels_ = family, levels
        if reset:
            self.estimator.n_features_in_ = rows.shape[1]
            self.estimator.feature_names_in_ = np.array(list(map(str, family.names)), dtype=object)
        return rows

    def _forget(self, reset: bool) -> None:
        """Forget what was chosen for rows before, or raise ValueError where levels are needed."""
        if reset:
            for name in ("levels_", "family_reason_", "text_counter_", "whole_"):
                vars(self.estimator).pop(name, None)
        elif "levels_" in vars(self.estimator):
            names = ", ".join(map(repr, self.estimator.feature_names_in_))
            raise ValueError(f"the model was fitted to a table: give one with columns {names}.")

    def prepared(self, family: Family, X: Array, digest: RowHash | None = None) -> Array:
        """Return the array X as the family stores rows, or raise ValueError."""
        rows = prepare_rows(family, X, digest, type(self.estimator).__name__)
        kept = vars(self.estimator)
        if self.learning and not family.sparse and (self._first or "whole_" in kept):
            kept["whole_"] = whole_columns(rows, None if self._first else kept["whole_"])
            self._first = False
        return rows

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


def densified(X: Any) -> Array:
    """Return rows as a dense array; "auto" makes few sparse columns of fractions dense."""
    return getattr(X, "toarray", lambda: X)() if sparse.issparse(X) else X


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
