"""`evermix topics` that goes on with the documents of another file."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app

WORDS = {"sea": "ship wave salt harbour sail", "sky": "cloud wing wind feather moon"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a file of texts for each of three years."""
    rng = np.random.default_rng(0)
    for year, share in ((2001, 0.1), (2002, 0.5), (2003, 0.9)):
        with (tmp_path / f"{year}.jsonl").open("w") as file:
            for _ in range(30):
                topic = "sky" if rng.random() < share else "sea"
                text = " ".join(rng.choice(WORDS[topic].split(), size=10))
                # Documents of the first file are of two years: a single one is refused.
                time = year - int(year == 2001 and rng.random() < 0.5)
                file.write(json.dumps({"text": text, "year": time}) + "\n")
    monkeypatch.chdir(tmp_path)


def evermix(*arguments):
    return CliRunner().invoke(app, ["topics", *map(str, arguments)])


def begin(burn_in=6):
    return evermix(
        "2001.jsonl", "--time-field", "year", "--checkpoint", "all.evermix", "--out", "a.json",
        "--burn-in", burn_in, "--draws", 4,
    )  # fmt: skip


def follow(source, out):
    return evermix(source, "--checkpoint", "all.evermix", "--resume", "--out", out)


def test_years_are_added_without_a_fit(folder):
    """As partial_fit does, and what was learnt once is not learnt again."""
    assert begin().exit_code == 0
    first = em.load("all.evermix")
    for year in (2002, 2003):
        said = follow(f"{year}.jsonl", f"{year}.json")
        assert said.exit_code == 0, said.stderr
    with open("2003.json") as file:
        found = json.load(file)
    model = em.load("all.evermix")
    assert model.gone_on_ and not first.gone_on_
    assert found["times"] == model.times_.tolist() == [2000, 2001, 2002, 2003]
    assert found["documents"] == 30
    np.testing.assert_allclose(np.transpose(found["evolution"]), model.evolution_, atol=1e-6)
    K = first.n_topics_
    np.testing.assert_array_equal(model.evolution_[:2, :K], first.evolution_)
    again = follow("2003.jsonl", "again.json")
    assert again.exit_code == 0, again.stderr
    np.testing.assert_array_equal(em.load("all.evermix").components_, model.components_)


def test_documents_of_the_past_are_refused(folder):
    assert begin().exit_code == 0
    assert follow("2003.jsonl", "b.json").exit_code == 0
    said = follow("2002.jsonl", "c.json")
    assert said.exit_code != 0 and "new times must come after" in said.stderr
    assert em.load("all.evermix").times_.tolist() == [2000, 2001, 2003]
    assert follow("2003.jsonl", "d.json").exit_code == 0  # the checkpoint is as it was
