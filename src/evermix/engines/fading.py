"""Learning while forgetting: the same for every engine that learns rows once."""

from dataclasses import replace

import numpy as np

from evermix._xp import Array
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info, RowResults
from evermix.model import Model
from evermix.state import State


def learn(
    engine: Engine, model: Model, state: State, batch: Batch, rng: np.random.Generator
) -> tuple[State, Info]:
    """Learn one batch, and scale what was learnt before whenever it is time.   Consumes: state."""
    if model.forgetting is None or not len(batch.weights):
        return engine.step(model, state, batch, rng)
    counts = batch.weights > 0
    times = batch.times
    if times is None:
        times = np.maximum(state.clock + np.cumsum(counts, dtype=np.float64), 1.0)
    elif not counts.all():  # rows that teach nothing stop no clock either
        times = _held(times, counts, state.now)
    parts: list[Info] = []
    for rows, factor, tidy, faded in model.forgetting.stretches(times, state.faded):
        dropped: list[int] = []
        merges: list[tuple[int, int]] = []
        if factor < 1.0 and state.tally.K:
            engine.fade(model, state, factor)
            if tidy:
                dropped, merges = engine.tidy(model, state)
        state.faded, before = faded, state.clock
        part = Batch(batch.X[rows], batch.weights[rows], batch.key, times[rows])
        state, info = engine.step(model, state, part, rng)
        note_times(state, before, part)
        parts.append(replace(info, dropped=dropped + info.dropped, merges=merges + info.merges))
    return state, _together(parts)


def _held(times: Array, counts: Array, now: float | None) -> Array:
    """Return times (N,) at which rows of no weight have the time of the last row that counts."""
    first = now if now is not None else times[np.argmax(counts)]
    last = np.maximum.accumulate(np.where(counts, np.arange(len(times)), -1))
    return np.where(last >= 0, times[last], first)


def note_times(state: State, before: int, batch: Batch) -> None:
    """Remember when clusters were last seen, in a model that forgets.

    ``before`` is the clock before the first row of the batch, of which some may be learnt so far.
    """
    if batch.times is None or state.clock == before:
        return
    times = batch.times[batch.weights > 0]
    state.now = float(times[state.clock - before - 1])
    lineage, seen = state.lineage, state.columns["last_seen"][: state.tally.K]
    lineage.last += [state.now] * (lineage.next_id - len(lineage.last))
    for k in np.flatnonzero(seen > before):
        lineage.last[state.tally.ids[k]] = float(times[seen[k] - before - 1])


def _together(parts: list[Info]) -> Info:
    """Return what happened in all parts of a batch."""
    results = [info.results for info in parts if info.results is not None]
    return replace(
        parts[-1],
        rows=sum(info.rows for info in parts),
        births=[k for info in parts for k in info.births],
        dropped=[k for info in parts for k in info.dropped],
        merges=[pair for info in parts for pair in info.merges],
        log_predictive=sum(info.log_predictive for info in parts),
        seconds=sum(info.seconds for info in parts),
        results=RowResults(*(np.concatenate(values) for values in zip(*results, strict=True))),
    )
