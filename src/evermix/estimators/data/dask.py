"""Rows of Dask collections, which stay on the workers of their cluster."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from evermix._xp import Array, Bools, Ints
from evermix.distributed.client import current_client, lengths_of, result_of
from evermix.distributed.collections import Partition, partitions, stacked
from evermix.distributed.shards import ClusterShards
from evermix.engines.batch import ROWS
from evermix.engines.shards import Shard, Task
from evermix.estimators.data.fingerprint import RowHash
from evermix.estimators.data.levels import Levels, joined_levels
from evermix.estimators.data.rows import (
    LazyRows,
    Validator,
    prepare_rows,
    stack,
)
from evermix.estimators.data.tables import encoded, is_table
from evermix.estimators.data.whole import whole_columns
from evermix.estimators.data.written import Reading
from evermix.families import Mixed
from evermix.families.base import Family
from evermix.families.growing import grows, needed, widths, with_widths
from evermix.io.sources.dialect import Writing
from evermix.state import Record


@dataclass(frozen=True)
class Prepare:
    """Validate rows and prepare them for a family, where they are."""

    family: Family
    n_features: int
    names: tuple[Any, ...] | None = None  # of columns, where the first partition has them
    levels: Levels | None = None  # of the columns of tables
    written: Mapping[str, Writing] = field(default_factory=dict)  # of strings that are numbers

    def __call__(self, rows: Any) -> Array:
        """Return prepared rows (N, D), or raise ValueError."""
        rows = _read(self.family, rows, self.written)
        if self.levels is not None:
            assert isinstance(self.family, Mixed)
            return prepare_rows(
                self.family, encoded(self.family, rows, self.levels, False, first=True)[0]
            )
        names = _names(rows)
        if self.names is not None and names is not None and names != self.names:
            raise ValueError(
                f"the columns of one partition are {list(names)}, and those of the first "
                f"{list(self.names)}. All must have the same, in the same order."
            )
        accept = "csr" if self.family.sparse else False
        X = check_array(
            rows,
            accept_sparse=accept,
            dtype="numeric",
            ensure_min_samples=0,
            ensure_all_finite=False,  # which prepare_rows checks
        )
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features in one partition and {self.n_features} in the first. "
                "All rows must have the same."
            )
        return prepare_rows(self.family, X)


@dataclass(frozen=True)
class Survey(Task[RowHash]):
    """Compute the digest of rows."""

    size: int

    def of(self, shard: Shard, key: int) -> RowHash:
        """Return the digest of one batch."""
        digest = RowHash(key * self.size)
        digest.update(shard[key].X)
        return digest

    def joined(self, answers: Iterable[RowHash]) -> RowHash:
        """Return the digest of all."""
        digest = RowHash()
        for answer in answers:
            digest.add(answer)
        return digest


@dataclass(frozen=True)
class FindWhole(Task[Bools]):
    """Find the columns that hold whole numbers only."""

    def of(self, shard: Shard, key: int) -> Bools:
        """Return those of one batch, (D,)."""
        return whole_columns(shard[key].X)

    def joined(self, answers: Iterable[Bools]) -> Bools:
        """Return those of all."""
        return np.logical_and.reduce(list(answers))


class ClusterRows(LazyRows):
    """Rows of a Dask collection.

    Parameters
    ----------
    X : Dask collection (N, D)
    validator : Validator
    """

    elsewhere = True
    shards: ClusterShards

    def __init__(self, X: Any, validator: Validator) -> None:
        self._client, self._parts = current_client(), partitions(X)
        self._lengths = lengths_of(self._client, self._parts)
        some = [part for part, n in zip(self._parts, self._lengths, strict=True) if n]
        if not some:
            raise ValueError("wanted at least one row, the Dask collection holds none.")
        first = self._client.submit(_head, self._client.compute(some[0].rows))
        found = result_of(self._client, first)
        self._names, head = _names(found), validator.array(found)
        self.family = validator.family_of(head, levels=False)
        self.shape = sum(self._lengths), head.shape[1]
        self._levels: Levels | None = None
        self._kept = vars(validator.estimator)
        self._written = self._kept.get("written_", {})
        if widths(self.family) and not grows(self.family):
            self._make_room(validator, some)

    def _make_room(self, validator: Validator, parts: Sequence[Partition]) -> None:
        """Look for the levels of all partitions on the workers; they get codes in their order."""
        is_table, submit = "levels_" in vars(validator.estimator), self._client.submit
        find, family = _levels if is_table else _widths, self.family
        computed = [self._client.compute(part.rows) for part in parts]
        found = [submit(find, family, rows, self._written) for rows in computed]
        answers = [result_of(self._client, one) for one in found]
        if is_table:
            assert isinstance(self.family, Mixed)
            self._levels = joined_levels(self.family, answers)
            validator.estimator.levels_ = self._levels
            wide = [len(levels) for levels in self._levels.values()]
        else:
            wide = np.max([widths(self.family), *answers], axis=0).tolist()
        self.family = with_widths(self.family, tuple(wide))

    def place(self, weights: Array, size: int, records: dict[str, Record]) -> None:
        """Cut the rows into batches of this size, which the workers hold and validate."""
        prepare = Prepare(self.family, self.shape[1], self._names, self._levels, self._written)
        self.shards = ClusterShards(
            self._client, self._parts, self._lengths, weights, size, prepare, records
        )
        every, kept = range(len(self.shards)), self._kept
        self.hash = self.shards.do(Survey(self.shards.size), every)
        if not self.family.sparse:
            kept["whole_"] = self.shards.do(FindWhole(), every)

    def __getitem__(self, some: Any) -> Array:
        if isinstance(some, slice):
            some = np.arange(*some.indices(self.shape[0]))
        found = self.shards.rows(some)
        return stack([found[key] for key in sorted(found)])


def _names(rows: Any) -> tuple[Any, ...] | None:
    """Return the names of the columns of a data frame."""
    return tuple(rows.columns) if type(rows).__module__.startswith("pandas") else None


def _read(family: Family, rows: Any, written: Mapping[str, Writing]) -> Any:
    """Return rows with numbers in place of strings that are numbers."""
    return Reading.by(family, _names(rows), written)(rows)[0] if is_table(rows) else rows


def _levels(family: Mixed, part: Any, written: Mapping[str, Writing]) -> Levels:
    """Return the levels of a partition of a table."""
    return encoded(family, _read(family, stacked(part), written), {}, learning=True, first=True)[1]


def _widths(family: Family, part: Any, written: Mapping[str, Writing]) -> Ints:
    """Return how many levels the codes in a partition need, (W,)."""
    rows = _read(family, stacked(part), written)
    rows = check_array(rows, ensure_min_samples=0, ensure_all_finite=False)
    return needed(family, rows)[-1] if len(rows) else np.array(widths(family))


def _head(part: Any) -> Any:
    """Return the first rows of a partition."""
    return stacked(part)[:ROWS]
