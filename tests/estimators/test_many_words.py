"""Columns of many words, each in few rows: first names, codes. They hardly tell of clusters."""

import numpy as np
import pytest

import evermix as em
from evermix.families import Categorical
from evermix.families.marks import marks


@pytest.mark.parametrize("levels", [2, 5, 120])
def test_equal_shares_set_nothing_apart(levels):
    """Two standard deviations above the mean of chance: few of many draws are beyond that."""
    rng = np.random.default_rng(levels)
    shares = rng.dirichlet(np.full(levels, 2.0))
    beyond = 0
    for _ in range(200):
        stats = np.stack([rng.multinomial(n, shares) for n in (400, 1100)]).astype(float)
        beyond += marks(Categorical(), stats, stats.sum(axis=1), 1)[0].gain > 0
    assert beyond <= 20
    other = np.stack([rng.multinomial(400, np.roll(shares, 1)), rng.multinomial(1100, shares)])
    assert marks(Categorical(), other.astype(float), other.sum(axis=1), 1)[0].gain > 0


def table(rng, n, names):
    z = rng.integers(0, 3, n)
    return {
        "name": [f"name {i}" for i in rng.integers(0, names, n)],
        "city": [("Rome", "Oslo", "Bonn")[k] for k in np.where(rng.random(n) < 0.9, z, 0)],
        "x": rng.normal(4.0 * z),
    }


def test_first_names_are_warned_of_and_on_no_card():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="'name' has 120 different words in 1,200 rows"):
        mix = em.Mixture("auto").fit(table(rng, 1200, 120))
    shown = {trait.column.split(" = ")[0] for card in mix.cards() for trait in card.traits}
    assert mix.n_clusters_ == 3 and shown == {"city", "x"}


def test_words_that_come_back_often_are_not_warned_of():
    em.Mixture("auto").fit(table(np.random.default_rng(0), 1200, 40))  # warnings are errors
