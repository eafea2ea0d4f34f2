"""Every object that evermix ships is held to the laws that it ships; and the laws can fail."""

import inspect
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix import ADF, DP, NGGP, FullVB, families
from evermix._registry import registered
from evermix.engines import ENGINES, Engine
from evermix.families import FAMILIES, Family, FixedGaussian, Multinomial
from evermix.model import Model
from evermix.priors import PRIORS, Prior
from evermix.testing import check_engine, check_family, check_prior, set_partitions

SETTINGS = {
    "DP": [{}, {"alpha": 0.1}, {"alpha": 30.0}],
    "NGGP": [{}, {"a": 0.1, "sigma": 0.1}, {"a": 10.0, "sigma": 0.9, "tau": 0.0}, {"sigma": 0.0}],
    "PitmanYor": [{}, {"alpha": 0.0, "discount": 0.5}, {"alpha": -0.2, "discount": 0.6}],
    "GeneralizedDirichlet": [{}, {"a": 5.0, "rates": 1}, {"a": 0.5, "rates": 6}],
}


@pytest.mark.parametrize(("name", "spec"), [(n, s) for n in PRIORS for s in SETTINGS[n]])
def test_priors(name, spec):
    check_prior(PRIORS[name](**spec))


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if name == "Bernoulli" else 5, size=(30, 4)).astype(np.float64)
    X = sparse.csr_matrix(X) if FAMILIES[name].sparse else X
    X = X + 1.0 if name.startswith("Log") else X[:, :1] if name == "Categorical" else X
    check_family(FAMILIES[name]().candidates(X)[-1], X)


@pytest.mark.parametrize("name", ENGINES)
def test_engines(name):
    X = np.random.default_rng(0).integers(0, 4, size=(60, 5)).astype(float)
    family, engine = Multinomial(0.5, n_features=5), ENGINES[name]()
    if engine.families:
        family = engine.families[0]().candidates(X)[-1]
    rows = sparse.csr_matrix(X) if family.sparse else X
    check_engine(engine, Model(family, engine.default_prior()), rows)


def test_what_is_defined_is_registered_unless_it_is_abstract():
    """Ours are there before anybody else's, and bases that only share code are not."""
    assert set(FAMILIES) == {name for name, value in vars(families).items() if _is(value, Family)}
    assert set(ENGINES) == {name for name in em.__all__ if _is(getattr(em, name), Engine)}
    assert set(PRIORS) == set(SETTINGS)
    assert registered(Family)["Sloppy"] is Sloppy
    assert not {"DenseFamily", "NRM", "Engine"} & {
        *registered(Family),
        *registered(Prior),
        *ENGINES,
    }


def _is(value, base):
    return isinstance(value, type) and issubclass(value, base) and not inspect.isabstract(value)


def test_there_are_as_many_partitions_as_bell_numbers():
    assert [sum(1 for _ in set_partitions(n)) for n in range(7)] == [1, 1, 2, 5, 15, 52, 203]


# ---- a law that cannot be broken checks nothing ---------------------------------------------


@dataclass(frozen=True)
class MisprintedNGGP(NGGP):
    """The exponent n - aK of the published density of U, instead of n - sigma K."""

    def log_weights(self, mass, occupied):
        right = super().log_weights(mass, occupied)
        wrong = NGGP(self.a, self.a, self.tau).log_weights(mass, occupied)
        weights = np.append(np.exp(right[:-1]), np.exp(wrong[-1]))
        return np.log(weights / weights.sum())


def test_a_misprinted_prior_is_caught():
    with pytest.raises(AssertionError, match="EPPF ratio"):
        check_prior(MisprintedNGGP(a=0.9, sigma=0.3))


class Sloppy(Multinomial):
    """A family whose kernels are right and whose array maths forgets the lengths."""

    def log_predictive(self, X, eta):
        return super().log_predictive(X, eta) + 0.01


def test_a_sloppy_family_is_caught():
    X = sparse.csr_matrix(np.eye(4))
    with pytest.raises(AssertionError, match="difference of log a"):
        check_family(Sloppy(0.5, n_features=4), X)


class Faint(Multinomial):
    """A family whose likelihood leaves the lengths out, so that only draws and means see it."""

    def log_likelihood(self, X, params):
        return sparse.csr_array(X) @ params[:, :-1].T


def test_a_likelihood_that_is_not_the_familys_is_caught():
    X = sparse.csr_matrix(np.eye(4))
    with pytest.raises(AssertionError, match="log likelihood is t"):
        check_family(Faint(0.5, n_features=4), X)


class Eager(FixedGaussian):
    """A family that lets its variance be learnt, on which the base measure depends."""

    tunable = ("mean_variance", "variance")


def test_hyperparameters_that_cannot_be_learnt_are_caught():
    X = np.random.default_rng(0).normal(size=(9, 2))
    with pytest.raises(AssertionError, match="variance leaves statistics and base measure"):
        check_family(Eager(1.0, 4.0).candidates(X)[0], X)


@dataclass(frozen=True)
class Forgetful(ADF):
    """An engine that tidies up at every batch edge, where only the clock may decide."""

    def step(self, model, state, batch, rng):
        state, info = super().step(model, state, batch, rng)
        state.tally.mass[:] = np.round(state.tally.mass, 3)
        return state, info


def test_an_engine_that_looks_at_batch_edges_is_caught():
    X = sparse.csr_matrix(np.random.default_rng(0).integers(0, 4, size=(60, 5)).astype(float))
    with pytest.raises(AssertionError, match="other batch cuts|sum of the weights"):
        check_engine(Forgetful(), Model(Multinomial(0.5, n_features=5), NGGP()), X)


@dataclass(frozen=True)
class Wavering(FullVB):
    """An engine that forgets which cluster it has just learnt what of."""

    def end_lap(self, model, state, batches, rng):
        state, info = super().end_lap(model, state, batches, rng)
        state.tally.mass[:] = rng.permutation(state.tally.mass)
        return state, info


def test_an_engine_whose_bound_falls_is_caught():
    X = sparse.csr_matrix(np.random.default_rng(0).integers(0, 4, size=(60, 5)).astype(float))
    with pytest.raises(AssertionError, match="a lap never lowers the lower bound"):
        check_engine(Wavering(laps=9), Model(Multinomial(0.5, n_features=5), DP()), X)
