"""What was decided of the columns, and which cells are missing, in words."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli.app import app
from evermix.estimators.columns_in_words import (
    column_groups,
    count_missing,
    groups_in_a_line,
    groups_in_words,
    missing_in_words,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 300)
    income = np.exp(10 + 2 * z + rng.normal(size=300) / 3)
    spend = income * np.exp(rng.normal(size=300) / 4) / 100
    with open("people.csv", "w") as file:
        file.write("day,city,income,spend,age\n")
        for i in range(300):
            age = "" if i % 10 == 0 else f"{30 + 20 * z[i] + rng.normal():.2f}"
            city = "" if i < 4 else ("Rome", "Oslo")[z[i]]
            file.write(f"2024-01-{1 + i % 28:02d},{city},{income[i]:.2f},{spend[i]:.2f},{age}\n")
    return tmp_path


def evermix(*arguments):
    result = CliRunner().invoke(app, [str(word) for word in arguments])
    assert result.exit_code == 0, result.stderr
    return result


@pytest.mark.filterwarnings("ignore:column 'day' holds dates")
def test_info_fit_and_report_say_what_was_decided_of_columns(folder):
    said = evermix("fit", "people.csv", "--out", "labels.csv").stderr
    assert "missing cells: 34 of 1,200 (age 30, city 4): clusters are found by what" in said
    assert "columns: " in said and "1 category, 1 ignored; 2 of them on the log scale" in said
    shown = evermix("info", "people.evermix").stdout
    assert "34 of 1,200" in shown and "(ratios count, not differences)" in shown
    columns = json.loads(evermix("info", "people.evermix", "--json").stdout)["columns"]
    assert columns["categories"] == ["city"] and columns["ignored"] == ["day"]
    assert columns["on the log scale"] == ["income", "spend"]
    numbers = columns.get("vary together", []) + columns.get("each on its own", [])
    assert sorted(numbers) == ["age", "income", "spend"]
    evermix("report", "people.evermix")
    page = (folder / "people.html").read_text()
    assert "34 of 1,200 (age 30, city 4)" in page and "on the log scale" in page
    assert '"seen":' not in page and 'over a million times"]' in page


def test_groups_of_every_family():
    assert column_groups(em.Gaussian(), ["a", "b"]) == {"vary together": ["a", "b"]}
    assert column_groups(em.DiagonalGaussian(), ["a", "b"]) == {"each on its own": ["a", "b"]}
    assert column_groups(em.Gaussian()) == {}
    mixed = em.Mixed({"x": em.LogNormal(), "y": em.Bernoulli(), "z": em.Gaussian()}, ignored=["i"])
    groups = column_groups(mixed)
    assert groups == {
        "each on its own": ["x", "z"],
        "on the log scale": ["x"],
        "yes or no": ["y"],
        "ignored": ["i"],
    }
    assert groups_in_a_line(groups).endswith("1 yes or no, 1 ignored; 1 of them on the log scale")
    many = groups_in_words({"ignored": [str(i) for i in range(20)]})
    assert many == {"ignored": "0, 1, 2, 3, 4, 5, 6, 7 and 12 more"}


def test_missing_cells_are_those_of_columns_that_are_learnt():
    X = {"x": np.array([1.0, np.nan]), "i": np.array([None, "a"], dtype=object)}
    assert count_missing(X) == {"x": 1, "i": 1} and count_missing(np.zeros((2, 2))) == {}
    mixed = em.Mixed({"x": em.Gaussian()}, ignored=["i"])
    assert missing_in_words(count_missing(X), mixed, 2).startswith("1 of 2 (x 1)")
    assert missing_in_words({}, mixed, 2) is None


def test_the_cards_of_a_fit_say_nothing_of_an_order_of_rows():
    X = np.random.default_rng(0).normal(size=(200, 2))
    mix = em.Mixture(engine=em.ADF()).fit(X)
    assert all(card.last_seen is None and card.born is None for card in mix.cards())
    mix = em.Mixture(engine=em.ADF()).partial_fit(X)
    assert all(card.last_seen is not None for card in mix.cards())
