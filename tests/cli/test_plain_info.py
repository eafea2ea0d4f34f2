"""``evermix info`` speaks plainly; ``--all`` and ``--json`` have the names of all parts."""

import json

import numpy as np
import pytest

from helpers.commands import evermix

JARGON = "Mixed(", "Gaussian(", "PitmanYor", "MemoizedVB", "ADF(", "elbo", "Multinomial"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    towns = np.array(["Rome", "Oslo"])
    rows = [f"{rng.normal(50 + 30 * (i % 2)):.1f},{towns[i % 2]}" for i in range(200)]
    (tmp_path / "people.csv").write_text("weight,town\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_tables_are_described_in_plain_words(folder):
    evermix("fit", "people.csv", "--out", "out.csv")
    shown = evermix("info", "people.evermix").stdout
    assert not [word for word in JARGON if word in shown]
    assert "a table with 2 columns: 1 of numbers, 1 of categories" in shown
    assert "(higher is better)" in shown
    assert "--all shows all clusters, and the settings of the model." in shown
    everything = evermix("info", "people.evermix", "--all").stdout
    assert "Mixed(" in everything
    assert "PitmanYor(" in everything
    assert "elbo" in everything
    found = json.loads(evermix("info", "people.evermix", "--json").stdout)
    assert found["data"] in shown
    assert found["family"].startswith("Mixed(")
    assert found["engine"].startswith("MemoizedVB(")


def test_streams_that_forget_say_how(folder):
    evermix("stream", "people.csv", "--out", "out.jsonl", "--half-life", "1000")
    shown = evermix("info", "out.jsonl.evermix").stdout
    assert "a row counts half as much after 1,000 rows" in shown
    assert not [word for word in JARGON if word in shown]
    assert "Exponential(" in evermix("info", "out.jsonl.evermix", "--all").stdout
