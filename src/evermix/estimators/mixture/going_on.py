"""Learners that go on: as a stream after a fit, and back to what was before a change by hand."""

from copy import copy, deepcopy
from dataclasses import replace
from typing import Any

from evermix.engines.base import Engine
from evermix.estimators.mixture.fit_results import rows_learnt
from evermix.estimators.mixture.learner import Learner


def checked_engine(learner: Learner, engine: Engine, resume: bool = False) -> Engine:
    """Return an engine that may replace that of a learner, or raise TypeError or ValueError.

    A stream goes on with any settings of the same engine, a fit with those that may change.
    """
    if engine is not learner.engine:
        if type(engine) is not type(learner.engine):
            raise ValueError(
                f"the model was begun with the engine {type(learner.engine).__name__}, got "
                f"{engine!r}. Set the engine back, or call fit."
            )
        engine.check(learner.model)
    if resume:
        engine.check_change(learner.engine, learner.state)
    return engine


def as_stream(mix: Any) -> None:
    """Let a model that was fitted by an engine that returns to its rows go on without it."""
    if isinstance(mix.engine, Engine) and not mix.engine.streams:
        mix.set_params(engine=None)


def live(fit: Learner, engine: Engine) -> Learner:
    """Return a learner that goes on, with an engine that streams, from what a fit has learnt."""
    model, state, _ = fit.fitted.point
    engine.check(model)
    learner = Learner(engine, model, fit.random_state)
    clock, lineage = rows_learnt(fit), deepcopy(fit.state.lineage)  # laps do not count
    # Neither do rows have an order, so that it is not known when clusters began.
    lineage.born, lineage.found = [0] * lineage.next_id, {}
    before = replace(fit.state, lineage=lineage, clock=clock)
    learner.state = engine.continued(model, fit.engine.believed(state), before)
    learner.rng, learner.started, learner.history = fit.rng, True, fit.history.copy()
    learner.results = fit.results
    return learner


def kept(learner: Learner) -> Learner:
    """Return a learner as it is now, to go back to while nothing is learnt.

    Changes by hand make new states, so that the present one need not be copied.
    """
    learner.collect()
    same = copy(learner)
    same.history, same.calendar = learner.history.copy(), deepcopy(learner.calendar)
    same.before, same.first_answers = None, copy(learner.first_answers)
    return same
