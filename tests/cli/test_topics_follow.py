"""`evermix topics` that goes on with the documents of another file."""

import json
import shutil
from pathlib import Path

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
    named = [one for topic in found["topics"] for one in topic["documents"]]
    assert named and all(0 <= one["id"] < 30 and 0.05 <= one["share"] <= 1 for one in named)
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


def test_documents_are_not_learnt_twice(folder):
    assert begin().exit_code == 0
    assert follow("2002.jsonl", "b.json").exit_code == 0
    model = em.load("all.evermix")
    said = follow("2002.jsonl", "c.json")
    assert said.exit_code == 0 and "nothing new: all of them were learnt before" in said.stderr
    shutil.copy("2002.jsonl", "copy.jsonl")
    said = follow("copy.jsonl", "d.json")
    assert said.exit_code == 0 and "nothing new" in said.stderr
    shutil.copy("2001.jsonl", "first.jsonl")
    for source in ("2001.jsonl", "first.jsonl"):
        said = follow(source, "e.json")
        assert said.exit_code == 1
        assert "the documents of 2001.jsonl were learnt before" in said.stderr
    np.testing.assert_array_equal(em.load("all.evermix").components_, model.components_)


def test_files_that_were_learnt_may_not_grow(folder):
    assert begin().exit_code == 0
    assert follow("2002.jsonl", "b.json").exit_code == 0
    with open("2002.jsonl", "a") as file:
        file.write(json.dumps({"text": WORDS["sea"], "year": 2002}) + "\n")
    said = follow("2002.jsonl", "c.json")
    assert said.exit_code == 1 and "2002.jsonl has changed" in said.stderr
    assert "there were 30, now there are 31" in said.stderr
    with open("2001.jsonl", "a") as file:
        file.write(json.dumps({"text": WORDS["sea"], "year": 2002}) + "\n")
    said = follow("2001.jsonl", "c.json")
    assert said.exit_code == 1 and "the documents of 2001.jsonl were learnt before" in said.stderr


def test_words_that_the_fit_did_not_know_are_counted(folder):
    """The vocabulary is that of the first fit, which the run says."""
    assert begin().exit_code == 0
    with open("new.jsonl", "w") as file:
        for _ in range(10):
            text = WORDS["sea"] + " zebra giraffe lion tiger camel"
            file.write(json.dumps({"text": text, "year": 2003}) + "\n")
    said = follow("new.jsonl", "b.json")
    assert said.exit_code == 0
    n = len(WORDS["sea"].split())
    assert f"{5 / (n + 5):.1%} of their words are not among those of the first fit" in said.stderr


def test_more_documents_of_a_known_time_are_said_to_be_so(folder):
    """And times are shown as they stand in the file."""
    assert begin().exit_code == 0
    with open("more.jsonl", "w") as file:
        for year in (2001, 2002):
            file.write(json.dumps({"text": WORDS["sea"], "year": year}) + "\n")
    said = follow("more.jsonl", "b.json")
    assert said.exit_code == 0
    (line,) = [line for line in said.stderr.splitlines() if "of the same time" in line]
    assert "2001 (" in line and "2002" not in line
    with open("late.jsonl", "w") as file:
        file.write(json.dumps({"text": WORDS["sea"], "year": 1999}) + "\n")
    said = follow("late.jsonl", "c.json")
    assert "the last of which is 2002, got 1999" in said.stderr


def test_a_run_goes_on_in_another_place(folder, tmp_path):
    """Documents are known by what they are, also before the fit is whole."""
    assert begin().exit_code == 0
    shutil.copytree(tmp_path, tmp_path / "moved")
    run = ["--resume", "--draws", 6, "--out"]
    assert evermix("2001.jsonl", "--checkpoint", "all.evermix", *run, "a.json").exit_code == 0
    said = evermix("moved/2001.jsonl", "--checkpoint", "moved/all.evermix", *run, "b.json")
    assert said.exit_code == 0, said.stderr
    one, two = em.load("all.evermix"), em.load("moved/all.evermix")
    assert two.n_draws_ == 6 and not two.gone_on_
    np.testing.assert_array_equal(one.components_, two.components_)


def test_the_picture_is_of_all_files_and_replaces_none_in_silence(folder, monkeypatch):
    pytest.importorskip("matplotlib")
    titles, place = [], "evermix.cli.output.topic_report"
    monkeypatch.setattr(f"{place}.topic_overview", lambda **given: titles.append(given["title"]))
    monkeypatch.setattr(
        f"{place}.save_picture", lambda path, axes: Path(path).write_text("a picture")
    )
    assert "picture all.png" in begin().stderr
    said = follow("2002.jsonl", "b.json")
    assert "no new picture, since all.png is there" in said.stderr and len(titles) == 1
    assert "written anew" not in said.stderr
    again = ["2003.jsonl", "--checkpoint", "all.evermix", "--resume", "--out", "b.json", "--figure"]
    said = evermix(*again, "all.png")
    assert said.exit_code == 1 and "all.png exists already" in said.stderr
    said = evermix(*again, "new.png")
    assert "written anew, with what these documents bring: b.json." in said.stderr
    assert "30 new documents, 4 times in all" in said.stderr and "log joint" not in said.stderr
    assert "2003 added after the fit" in " ".join(said.stderr.split())
    assert titles[1].endswith(" in 3 files")
