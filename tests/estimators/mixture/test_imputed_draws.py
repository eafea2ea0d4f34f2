"""Draws of what is missing, given what was seen."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

import evermix as em

N, COPIES = 300, 3000
RNG = np.random.default_rng(0)
KIND = RNG.integers(2, size=N)
TABLE = pd.DataFrame(
    {
        "x": 4.0 * KIND + RNG.normal(size=N),
        "colour": np.where(RNG.random(N) < 0.2 + 0.5 * KIND, "red", "blue"),
        "old": RNG.random(N) < 0.3 + 0.4 * KIND,
    }
)


@pytest.fixture(scope="module")
def fitted():
    family = em.Mixed({"x": em.Gaussian(), "colour": em.Categorical(), "old": em.Bernoulli()})
    return em.Mixture(family, random_state=0).fit(TABLE)


def test_draws_follow_the_conditional_law(fitted):
    """The joint law of what is missing, by enumeration of densities of whole rows."""
    row = {"x": [1.8], "colour": [None], "old": [None]}
    cells = [(colour, old) for colour in ("red", "blue") for old in (False, True)]
    whole = pd.DataFrame([(1.8, *cell) for cell in cells], columns=list(row))
    density = np.exp(fitted.score_samples(whole))
    many = pd.DataFrame({name: value * COPIES for name, value in row.items()})
    drawn = fitted.impute(many, draw=True)
    assert not drawn.isna().any().any() and (drawn["x"] == 1.8).all()
    found = [((drawn["colour"] == c) & (drawn["old"] == o)).mean() for c, o in cells]
    expected = density / density.sum()
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(0.25 / COPIES))


def test_numbers_are_drawn_from_their_conditional_density(fitted):
    many = pd.DataFrame({"x": np.nan, "colour": ["red"] * COPIES, "old": True})
    drawn = fitted.impute(many, draw=True)["x"].to_numpy()
    grid = np.linspace(-20, 25, 4001)
    rows = pd.DataFrame({"x": grid, "colour": "red", "old": True})
    cdf = np.cumsum(np.exp(fitted.score_samples(rows)))
    assert kstest(drawn, lambda x: np.interp(x, grid, cdf / cdf[-1])).pvalue > 1e-3


def test_groups_are_drawn_given_the_columns_that_were_seen():
    X = RNG.multivariate_normal([1.0, -2.0, 3.0], [[2, 1, 0.5], [1, 1, 0.2], [0.5, 0.2, 1]], 60)
    mix = em.Mixture(em.Mixed({(0, 1, 2): em.Gaussian()}), random_state=0).fit(X)
    many = np.tile([2.5, np.nan, 3.5], (COPIES, 1))
    drawn = mix.impute(many, draw=True)[:, 1]
    grid = np.linspace(-12, 8, 4001)
    rows = np.column_stack([np.full(4001, 2.5), grid, np.full(4001, 3.5)])
    cdf = np.cumsum(np.exp(mix.score_samples(rows)))
    assert kstest(drawn, lambda x: np.interp(x, grid, cdf / cdf[-1])).pvalue > 1e-3


def test_draws_have_a_seed_and_teach_nothing(fitted):
    holes = TABLE.head(40).copy()
    holes.loc[::2, "x"] = np.nan
    before = fitted.tally_.stats.copy()
    first = fitted.impute(holes, draw=True)
    pd.testing.assert_frame_equal(first, fitted.impute(holes, draw=True))
    other = fitted.impute(holes, draw=True, random_state=5)
    assert not first.equals(other)
    pd.testing.assert_frame_equal(first.iloc[1::2], other.iloc[1::2])  # nothing was missing there
    rng = np.random.default_rng(3)
    assert not fitted.impute(holes, draw=True, random_state=rng).equals(
        fitted.impute(holes, draw=True, random_state=rng)
    )
    np.testing.assert_array_equal(fitted.tally_.stats, before)
