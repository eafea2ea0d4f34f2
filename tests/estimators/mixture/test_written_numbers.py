"""Numbers on cards are written as people write them."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import evermix as em
from evermix.estimators.mixture.card import Trait
from evermix.estimators.mixture.naming import shown, shown_when, written, written_size
from evermix.families.marks import FACTOR, SHARE


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 6])
def test_a_number_keeps_its_digits_and_has_no_exponent(digits):
    """Whatever the number, what is written reads as the number rounded to so many digits."""
    rng = np.random.default_rng(0)
    values = rng.choice([-1, 1], 500) * 10.0 ** rng.uniform(-5, 14, 500)
    for value in [*values.tolist(), 0.0, 1.0, 9.9999, 999.96, 1000.0]:
        text = written(value, digits)
        assert re.fullmatch(r"-?\d{1,3}(,\d{3})*(\.\d*[1-9])?", text), text
        step = 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits) if value else 1.0
        assert abs(float(text.replace(",", "")) - value) <= 0.5000001 * step


def test_numbers_without_a_plain_form_stay_short():
    assert [written(value) for value in (1e20, 1e-9, math.inf, math.nan)] == [
        "1e+20", "1e-09", "inf", "nan",
    ]  # fmt: skip
    assert (
        shown(2019) == "2019" and shown(27_600.0) == shown(27_600) == "27600" and shown("a") == "a"
    )
    assert [written_size(size) for size in (0.31, 1.0, 394.7, 12_345.6)] == [
        "0.31", "1", "395", "12,346",
    ]  # fmt: skip


def trait(kind, here, spread, elsewhere=None):
    there = 2 * here if elsewhere is None else elsewhere
    ranges = [(x / spread, x * spread) for x in (here, there)] if kind == FACTOR else [None, None]
    return Trait("income", None, kind, here, there, spread, spread, None, *ranges)


def test_amounts_are_shown_as_ranges():
    amount = trait(FACTOR, 27_600.0, 1.3)
    assert str(amount) == "income: 21,000 to 36,000 (elsewhere 42,000 to 72,000)"
    assert amount.brief() == "income 27,600"
    floor = Trait("floor", 6, SHARE, 0.176, 0.0079, None, None)
    assert floor.brief() == "floor = 6 (17.6 %)" and str(floor).startswith("floor = 6: 17.6 %")
    assert trait(FACTOR, 100.0, 1.002).parts()[1] == "99.8 to 100.2"
    assert trait(FACTOR, 100.0, 30.0).parts()[1] == "3.3 to 3,000"
    assert trait(FACTOR, 1.0, 1.0 + 1e-9).parts()[1] == "1"
    assert trait(FACTOR, 0.0, 1.2).parts()[1] == "0"
    rows = Trait("rows", None, FACTOR, 0.5, 3.0, 1.7, 2.0, None, (0.0, 1.24), (1.0, 9.0))
    assert rows.parts()[1:] == ("0 to 1.2", "1 to 9") and rows.brief() == "rows 0 to 1.2"
    assert trait("value", 52_613.0, 13_040.0).parts()[1] == "53,000 ± 13,000"
    assert trait("value", 9.1234, 1.06).brief() == "income 9.1"
    assert trait(SHARE, 0.687, None).parts()[1] == "68.7 %"


def test_years_have_no_commas():
    """Neither columns whose values, here and elsewhere, may all be years, nor times."""
    year = Trait("year", None, "value", 1908.3, 1967.0, 12.0, 24.0)
    assert str(year) == "year: 1908 ± 12 (elsewhere 1967 ± 24)" and year.brief() == "year 1908"
    assert Trait("y", None, "value", 1908.34, 1967.0, 1.2, None).parts() == (
        "y", "1908.3 ± 1.2", "1967",
    )  # fmt: skip
    factor = trait(FACTOR, 1908.3, 1.01, 1950.0)
    assert factor.parts()[1:] == ("1889 to 1927", "1931 to 1970")
    assert factor.brief() == "income 1908"
    for elsewhere, spread in ((12_000.0, 12.0), (1908.0, 500.0), (900.0, 1.0)):
        assert "1,9" in Trait("x", None, "value", 1908.0, elsewhere, spread, 5.0).parts()[1]
    assert [shown_when(time) for time in (1908.0, 1908, 12_345.0, 1908.25, "2024-05")] == [
        "1908", "1908", "12,345", "1908.25", "2024-05",
    ]  # fmt: skip


def test_years_are_plain_on_every_card(tmp_path):
    rng = np.random.default_rng(0)
    old, new = rng.integers(1890, 1920, 200), rng.integers(1980, 2020, 200)
    years = np.concatenate([old, new]).astype(float)
    X = np.column_stack([years, rng.normal(size=400) + 9.0 * (years > 1950)])
    times = np.sort(years)
    mix = em.Mixture().partial_fit(X[np.argsort(years)], times=times)
    cards = mix.cards(names=["year", "x"])
    said = "\n".join(map(repr, cards))
    mix.report(tmp_path / "r.html", names=["year", "x"])
    for text in (said, (tmp_path / "r.html").read_text().partition("<script")[2]):
        assert re.search(r"\b(1|2),[09]\d\d ±", text) is None and re.search(r"19\d\d", text)


def test_cards_count_whole_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 4.0 * rng.integers(0, 2, size=(300, 1))
    mix = em.Mixture().partial_fit(X)
    for card in mix.cards():
        rows = re.search(r": ([\d,.]+) rows", repr(card))[1]
        assert float(rows) == pytest.approx(card.size, abs=0.5)
        assert "." not in rows or card.size < 1


def test_amounts_of_a_cluster_that_are_all_zero_are_written_as_zero():
    rng = np.random.default_rng(0)
    amounts = np.append(np.zeros(200), rng.lognormal(6.0, 1.0, 200))
    table = {"paid": amounts, "way": np.repeat(["none", "card"], 200)}
    blocks = em.Mixed({"paid": em.LogNormal(knee=50.0), "way": em.Categorical()})
    cards = em.Mixture(blocks, random_state=0).fit(table).cards()
    assert any(str(t).startswith("paid: 0 (elsewhere") for card in cards for t in card.traits)


def test_the_card_says_in_plain_words_how_near_others_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) + np.repeat([0.0, 4.0, 400.0], 200)[:, None]
    card = min(em.Mixture().fit(X).cards(X), key=lambda card: card.id)
    said = repr(card)
    assert "nats" not in said and "over a million times" in said
    (id, nats), *_ = card.nearest
    shown = re.search(rf"fit here: {id} \(([\d,.]+) times\)", said)
    assert float(shown[1].replace(",", "")) == pytest.approx(math.exp(nats), rel=0.05)
    alike = replace(card, nearest=((1, 0.0), (2, -1e-9), (3, math.log(2.5))))
    assert repr(alike).endswith("here: 1 (not at all), 2 (not at all), 3 (2.5 times)")
