"""Columns of small counts with zeros, in tables: no cluster is cut at their values."""

import re

import numpy as np
import pytest

import evermix as em
from evermix.estimators.data.table_family import automatic_table
from evermix.families import Categorical
from helpers.commands import evermix

RATES = {"poisson": None, "overdispersed": 2.0}  # the shape of Gamma-distributed rates


def table(n=600, shape=None, seed=0):
    """Two groups, of few guests and of many, that lie far apart in x."""
    rng = np.random.default_rng(seed)
    many = rng.random(n) < 0.5
    rates = np.where(many, 20.0, 0.6)
    if shape:
        rates = rates * rng.gamma(shape, 1 / shape, n)
    return {"guests": rng.poisson(rates), "x": rng.normal(6.0 * many)}, many


def parts(columns, size):
    n = len(columns["x"])
    return ({k: v[i : i + size] for k, v in columns.items()} for i in range(0, n, size))


@pytest.mark.parametrize("shape", RATES.values(), ids=RATES)
@pytest.mark.parametrize("size", [None, 100], ids=["fit", "stream"])
def test_counts_with_zeros_are_not_cut(shape, size):
    columns, many = table(shape=shape)
    mix = em.Mixture(random_state=0)
    if size is None:
        mix.fit(columns)
    else:
        for part in parts(columns, size):
            mix.partial_fit(part)
    labels = mix.predict(columns)
    assert mix.n_clusters_ == 2
    assert np.mean(many == (labels == labels[many][0])) > 0.99


def is_category(values):
    family = automatic_table({"a": values, "word": ["u", "v"] * (len(values) // 2)})
    return next(type(b.family) is Categorical for b in family.blocks if "a" in b.names)


def test_which_numbers_are_counts():
    rng = np.random.default_rng(0)
    guests = table()[0]["guests"]
    assert len(np.unique(guests)) > 20
    assert is_category(guests) and is_category(guests + 1)
    most_are_small = np.concatenate([rng.choice([0, 2, 3], 510), np.repeat(np.arange(5, 35), 3)])
    assert is_category(most_are_small)
    assert is_category(np.where(rng.random(600) < 0.2, np.nan, guests))
    others = {
        "from 2 on": guests + 2,
        "fractions": guests + 0.5 * (guests == 3),
        "negative": guests - 1,
        "large": np.where(guests == guests.max(), 2000, guests),
        "zeros alone": np.where(guests < 5, 0, guests),
        "few zeros": np.arange(600) % 60,
        "few rows": guests[:20] * np.arange(20),
    }
    assert [name for name, values in others.items() if is_category(values)] == []


COLUMNS = {
    "nights from 1 on": lambda rng: rng.geometric(
        np.array([0.7, 0.3, 0.1])[rng.integers(3, size=1000)]
    ),
    "nights, 3 % unknown as 0": lambda rng: (
        rng.geometric(0.1 + 0.5 * (rng.random(1000) < 0.5)) * (rng.random(1000) > 0.03)
    ),
    "guests": lambda rng: table(1000, seed=rng)[0]["guests"],
    "guests from 1 on": lambda rng: table(1000, seed=rng)[0]["guests"] + 1,
    "ages": lambda rng: rng.integers(18, 80, size=1000),
    "floors": lambda rng: rng.integers(1, 15, size=1000),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_one_value_does_not_change_the_family_of_1000(column, seed):
    rng = np.random.default_rng(seed)
    values = column(rng)
    before = is_category(values)
    for other in range(values.max() + 1):
        changed = values.copy()
        changed[rng.integers(1000)] = other
        assert is_category(changed) == before


def test_later_rows_of_a_stream_may_hold_no_counts(tmp_path):
    columns, _ = table()
    mix = em.Mixture(random_state=0).partial_fit(columns)
    mix.partial_fit({"guests": [-3, 2.5, 4000, None], "x": [0.0, 0.0, 6.0, 6.0]})
    mix.save(tmp_path / "guests.evermix")
    again = em.load(tmp_path / "guests.evermix")
    assert {-3, 2.5, 4000} < set(again.levels_["guests"])
    question = {"guests": [-7, 3.5, 50, None], "x": [0.0, 0.0, 6.0, 6.0]}
    labels = again.predict(question)
    assert labels[0] == labels[1] != labels[2] == labels[3]
    np.testing.assert_array_equal(labels, mix.predict(question))
    assert "guests" in evermix("info", tmp_path / "guests.evermix").stdout


def test_cards_have_the_mean_of_counts_and_of_nothing_else(tmp_path):
    columns, many = table()
    others = {
        "rooms": np.where(many, 3, 1) + np.arange(600) % 2 * many,  # three levels
        "word": np.where(many, "a", "b").astype(object),
        "half": columns["guests"] // 4 + 0.5,
    }
    kinds = dict.fromkeys(["guests", *others], em.Categorical())
    mix = em.Mixture(em.Mixed(kinds | {"x": em.Gaussian()}), random_state=0).fit(columns | others)
    mix.save(tmp_path / "m.evermix")
    for model in (mix, em.load(tmp_path / "m.evermix")):
        for card in model.cards():
            here = mix.labels_ == card.id
            traits = {trait.column: trait for trait in card.traits}
            guests = traits.pop("guests")
            assert {trait.mean for trait in traits.values()} == {None}
            means = [columns["guests"][rows].mean() for rows in (here, ~here)]
            assert [guests.mean, guests.mean_elsewhere] == pytest.approx(means, rel=0.01)
            one, two = (f"mean {mean:.3g}" for mean in (guests.mean, guests.mean_elsewhere))
            said = rf"guests = \d+: [\d.]+ %, {one} \(elsewhere [\d.]+ %, {two}\)"
            assert re.fullmatch(said, str(guests))
            assert "mean" not in guests.brief()
            assert guests.to_dict()["mean"] == guests.mean
    assert ", mean " in evermix("info", tmp_path / "m.evermix").stdout
