"""Columns on the log scale that share a covariance."""

import numpy as np
import pandas as pd
import pytest

import evermix as em
from evermix.families.imputing import drawn, imputed
from evermix.families.marks import marks

RNG = np.random.default_rng(0)
LOGS = RNG.normal(size=(40, 3)) @ RNG.normal(size=(3, 3)) / 2 + 1.0
LOG_2 = np.log(2.0)
KNEES = np.array([0.5, 0.0, 2.0])


def _resolved(X, **settings):
    return em.LogGaussian(0.3, 0.5, 6.0, 1.0, **settings).candidates(X)[0]


def _density(family, X, eta):
    return family.log_predictive(X, eta)[:, 0] + family.log_base(X)


def test_it_is_a_gaussian_of_the_logarithms():
    X = np.exp(LOGS)
    family, plain = _resolved(X), em.Gaussian(0.3, 0.5, 6.0, 1.0).candidates(LOGS)[0]
    eta, other = family.eta0[None], plain.eta0[None]
    want = _density(plain, LOGS, other) - LOGS.sum(axis=1)
    np.testing.assert_allclose(_density(family, X, eta), want, 1e-12)
    np.testing.assert_allclose(family.statistic(X), plain.statistic(LOGS), 1e-9, 1e-12)


def test_densities_with_knees_integrate_to_one():
    """In a column on the log scale, which has negative numbers too, and in one that is not."""
    family = _resolved(np.ones((1, 1)), knees=[2.0])
    s = np.linspace(-200, 200, 400_001)
    x = family.unscaled(s[:, None])
    p = np.exp(_density(family, x, family.eta0[None]) + np.log(4.0) + np.logaddexp(s, -s) - LOG_2)
    assert np.trapezoid(p, s) == pytest.approx(1.0, abs=1e-6)
    linear = _resolved(np.ones((1, 1)), knees=[0.0])
    plain = em.Gaussian(0.3, 0.5, 6.0, 1.0).candidates(np.ones((1, 1)))[0]
    some = RNG.normal(size=(9, 1))
    ours, theirs = (_density(one, some, one.eta0[None]) for one in (linear, plain))
    np.testing.assert_allclose(ours, theirs, 1e-12)


def test_the_scale_and_back():
    family = _resolved(LOGS, knees=KNEES)
    np.testing.assert_allclose(family.unscaled(family.scaled(LOGS)), LOGS, 1e-12)
    np.testing.assert_array_equal(family.scaled(LOGS)[:, 1], LOGS[:, 1])
    np.testing.assert_array_equal(family.on_log_scale, [True, False, True])
    assert em.LogGaussian.from_spec(family.to_spec()) == family


@pytest.mark.parametrize("knees", [[-1.0, 0.0, 0.0], [1.0, 2.0], [np.nan, 0.0, 0.0]])
def test_bad_knees_are_refused(knees):
    with pytest.raises(ValueError, match="knees must be"):
        _resolved(LOGS, knees=knees)


def test_without_knees_numbers_must_be_positive():
    with pytest.raises(ValueError, match="LogGaussian needs numbers > 0"):
        em.Mixture(em.LogGaussian()).fit(LOGS - 5)


def _table(X):
    family = em.Mixed({("a", "b", "c"): em.LogGaussian(0.3, 0.5, 6.0, 1.0, knees=KNEES)})
    return family.candidates(X)[0]


def test_rows_of_which_a_part_was_seen_have_the_marginal_density():
    """The density of two of three columns integrates the third out."""
    family = _table(LOGS)
    eta = family.posterior(family.statistic(LOGS).sum(axis=0)[None], np.array([40.0]))
    grid = np.sinh(np.linspace(-14, 14, 40_001))
    rows = np.column_stack([np.full_like(grid, 1.2), np.full_like(grid, 0.4), grid])
    whole = np.trapezoid(np.exp(_density(family, rows, eta)), grid)
    part = np.exp(_density(family, np.array([[1.2, 0.4, np.nan]]), eta))[0]
    assert part == pytest.approx(whole, rel=1e-6)


def test_what_is_missing_follows_what_was_seen():
    """Means and draws of an amount rise with another that rises with it."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=400)
    noise = 0.1 * rng.normal(size=400)
    X = np.column_stack([np.exp(z + 3), rng.normal(size=400), np.exp(2 * z + 8 + noise)])
    family = _table(X)
    eta = family.posterior(family.statistic(X).sum(axis=0)[None], np.array([400.0]))
    rows = np.array([[np.exp(3.0 + one), 0.0, np.nan] for one in (-1.0, 1.0)])
    found = imputed(family, rows, eta, np.ones((2, 1)))
    np.testing.assert_allclose(np.log(found[:, 2]), [6.0, 10.0], atol=0.3)
    np.testing.assert_array_equal(found[:, :2], rows[:, :2])
    both, certain = np.vstack([eta, family.eta0]), np.array([[1.0, 0.0]] * 2)
    draws = np.stack([drawn(family, rows, both, certain, rng)[:, 2] for _ in range(200)])
    np.testing.assert_allclose(np.median(np.log(draws), axis=0), [6.0, 10.0], atol=0.3)


def test_cards_tell_amounts_by_factors_and_other_numbers_by_values():
    """The spread of postcodes, say, is far too wide to be the logarithm of a factor."""
    X = np.column_stack([np.exp(LOGS[:, 0] + 3), 1e4 * LOGS[:, 1], np.exp(LOGS[:, 2] + 3)])
    family = _resolved(X, knees=KNEES)
    stats = np.stack([family.statistic(X[:20]).sum(axis=0), family.statistic(X[20:]).sum(axis=0)])
    found = {mark.column: mark for mark in marks(family, stats, np.array([20.0, 20.0]), 3)}
    assert [found[d].kind for d in range(3)] == ["factor", "value", "factor"]
    assert found[1].here == pytest.approx(X[:20, 1].mean())
    typical = family.unscaled(family.scaled(X[:20]).mean(axis=0, keepdims=True))[0]
    assert found[2].here == pytest.approx(typical[2])


def test_pictures_draw_amounts_on_log_axes():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 300)
    logs = 3.0 * z[:, None] + rng.normal(size=(300, 2)) @ np.array([[0.5, 0.4], [0.0, 0.3]])
    table = pd.DataFrame(np.exp(logs), columns=["income", "spent"])
    table["level"] = rng.choice(list("xy"), 300)
    axes = em.plot.clusters(em.Mixture().fit(table), table)
    assert axes.get_xscale() == axes.get_yscale() == "log"
