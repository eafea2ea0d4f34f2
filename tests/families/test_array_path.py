"""A family without compiled verbs gives what the same family gives with them, to rounding."""

import numpy as np
import pytest

import evermix as em
from evermix.families import FAMILIES, Family
from evermix.kernels.interpreted import ArrayWork
from helpers.engine_cases import FEW_FAMILIES
from helpers.family_cases import CASES

KERNELS = ("rows", "workspace", "columns")
PLAIN = {
    name: type(f"Plain{name}", (family,), {part: getattr(Family, part) for part in KERNELS})
    for name, family in FAMILIES.items()
}
ENGINES = [
    em.ADF(),
    em.ADF(rule="paper", birth=0.5),
    em.EP(laps=3),
    em.EP(laps=2, stride=2, batch_size=10),
    em.SUGS(),
    em.OnlineCRP(),
    em.RCRP(),
    em.RCRP(likelihood="paper"),
    em.Gibbs(sweeps=4),
    em.Gibbs(sweeps=4, augmented=True),
    em.Slice(sweeps=4),
    em.Slice(sweeps=4, hybrid=True),
    em.FullVB(laps=4),
    em.StochasticVB(laps=3),
    em.MemoizedVB(laps=3),
]
NAMES = {type(family).__name__: name for name, (family, _) in CASES.items()}


def twins(name):
    """A resolved family, the same one without compiled verbs, and rows."""
    family, X = CASES[NAMES[name]]
    return family, PLAIN[name].from_spec(family.to_spec()), X


def assert_same_fit(a, b, X):
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(b.score_samples(X), a.score_samples(X), rtol=1e-8)
    np.testing.assert_allclose(b.predict_proba(X), a.predict_proba(X), atol=1e-8)


def assert_twins_agree(name, engine):
    fast, plain, X = twins(name)
    fits = (em.Mixture(family, engine=engine, random_state=0).fit(X) for family in (fast, plain))
    assert_same_fit(*fits, X)


def test_there_is_a_case_for_every_family():
    assert set(NAMES) == set(FAMILIES)
    for name in NAMES:
        _, plain, X = twins(name)
        state = em.ADF().initial(em.Mixture(plain).fit(X).model_, np.random.default_rng(0))
        assert isinstance(plain.workspace(state.tally, {}), ArrayWork)


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_every_engine(engine):
    assert_twins_agree("Bernoulli", engine)


@pytest.mark.parametrize("engine", [em.ADF(), em.Gibbs(sweeps=3)], ids=repr)
@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_every_family(name, engine):
    assert_twins_agree(name, engine)


@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_sites_of_every_family(name):
    assert_twins_agree(name, em.EP(laps=2))


@pytest.mark.parametrize("prior", [em.MNGG(), em.SNGG(), em.TNGG()], ids=repr)
def test_dependent_mixtures(prior):
    fast, plain, X = twins("Bernoulli")
    times = np.arange(X.shape[0]) % 3
    fits = [
        em.DependentMixture(family, prior, burn_in=2, draws=3, random_state=0).fit(X, times=times)
        for family in (fast, plain)
    ]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    scores = [mix.score_samples(X, times) for mix in fits]
    np.testing.assert_allclose(*scores, rtol=1e-8)


def test_weights_forgetting_and_a_cap():
    fast, plain, X = twins("Poisson")
    weights = np.resize([1.0, 0.0, 0.4, 2.5], X.shape[0])
    settings = {"forgetting": em.Exponential(9.0), "max_clusters": 2, "random_state": 0}
    fits = []
    for family in (fast, plain):
        with pytest.warns(em.CapacityWarning):
            fits.append(em.Mixture(family, **settings).partial_fit(X, sample_weight=weights))
    assert_same_fit(*fits, X)
