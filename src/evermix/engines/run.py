"""The loops over batches, written once for every engine, and forgetting between steps.

An interrupt (Ctrl-C) waits for the step in progress, so that the state is always consistent. So
does a termination signal, if the program has a handler for it.
"""

import _signal  # what the module signal wraps in enumerations, which take longer than a row
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from evermix._xp import Bools, Floats, Ints
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info
from evermix.engines.shards import as_shards
from evermix.model import Model
from evermix.state import State

Observer: TypeAlias = Callable[[State, Info], None]
"""Called after every step with the new state, which it must not change, and what happened."""


def run(
    engine: Engine,
    model: Model,
    state: State,
    batches: Iterable[Batch],
    rng: Generator,
    observers: Iterable[Observer] = (),
) -> State:
    """Learn a stream of batches once, and call every observer after each.   Consumes: state."""
    observers = tuple(observers)
    for batch in batches:
        with interrupts_wait():
            state, info = learn(engine, model, state, batch, rng)
            model = info.model or model
            for observe in observers:
                observe(state, info)
    return state


def run_laps(
    engine: Engine,
    model: Model,
    state: State,
    batches: Sequence[Batch],
    rng: Generator,
    observers: Iterable[Observer] = (),
) -> State:
    """Make laps over the batches until the engine has finished, starting where the state is.

    Observers are called after every step and after every lap (then ``info.rows`` is 0).
    Consumes: state.
    """
    observers, shards = tuple(observers), as_shards(batches, state.memo)
    if state.lap == state.at == 0:
        with interrupts_wait():
            state = engine.begin(model, state, shards, rng)
    while state.at or not engine.finished(state):  # a lap that was begun is ended
        order = engine.order(state, len(shards)).tolist()
        while state.at < len(shards):
            keys = order[state.at : state.at + engine.together(state, shards)]
            with interrupts_wait():
                if model.forgetting is None:
                    state, info = engine.visit(model, state, shards, keys, rng)
                else:  # such engines read rows once
                    state, info = learn(engine, model, state, shards[keys[0]], rng)
                model = info.model or model
                state.at += len(keys)
                for observe in observers:
                    observe(state, info)
        with interrupts_wait():
            state, info = engine.end_lap(model, state, shards, rng)
            state.lap, state.at = state.lap + 1, 0
            for observe in observers:
                observe(state, info)
    return state


# ---- forgetting ----------------------------------------------------------------------------


def learn(
    engine: Engine, model: Model, state: State, batch: Batch, rng: Generator
) -> tuple[State, Info]:
    """Learn one batch, and scale the statistics where it forgets.   Consumes: state."""
    if model.forgetting is None or not len(batch.weights):
        return engine.step(model, state, batch, rng)
    counts = batch.weights > 0
    times = batch.times
    if times is None:
        times = np.maximum(state.clock + np.cumsum(counts, dtype=np.float64), 1.0)
    elif not counts.all():  # rows of weight zero do not move the time
        times = _filled_times(times, counts, state.now)
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
        model = info.model or model
        record_times(state, before, part, None if info.results is None else info.results.labels)
        parts.append(replace(info, dropped=dropped + info.dropped, merges=merges + info.merges))
    return state, Info.joined(parts)


def _filled_times(times: Floats, counts: Bools, now: float | None) -> Floats:
    """Return times (N,) in which rows of weight zero have the time of the last row that counts."""
    first = now if now is not None else times[np.argmax(counts)]
    last = np.maximum.accumulate(np.where(counts, np.arange(len(times)), -1))
    return np.where(last >= 0, times[last], first)


def record_times(state: State, before: int, batch: Batch, labels: Ints | None = None) -> None:
    """Write into the lineage when clusters were last seen, in a model that forgets.

    The column ``last_seen`` holds the clock when each cluster was last in use; without it, the
    ``labels`` (N,) of the rows count. ``before`` is the clock before the first row of the batch, of
    which some rows may not be learnt yet.
    """
    if batch.times is None or state.clock == before:
        return
    times = batch.times[batch.weights > 0]
    state.now = float(times[state.clock - before - 1])
    lineage = state.lineage
    lineage.last += [state.now] * (lineage.next_id - len(lineage.last))
    if "last_seen" in state.columns:
        seen = state.columns["last_seen"][: state.tally.K]
        for k in np.flatnonzero(seen > before):
            lineage.last[state.tally.ids[k]] = float(times[seen[k] - before - 1])
    elif labels is not None:
        for k, time in zip(labels[batch.weights > 0], times, strict=True):
            if k >= 0:
                lineage.last[k] = float(time)


# ---- interrupts ----------------------------------------------------------------------------


class interrupts_wait:
    """Hold back SIGINT and SIGTERM while a block runs, then deliver them.

    A class, since generators as contexts take longer than a row.
    """

    def __enter__(self) -> None:
        self._handlers: dict[int, Callable[..., Any]] = {}
        self._came: dict[int, FrameType | None] = {}
        if threading.current_thread() is not threading.main_thread():
            return
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                handler = _signal.getsignal(number)
                if callable(handler):  # else no Python handler would see the signal
                    self._handlers[number] = handler
                    _signal.signal(number, self._came.setdefault)
        except BaseException:  # of a handler that is not held yet
            self._restore()
            raise

    def __exit__(self, kind: Any, *error: object) -> None:
        self._restore()
        if kind is None:
            for number, frame in self._came.items():
                self._handlers[number](number, frame)

    def _restore(self) -> None:
        try:
            if signal.SIGINT in self._handlers:
                _signal.signal(signal.SIGINT, self._handlers[signal.SIGINT])
        finally:  # also if an interrupt comes just now
            if signal.SIGTERM in self._handlers:
                _signal.signal(signal.SIGTERM, self._handlers[signal.SIGTERM])
