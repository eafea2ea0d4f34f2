"""The loops over batches, written once for every engine.

An interrupt (Ctrl-C) waits for the step in progress, so that the state is always whole. So does a
termination, where the program has a handler for it.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

import numpy as np

from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info
from evermix.engines.fading import learn
from evermix.engines.shards import placed
from evermix.model import Model
from evermix.state import State

Observer: TypeAlias = Callable[[State, Info], None]
"""Called after every step with the new state, which it must not change, and what happened."""


def run(
    engine: Engine,
    model: Model,
    state: State,
    batches: Iterable[Batch],
    rng: np.random.Generator,
    observers: Iterable[Observer] = (),
) -> State:
    """Step once through a stream of batches, telling every observer.   Consumes: state."""
    observers = tuple(observers)
    for batch in batches:
        with interrupts_wait():
            state, info = learn(engine, model, state, batch, rng)
            for observe in observers:
                observe(state, info)
    return state


def run_laps(
    engine: Engine,
    model: Model,
    state: State,
    batches: Sequence[Batch],
    rng: np.random.Generator,
    observers: Iterable[Observer] = (),
) -> State:
    """Go round the batches until the engine has finished, from where the state stands.

    Observers are told after every step and after every lap (then ``info.rows`` is 0).
    Consumes: state.
    """
    observers, shards = tuple(observers), placed(batches, state.memo)
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
                else:  # by an engine that sees rows once
                    state, info = learn(engine, model, state, shards[keys[0]], rng)
                state.at += len(keys)
                for observe in observers:
                    observe(state, info)
        with interrupts_wait():
            state, info = engine.end_lap(model, state, shards, rng)
            state.lap, state.at = state.lap + 1, 0
            for observe in observers:
                observe(state, info)
    return state


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Hold back SIGINT and SIGTERM until the block ends, then deliver them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _held(signal.SIGTERM), _held(signal.SIGINT):
        yield


@contextmanager
def _held(number: signal.Signals) -> Iterator[None]:
    before = signal.getsignal(number)
    if not callable(before):  # nothing in Python would notice
        yield
        return
    frames: list[FrameType | None] = []
    signal.signal(number, lambda _, frame: frames.append(frame))
    try:
        yield
    finally:
        signal.signal(number, before)
    if frames:
        before(number, frames[0])
