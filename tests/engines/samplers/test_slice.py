"""The slice sampler: jumps above a level, caps and crowds, and every family.

That its draws have the law of the posterior is reported in ``tests/laws/test_samplers.py``.
"""

import math
import warnings

import numpy as np
import pytest
from scipy import integrate
from scipy.special import gamma

from evermix.engines import Batch, CapacityWarning, Slice
from evermix.engines.run import run_laps
from evermix.engines.samplers import slice as slicing
from evermix.engines.samplers.conditional import EmptyClusters
from evermix.model import Model
from evermix.priors import DP, NGGP, Gamma, PitmanYor
from evermix.state import State
from helpers.engine_cases import FEW_FAMILIES, model_for


def batch_of(X):
    return Batch(X, np.ones(X.shape[0]))


def fitted(engine, model, X, seed=0):
    """The state after all sweeps, and what was reported of each."""
    rng, infos = np.random.default_rng(seed), []
    state = engine.initial(model, rng)
    state = run_laps(engine, model, state, [batch_of(X)], rng, [lambda _, i: infos.append(i)])
    return state, [info for info in infos if info.rows]


# ---- jumps without observations ------------------------------------------------------------


def integral(power, level, mass, sigma):
    """Integral of w^power times the intensity of jumps above a level."""

    def f(x):  # x = log w
        return math.exp((power - sigma) * x - math.exp(x)) * mass / gamma(1 - sigma)

    return integrate.quad(f, math.log(level), math.log(level + 60), limit=200)[0]


@pytest.mark.parametrize("sigma", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("level", [1e-4, 0.03, 0.8, 2.5])
def test_jumps_above_a_level_have_the_intensity_of_the_process(sigma, level):
    """Mean number, mean sum and mean sum of squares, each within 4.5 standard errors."""
    rng, mass, size = np.random.default_rng(0), 3.0, 3000
    draws = [np.exp(EmptyClusters(mass, sigma).draw(math.log(level), rng)) for _ in range(size)]
    assert min(w.min(initial=np.inf) for w in draws) >= level * (1 - 1e-12)
    for power in (0, 1, 2):
        got = np.array([np.sum(w**power) for w in draws])
        want = integral(power, level, mass, sigma)
        error = math.sqrt(integral(2 * power, level, mass, sigma) / size)  # Campbell's formula
        assert got.mean() == pytest.approx(want, abs=4.5 * error)


@pytest.mark.parametrize("sigma", [0.0, 0.3, 0.7])
def test_proposals_bound_the_number_of_jumps(sigma):
    empty = EmptyClusters(2.0, sigma)
    for level in (1e-5, 0.1, 1.0, 3.0):
        exact, proposed = integral(0, level, *empty), sum(empty.proposed(math.log(level)))
        assert exact <= proposed <= 3 * exact + 1


@pytest.mark.parametrize("sigma", [0.0, 1e-9, 0.3, 0.7])
def test_the_lowest_level_needs_as_many_jumps_as_wanted(sigma):
    empty = EmptyClusters(50.0, sigma)
    near, _ = empty.proposed(empty.lowest(1e4))
    assert near == pytest.approx(1e4, rel=0.2)


def test_jumps_are_continuous_where_sigma_vanishes():
    for level in (1e-3, 0.5, 2.0):
        tiny, none = (EmptyClusters(2.0, sigma).proposed(math.log(level)) for sigma in (1e-10, 0.0))
        assert tiny == pytest.approx(none, rel=1e-6)


# ---- the engine ----------------------------------------------------------------------------


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_every_family_is_sampled(name, hybrid):
    """Rows are in one cluster each, and what is said of them are densities and probabilities."""
    model, X = model_for(name, n=60)
    state, infos = fitted(Slice(sweeps=5, hybrid=hybrid), model, X)
    assert state.tally.mass.sum() == 60
    for info in infos:
        assert np.all(np.isfinite(info.results.log_predictive))
        assert np.all((info.results.probabilities > 0) & (info.results.probabilities <= 1))


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_chain_that_was_saved_goes_on_as_if_it_had_not_been(hybrid):
    model, X = model_for("Multinomial", n=40)
    engine = Slice(sweeps=6, hybrid=hybrid, hyperpriors={"a": Gamma(1.0, 1.0)})
    whole, _ = fitted(engine, model, X)
    rng = np.random.default_rng(0)
    state = engine.initial(model, rng)
    for _ in range(6):
        state, _ = engine.step(model, state, batch_of(X), rng)
        state = State.from_arrays(*state.to_arrays())
    assert np.array_equal(state.memo["draws"]["labels"], whole.memo["draws"]["labels"])
    assert state.latents["a"] == whole.latents["a"]


def test_small_tables_change_nothing_but_the_noise(monkeypatch):
    """Rows and clusters come in blocks where memory is short; every row is still moved."""
    model, X = model_for("Multinomial", n=50)
    monkeypatch.setattr(slicing, "NUMBERS", 60)
    state, infos = fitted(Slice(sweeps=10), model, X)
    assert state.tally.mass.sum() == 50
    assert all(np.all(info.results.probabilities > 0) for info in infos)


@pytest.mark.parametrize("hybrid", [False, True])
def test_the_cap_is_kept_and_reported_once(hybrid):
    model, X = model_for("Multinomial", NGGP(20.0, 0.5), n=40)
    model = Model(model.family, model.prior, max_clusters=3)
    with pytest.warns(CapacityWarning, match="max_clusters=3") as caught:
        _, infos = fitted(Slice(sweeps=20, hybrid=hybrid), model, X)
    assert len(caught) == 1
    assert max(info.K for info in infos) == 3


def test_crowds_are_reported_once_and_dealt_with_one_by_one(monkeypatch):
    """Where there are more small jumps than should be drawn."""
    model, X = model_for("Multinomial", NGGP(50.0, 0.9), n=60)
    monkeypatch.setattr(slicing, "MOST_EMPTY", 100.0)
    advice = r"clusters without rows.*Slice\(hybrid=True\)"
    with pytest.warns(RuntimeWarning, match=advice) as caught:
        fitted(Slice(sweeps=4), model, X)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(Slice(sweeps=4, hybrid=True), model, X)


def test_other_priors_are_refused_with_advice():
    model, _ = model_for("Multinomial", PitmanYor())
    with pytest.raises(TypeError, match=r"needs DP or NGGP as a prior, got PitmanYor. Use Gibbs\("):
        Slice().check(model)
    for prior in (DP(), NGGP(), NGGP(1.0, 0.0, 3.0), NGGP(1.0, 0.5, 0.0)):
        Slice().check(Model(model.family, prior))


def test_a_spec_survives():
    engine = Slice(sweeps=7, burn_in=2, hybrid=True, hyperpriors={"a": Gamma(1.0, 2.0)})
    assert Slice.from_spec(engine.to_spec()) == engine
