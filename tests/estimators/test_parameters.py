"""Parameters of priors, families and engines are parameters of the estimator."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import evermix as em

WHOLE = em.Mixture(
    em.Gaussian(), em.PitmanYor(2.0, 0.3), em.MemoizedVB(laps=4), em.Exponential(half_life=9.0)
)


def test_fields_are_parameters():
    params = WHOLE.get_params()
    assert params["prior__alpha"] == 2.0
    assert params["engine__laps"] == 4
    assert params["forgetting__half_life"] == 9.0
    assert params["family__kappa"] is None
    assert set(WHOLE.get_params(deep=False)) == {name for name in params if "__" not in name}
    assert not any("__" in name for name in em.Mixture().get_params())


def test_setting_what_was_read_changes_nothing():
    other = clone(WHOLE).set_params(**WHOLE.get_params())
    assert other.get_params() == WHOLE.get_params()


@pytest.mark.parametrize("name", ["prior__discount", "engine__tol", "forgetting__half_life"])
def test_a_field_is_set_in_another_object(name):
    part, _, field = name.partition("__")
    before = getattr(WHOLE, part)
    mix = em.Mixture(**WHOLE.get_params(deep=False)).set_params(**{name: 0.5})
    after = getattr(mix, part)
    assert getattr(after, field) == 0.5 and getattr(before, field) != 0.5
    others = [each.name for each in fields(before) if each.name != field]
    assert [getattr(after, each) for each in others] == [getattr(before, each) for each in others]
    assert getattr(WHOLE, part) is before


def test_an_object_and_its_fields_are_set_together_in_any_order():
    for order in (1, -1):
        given = {"prior__alpha": 3.0, "prior": em.DP(), "max_clusters": 7}
        mix = em.Mixture().set_params(**dict(list(given.items())[::order]))
        assert mix.prior == em.DP(3.0) and mix.max_clusters == 7


def test_fields_of_fields():
    topics = em.TopicModel(em.HDP(em.Gamma(2.0, 3.0)))
    assert topics.get_params()["prior__a__rate"] == 3.0
    topics.set_params(prior__a__rate=4.0, alpha=0.1)
    assert topics.prior == em.HDP(em.Gamma(2.0, 4.0)) and topics.alpha == 0.1


@pytest.mark.parametrize(
    "given, message",
    [
        ({"priors": None}, "Mixture has no parameter 'priors'. Valid parameters are"),
        ({"prior__beta": 1.0}, r"DP has no parameter 'beta'. Valid parameters are: \['alpha'\]"),
        ({"prior__alpha": -1.0}, "alpha must be"),
        ({"engine__laps": 3}, "engine is None, which has no parameter 'laps'"),
        ({"prior__alpha__x": 3}, "alpha is 1.0, which has no parameter 'x'"),
    ],
)
def test_wrong_parameters_are_refused_and_nothing_is_set(given, message):
    mix = em.Mixture(prior=em.DP(1.0))
    with pytest.raises(ValueError, match=message):
        mix.set_params(max_clusters=5, **given)
    assert mix.prior == em.DP(1.0) and mix.max_clusters is None


@pytest.mark.parametrize("name", em.engines.ENGINES)
def test_every_field_of_every_engine_can_be_set(name):
    mix = em.Mixture(engine=em.engines.ENGINES[name]())
    params = {key: value for key, value in mix.get_params().items() if key.startswith("engine__")}
    assert {key.removeprefix("engine__") for key in params} == {f.name for f in fields(mix.engine)}
    before = mix.engine
    assert is_dataclass(before) and mix.set_params(**params).engine == before


def test_a_grid_search_over_fields():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)) + 9 * rng.integers(0, 2, size=(120, 1))
    mix = em.Mixture(prior=em.DP(), engine=em.ADF())
    grid = {"prior__alpha": [0.1, 5.0], "engine__birth": [0.05, 0.5]}
    search = GridSearchCV(mix, grid, cv=2).fit(X)
    assert search.best_params_.keys() == grid.keys()
    assert search.best_estimator_.prior == em.DP(search.best_params_["prior__alpha"])
    assert mix.prior == em.DP()


def test_more_laps_by_name():
    X = np.random.default_rng(0).normal(size=(200, 2))
    short = em.Mixture(engine=em.MemoizedVB(laps=1, tol=0.0), random_state=0).fit(X)
    short.set_params(engine__laps=3).resume(X)
    long = em.Mixture(engine=em.MemoizedVB(laps=3, tol=0.0), random_state=0).fit(X)
    assert short.score(X) == long.score(X)
