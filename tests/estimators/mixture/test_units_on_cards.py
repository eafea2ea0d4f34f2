"""Where a person reads numbers of a column, they have the unit with which they were written."""

import json
import re

import numpy as np
import pytest

import evermix as em
from evermix.estimators.mixture.card import Trait
from evermix.estimators.mixture.naming import shown, with_unit
from evermix.families.marks import FACTOR, SHARE


def table(sign="€", n=200):
    """Return a table of two kinds of orders."""
    rng = np.random.default_rng(0)
    z = np.arange(n) % 2
    return {
        "bill": [f"{sign}{b:,.2f}" for b in np.exp(4.4 + 2.6 * z + 0.4 * rng.normal(size=n))],
        "weight": [f"{w:.1f} kg" for w in 5.1 + 4 * z + 0.8 * rng.normal(size=n)],
        "off": [f"{s:.1f}%" for s in 10 + 40 * z + 2 * rng.normal(size=n)],
        "rooms": [f"{r} rooms" for r in 1 + 2 * z + rng.integers(0, 2, n)],
        "plain": rng.normal(size=n) + 9.0 * z,
        "city": np.where(z, "Rome", "Oslo").tolist(),
    }


@pytest.fixture(scope="module")
def mix():
    return em.Mixture(random_state=0).fit(table())


def test_numbers_are_written_with_their_unit():
    assert with_unit("kg", "5.1 ± 0.8") == "5.1 ± 0.8 kg"
    assert with_unit("#kg", "740", "1,800") == "740 to 1,800kg"
    assert with_unit("€#", "-740", "1,800") == "-€740 to €1,800"
    assert with_unit(None, "740", "1,800") == "740 to 1,800"
    assert shown(2019) == "2019" and shown(2019, "$#") == "$2,019" and shown(0.5, "#%") == "0.5%"
    assert shown("a", "kg") == "a" and shown(True, "kg") == "yes" and shown(None, "kg") == "None"


def test_traits_have_the_unit_of_their_column():
    bill = Trait(
        "bill", None, FACTOR, 1150.0, 85.0, 1.56, 1.4, "€#", (737.0, 1794.0), (61.0, 119.0)
    )
    assert str(bill) == "bill: €740 to €1,800 (elsewhere €61 to €120)"
    assert bill.brief() == "bill €1,150"
    weight = Trait("weight", None, "value", 5.1, 9.0, 0.8, None, "kg")
    assert str(weight) == "weight: 5.10 ± 0.8 kg (elsewhere 9 kg)"
    assert weight.brief() == "weight 5.10 kg"
    rooms = Trait("rooms", 3, SHARE, 0.5, 0.0, None, None, "rooms")
    assert str(rooms) == "rooms = 3 rooms: 50 % (elsewhere 0 %)"
    cost = Trait("cost", None, "value", 1908.3, 1967.0, 12.0, 24.0, "$#")
    assert str(cost) == "cost: $1,908 ± 12 (elsewhere $1,967 ± 24)"  # they are no years


def test_cards_examples_and_reasons_show_units(mix, tmp_path):
    rows = table()
    mix.save(tmp_path / "m.evermix")
    for model in (mix, em.load(tmp_path / "m.evermix")):
        for card in model.cards(rows):
            said = repr(card)
            assert re.search(r"bill: €[\d,]+ to €[\d,]+ \(elsewhere €[\d,]+ to €[\d,]+\)", said)
            assert re.search(r"weight: [\d.]+ ± [\d.]+ kg \(elsewhere [\d.]+ ± [\d.]+ kg\)", said)
            assert re.search(r"off: [\d.]+ ± [\d.]+% \(", said)
            assert re.search(r"row \d+: bill = €[\d,.]+, weight = [\d.]+ kg, off = [\d.]+%,", said)
            assert re.search(r"rooms = \d rooms", said) and re.search(r"plain: \S+ ± \S+ \(", said)
        why = repr(model.explain({name: values[1] for name, values in rows.items()}))
        assert re.search(r"bill = €[\d,.]+\n", why) and re.search(r"weight = [\d.]+ kg\n", why)
        (one, *_) = model.coarse_clusters(2)
        assert " kg" in repr(one)


def test_plain_data_tell_the_unit(mix):
    card = json.loads(json.dumps(mix.cards(table())[0].to_dict()))
    units = {trait["column"]: trait["unit"] for trait in card["traits"]}
    known = {"bill": "€#", "weight": "kg", "off": "#%", "rooms": "rooms"}
    assert units == known | {"plain": None, "city": None}
    assert card["examples"][0]["units"] == known
    why = mix.explain({name: values[1] for name, values in table().items()}).to_dict()
    assert {each["name"]: each["unit"] for each in why["contributions"]}["bill"] == "€#"


def test_reports_and_pictures_show_units(mix, tmp_path):
    mix.report(tmp_path / "r.html", table())
    page = (tmp_path / "r.html").read_text()
    assert re.search(r'\["bill","€\d+ to €[\d,]+",', page)  # in the map of values
    assert re.search(r'"bill = €[\d,.]+","weight = [\d.]+ kg"', page)
    assert re.search(r"bill €[\d,]+", mix._repr_html_())
    axes = em.plot.clusters(mix, table())
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("bill (€)", "weight (kg)")


def test_a_column_in_several_currencies_has_no_sign(mix):
    rows, other = table(), table("$")
    both = rows | {"bill": [*rows["bill"][:100], *other["bill"][100:]]}
    stream = em.Mixture(random_state=0).partial_fit(rows).partial_fit(other).partial_fit(rows)
    later = em.Mixture(random_state=0).partial_fit(both).partial_fit(rows)
    for model in (em.Mixture(random_state=0).fit(both), stream, later):
        traits = {t.column: t for card in model.cards() for t in card.traits}
        assert traits["bill"].unit is None and traits["weight"].unit == "kg"
    np.testing.assert_array_equal(mix.predict(other), mix.predict(rows))


def test_a_fit_to_other_rows_forgets_units_but_not_those_given_with_names():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + 9.0 * rng.integers(0, 2, size=(200, 1))
    mix = em.Mixture(random_state=0).fit(table())
    mix.fit(X)
    assert not hasattr(mix, "written_")
    mix.column_names_, mix.written_ = (
        ["width", "x"],
        {"width": em.Mixture().fit(table()).written_["weight"]},
    )
    for model in (mix.fit(X), mix.partial_fit(X)):
        assert {t.column: t.unit for t in model.cards()[0].traits} == {"width": "kg", "x": None}
