"""Streams whose rows get more columns: the state follows, between two rows.

Where that happens depends on the rows alone, so that the cuts of a stream change nothing.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from evermix.engines.batch import Batch
from evermix.families.base import Family
from evermix.families.growing import (
    Widths,
    forgotten,
    grows,
    needed,
    resized,
    room,
    wide_enough,
    widened,
    widths,
    with_widths,
)
from evermix.lookback import Lookback, Recent
from evermix.model import Model
from evermix.state import State


def stretches(family: Family, batch: Batch) -> Iterator[tuple[Widths, Batch]]:
    """Cut rows where they need more words or levels than those before; yield what they need."""
    if not widths(family):
        yield (), batch
        return
    X, weights, key, times = batch
    ends, start = needed(family, X), 0
    while start < len(weights):
        family = with_widths(family, wide := wide_enough(family, ends[start]))
        end = start + int(np.searchsorted((ends[start:] > wide).any(axis=1), True))
        some = slice(start, end)
        rows = resized(X[some], wide[0]) if grows(family) else X[some]
        yield wide, Batch(rows, weights[some], key, None if times is None else times[some])
        start = end


def first_rows(family: Family, batch: Batch) -> Batch:
    """Return the rows that a stream begins with, in the columns that it begins with."""
    if not grows(family):
        return batch
    n_features = family.n_features or room(1)
    X = batch.X[:, : min(n_features, batch.X.shape[1])]
    return batch._replace(X=resized(X, n_features))


def widen(model: Model, state: State, wide: Widths) -> tuple[Model, State]:
    """Return a model and a state with room for more words or levels."""
    family, tally = widened(model.family, state.tally, wide)
    state = replace(state, tally=tally)
    if grows(family):
        state = _with_rows(state, lambda X: resized(X, wide[0]))
    return replace(model, family=family), state


def forget_columns(model: Model, state: State | None, columns: Any) -> State:
    """Return the state, if there is one, without what was learnt of some columns.

    TypeError or ValueError: there are no such columns.
    """
    if not grows(model.family):
        raise TypeError(
            f"{model.family!r} has no columns to forget: use Multinomial(growing=True)."
        )
    columns = np.unique(np.asarray(columns, dtype=np.int64))
    if state is None or not np.isin(columns, np.arange(state.tally.size - 1)).all():
        raise ValueError(f"columns to forget must be some of those learnt, got {columns.tolist()}.")

    def without(X: Any) -> Any:
        X = X.copy()
        X.data[np.isin(X.indices, columns)] = 0.0
        X.eliminate_zeros()
        return X

    return _with_rows(replace(state, tally=forgotten(state.tally, columns)), without)


def _with_rows(state: State, change: Any) -> State:
    """Return a state whose rows that are kept are changed."""

    def changed(lookback: Lookback) -> Lookback:
        parts = [part._replace(X=change(part.X)) for part in lookback.parts]
        return Lookback(lookback.complete, parts)

    lookback, recent = state.lookback, state.recent
    if lookback is not None:
        lookback = changed(lookback)
    if recent is not None:
        before = recent.before._replace(X=change(recent.before.X))
        recent = Recent(before, changed(recent.since), recent.left)
    return replace(state, lookback=lookback, recent=recent)
