"""An engine of a user's own needs three methods; everything else has a default."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import evermix as em
from evermix.engines import Batch, Engine, Info, RowResults
from evermix.state import State
from evermix.tally import Tally
from evermix.testing import check_engine


@dataclass(frozen=True)
class Signs(Engine):
    """Two clusters: rows whose first entry is negative, and the others."""

    weight: float = 1.0

    streams: ClassVar[bool] = True
    forgets: ClassVar[bool] = True

    def initial(self, model, rng):
        tally = Tally.empty(model.family.n_stats, (), model.family.layout)
        return State(tally, model.family.columns(tally), {})

    def step(self, model, state, batch, rng):
        results, births = RowResults.empty(len(batch.weights)), []
        while state.tally.K < 2:
            births.append(state.lineage.birth(state.clock))
            state.append(births[-1:])
        positive = np.asarray(batch.X[:, 0]) > 0
        for i, k in enumerate(positive.astype(int)):
            w = batch.weights[i]
            state.tally.mass[k] += w
            state.tally.stats[k] += model.family.accumulate(
                batch.X[i : i + 1], w * np.ones((1, 1))
            )[0]
        state.columns |= model.family.columns(state.tally)
        results.labels[:] = state.tally.ids[positive.astype(int)]
        results.probabilities[:] = 1.0
        state.clock += int(np.count_nonzero(batch.weights))
        info = Info(len(batch.weights), state.clock, state.tally.K, births, results=results)
        return state, info

    def log_weights(self, model, state):
        weights = np.append(state.tally.mass, self.weight)
        return np.log(weights / weights.sum())


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(120, 2)) + np.array([[3.0, 0.0]])


def test_it_obeys_the_laws(X):
    X[::2, 0] -= 6.0
    check_engine(Signs(), em.Model(em.Gaussian(scale=1.0).candidates(X)[0], em.DP()), X)


def test_it_streams_forgets_is_saved_and_goes_on(X, tmp_path):
    """Without a column ``last_seen``, labels decide when a cluster was last seen."""
    X[1:40, 0] -= 6.0
    settings = {"engine": Signs(), "forgetting": em.Exponential(half_life=200.0), "random_state": 0}
    mix = em.Mixture(em.Gaussian(scale=1.0), em.DP(), **settings)
    mix.partial_fit(X[:60])
    first, second = (np.sign(X[:60, 0]) == sign for sign in (-1, 1))
    assert mix.lineage_.last == [np.flatnonzero(rows)[-1] + 1 for rows in (first, second)]
    mix.save(tmp_path / "own.evermix")
    again = em.load(tmp_path / "own.evermix")
    for each in (mix, again):
        each.partial_fit(X[60:])
    np.testing.assert_array_equal(mix.predict(X), again.predict(X))
    np.testing.assert_array_equal(mix.score_samples(X), again.score_samples(X))


def test_settings_that_change_are_refused_unless_it_says_otherwise(X):
    state = Signs().initial(em.Model(em.Gaussian(scale=1.0).candidates(X)[0], em.DP()), None)
    with pytest.raises(ValueError, match=r"begun with weight=1\.0"):
        Signs(2.0).check_change(Signs(), state)
    Signs().check_change(Signs(), state)


def test_mass_that_it_drops_need_not_be_counted(X):
    model = em.Model(em.Gaussian(scale=1.0).candidates(X)[0], em.DP())
    state, _ = Signs().step(model, Signs().initial(model, None), Batch(X, np.ones(120)), None)
    Signs().dismiss(state, np.array([True, False]))
    assert (state.tally.K, Signs().dropped_mass(state)) == (1, 0.0)
