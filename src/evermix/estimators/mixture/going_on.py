"""Learners that go on: as a stream after a fit, and back to what was before a change by hand."""

from copy import copy, deepcopy
from dataclasses import replace

from evermix.engines.base import Engine
from evermix.estimators.mixture.fit_results import rows_learnt
from evermix.estimators.mixture.learner import Learner


def live(fit: Learner, engine: Engine) -> Learner:
    """Return a learner that goes on, with an engine that streams, from what a fit has learnt."""
    model, state, _ = fit.fitted.point
    engine.check(model)
    learner = Learner(engine, model, fit.random_state)
    clock, lineage = rows_learnt(fit), deepcopy(fit.state.lineage)  # laps do not count
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
    same.before = None
    return same
