"""The rows that a mixture is given, validated once where they enter."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Array, host, is_foreign
from evermix.distributed.collections import in_memory, is_collection, one_by_one
from evermix.engines.base import Engine
from evermix.engines.batch import ROWS
from evermix.engines.filters.keeping import FIRST as FIRST_REVIEW
from evermix.estimators.data.dask import ClusterRows
from evermix.estimators.data.fingerprint import RowHash
from evermix.estimators.data.lazy import ChunkedRows, ForeignRows, MappedRows, check_array_like
from evermix.estimators.data.rows import LazyRows, Rows, Validator, prepare_foreign
from evermix.estimators.data.tables import check_gaps, check_seen
from evermix.estimators.data.weights import prepare_weights
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.mixture.settings import Settings
from evermix.estimators.resolve import WARMUP
from evermix.families import Mixed
from evermix.families.base import Family
from evermix.families.growing import for_levels, grows, with_room
from evermix.io.chunks import Chunks
from evermix.io.libraries import batches_of, loaded


class Validated(NamedTuple):
    """Rows to learn.

    Attributes
    ----------
    family : Family
        The family that the rows are prepared for; its hyperparameters may be open.
    X : Rows (N, D)
    weights : array (N,)
    """

    family: Family
    X: Rows
    weights: NDArray[np.float64]


def rows_to_fit(
    mix: Any, settings: Settings, X: Any, sample_weight: Any, learner: Learner | None = None
) -> tuple[Validated, RowHash]:
    """Return validated rows of a fit and their digest.

    They may stay where they are, if the engine reads batches. ``learner`` is given where a fit is
    resumed; otherwise these rows set the number of features.
    """
    engine = settings.engine
    family = settings.family if learner is None else learner.model.family
    validator = Validator(mix, family, reset=learner is None, learning=True)
    X = X if engine.whole or batches_of(X) is None else Chunks(X)
    rows = None if engine.whole else _lazy_rows(validator, engine, X)
    if rows is None:
        digest = RowHash()
        return _in_memory(validator, X, sample_weight, digest), digest
    if not isinstance(rows, ClusterRows):  # which have looked for levels on their workers
        parts = (rows[start : start + ROWS] for start in range(0, rows.shape[0], ROWS))
        rows.family = for_levels(rows.family, parts)
    weights = prepare_weights(sample_weight, rows)
    if isinstance(rows, ClusterRows):
        engine.check(settings.model(rows.family))  # before rows are loaded
        records = {} if learner is None else engine.records(learner.state)
        rows.place(weights, engine.batch_rows(*rows.shape), records)
    if isinstance(rows.family, Mixed) and learner is None:
        check_gaps(rows.family, rows, ROWS)  # not all, since they may not fit into memory
    return Validated(rows.family, rows, weights), rows.hash


def rows_to_stream(
    mix: Any, settings: Settings, X: Any, sample_weight: Any, learner: Learner | None = None
) -> Validated:
    """Return validated rows of a stream, in memory; ``learner`` is that of the rows before.

    While rows wait, those that come may still change the family that "auto" chooses.
    """
    begun = None if learner is None else learner.model.family
    decided = learner is not None and (learner.started or "levels_" in vars(mix))
    validator = Validator(
        mix,
        begun if decided or settings.family is not None and begun is not None else settings.family,
        reset=learner is None,
        streaming=True,
        learning=True,
        before=[] if learner is None else [batch.X for batch in learner.waiting],
        enough=FIRST_REVIEW if settings.automatic else WARMUP,
        provisional=begun,
    )
    return _in_memory(validator, X, sample_weight)


def rows_to_score(mix: Any, family: Family, X: Any) -> Array:
    """Return validated rows (N, D) to score; those of other libraries stay where they are."""
    validator = Validator(mix, family, streaming=True)
    if type(X) is not np.ndarray:
        X = loaded(X)
        check_array_like(X)
        if is_collection(X):
            X = in_memory(X)
        if is_foreign(X):
            return prepare_foreign(family, X, validator)
    rows = validator.prepared(family, validator.array(X))
    return with_room(family, rows) if grows(family) else rows


def _in_memory(
    validator: Validator, X: Any, sample_weight: Any, digest: RowHash | None = None
) -> Validated:
    if type(X) is not np.ndarray:
        X = loaded(X)
        check_array_like(X)
        if is_collection(X):
            X = in_memory(X)
        if is_foreign(X):
            X = host(X)
    X = validator.array(X)
    family = validator.family_of(X)
    rows = validator.prepared(family, X, digest)
    if isinstance(family, Mixed):
        check_seen(rows, family.names, whole=digest is not None)
        if validator.reset and digest is not None:
            check_gaps(family, rows)
    if digest is not None:
        family = for_levels(family, [rows])
    return Validated(family, rows, prepare_weights(sample_weight, rows))


def _lazy_rows(validator: Validator, engine: Engine, X: Any) -> LazyRows | None:
    """Return rows that are read batch by batch, or None if they are an array in memory."""
    if is_collection(X):
        if engine.divides:
            return ClusterRows(X, validator)
        X = one_by_one(X)
    if isinstance(X, Chunks):
        return ChunkedRows(X, validator)
    if is_foreign(X) and engine.foreign:
        return ForeignRows(X, validator)
    return MappedRows(X, validator) if isinstance(X, np.memmap) else None
