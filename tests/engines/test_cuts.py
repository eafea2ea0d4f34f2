"""Cutting a stream changes no bit, wherever it is cut and whatever the rows weigh."""

import numpy as np
import pytest

import evermix.engines.filters.filter as filter
from evermix import ADF, NGGP
from evermix.engines.batch import Batch
from evermix.families import FAMILIES
from evermix.state import State
from helpers.engine_cases import model_for


@pytest.mark.parametrize("name", FAMILIES)
def test_batches_of_one_row_and_resumes_give_the_same_bits(name, monkeypatch):
    """What is derived from the state is rebuilt at every cut, exactly as it was."""
    monkeypatch.setattr(filter, "CHECK_EVERY", 40)
    model, X = model_for(name, NGGP(5.0, 0.5, 1.0))
    weights = np.random.default_rng(0).choice([0.0, 0.2, 1.0, 3.0], X.shape[0])
    engine = ADF(birth=0.01, merge=0.0)
    whole, info = engine.step(model, engine.initial(model, None), Batch(X, weights), None)
    state, evidence = engine.initial(model, None), []
    for i in range(X.shape[0]):
        batch = Batch(X[i : i + 1], weights[i : i + 1])
        state, one = engine.step(model, state, batch, None)
        evidence += one.results.log_predictive.tolist()
        if i % 7 == 0:
            state = State.from_arrays(*state.to_arrays())
        state.reserve(state.tally.K + 1 + i % 5)
    assert evidence == info.results.log_predictive.tolist()
    want, header = whole.to_arrays()
    got, other = state.to_arrays()
    assert header == other
    for key, values in want.items():
        np.testing.assert_array_equal(got[key], values, err_msg=key)
