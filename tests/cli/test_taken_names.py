"""A command that finds a model under the name of its own: nothing is lost."""

import json
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli.app import app

ROWS = "fit", "rows.csv"
OTHER = (
    "error: cannot go on from {}: it was made from other rows than there are now in rows.csv. "
    "Start again with --overwrite or another --checkpoint NAME, or put the old rows back.\n"
)
TOPICS = "topics", "rows.csv", "--prior", "hdp", "--burn-in", "2", "--draws", "2"


def evermix(*arguments, status=0):
    result = CliRunner().invoke(app, [str(word) for word in arguments])
    assert result.exit_code == status, result.stderr
    return result.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = np.array(["paper", "printer", "jam", "password", "reset", "link"])
    with open("rows.csv", "w") as file:
        file.write("a,b,text\n")
        for x, y in rng.normal(size=(60, 2)) + 8 * rng.integers(0, 2, size=(60, 1)):
            text = " ".join(rng.choice(words[:3] if x > 4 else words[3:], 3))
            file.write(f"{x:.3f},{y:.3f},{text}\n")
    return tmp_path


def test_a_fit_that_is_there_is_read_and_not_learnt_again(folder):
    evermix(*ROWS, "--ignore", "text")
    before = (folder / "rows.evermix").read_bytes()
    said = evermix(*ROWS, "--ignore", "text", "--keep-fields", "--out", "labels.csv")
    assert "rows.evermix holds this run: going on from it (--overwrite starts again)" in said
    assert len((folder / "labels.csv").read_text().splitlines()) == 61
    evermix(*ROWS, "--ignore", "text", "--out", "-")  # also if the model names another place
    evermix(*ROWS, "--ignore", "text", "--out", "fresh.csv", "--overwrite")
    evermix(*ROWS, "--ignore", "text", "--out", "again.csv")
    assert (folder / "again.csv").read_text() == (folder / "fresh.csv").read_text()
    assert em.load("rows.evermix").n_clusters_ == 2 and before
    said = evermix(*ROWS, "--ignore", "text", "--out", "again.csv", status=1)
    assert "again.csv exists already" in said


def test_periods_that_the_dates_have_chosen_are_no_other_option(folder):
    rows = (folder / "rows.csv").read_text().splitlines()[1:]
    dated = (
        f"{1 + row % 9}.5.{2001 + row % 3},{text.split(',')[2]}" for row, text in enumerate(rows)
    )
    (folder / "rows.csv").write_text("\n".join(["day,text", *dated]))
    topics = "topics", "rows.csv", "--time-field", "day", "--burn-in", 2, "--draws", 2
    evermix(*topics)
    there = "holds this run: going on from it"
    assert there in evermix(*topics, "--out", "a.json")
    assert there in evermix(*topics)
    assert em.load("rows.evermix").times_.tolist() == ["2001", "2002", "2003"]
    assert "with another --period" in evermix(*topics, "--period", "month", status=1)


def test_other_options_and_other_rows_name_all_ways_out(folder):
    evermix(*ROWS, "--ignore", "text")
    before = (folder / "rows.evermix").read_bytes()
    said = evermix(*ROWS, "--ignore", "text", "--seed", 4, status=1)
    assert "It is of `evermix fit rows.csv` with another --seed." in said
    assert all(way in said for way in ("--resume", "--checkpoint NAME", "--overwrite"))
    (folder / "other").mkdir()
    (folder / "other" / "rows.csv").write_text((folder / "rows.csv").read_text())
    said = evermix("fit", "other/rows.csv", "--ignore", "text", status=1)
    assert "of `evermix fit rows.csv`. Keep it with another --checkpoint NAME" in said
    with open("rows.csv", "a") as file:
        file.write("1,2,more\n")
    said = evermix(*ROWS, "--ignore", "text", status=1)
    assert said.endswith(OTHER.format("rows.evermix")) and "holds this run" not in said
    assert (folder / "rows.evermix").read_bytes() == before


@pytest.mark.parametrize("years", [(2000, 2001), (2000, 2005)])
def test_topics_of_other_documents_claim_nothing(folder, years):
    """Neither if times are those of the fit, nor if there are new ones."""
    timed = ["topics", "texts.jsonl", "--time-field", "year", *TOPICS[4:], "--out", "t.json"]

    def write(words, years):
        rows = [{"text": words, "year": years[i % 2]} for i in range(20)]
        (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    write("sea ship wave", (2000, 2001))
    evermix(*timed, "--figure", "t.png")
    (folder / "t.json").unlink()
    write("ship wave", years)
    before = (folder / "texts.evermix").read_bytes()
    said = evermix(*timed, status=1)
    assert said.endswith(OTHER.format("texts.evermix").replace("rows.csv", "texts.jsonl"))
    assert "holds this run" not in said and "fit." not in said
    assert (folder / "texts.evermix").read_bytes() == before
    write("sea ship wave", (2000, 2001))
    assert "texts.evermix holds this run: going on from it" in evermix(*timed)


def test_a_model_of_another_command_or_of_python_stays(folder):
    evermix(*ROWS, "--ignore", "text")
    before = (folder / "rows.evermix").read_bytes()
    assert "rows.topics.evermix" in evermix(*TOPICS, "--out", "topics.json")
    evermix(*TOPICS, "--resume", "--out", "more.json")  # of its own file
    evermix(*TOPICS, "--overwrite", "--out", "topics.json")
    assert (folder / "rows.evermix").read_bytes() == before
    (folder / "rows.evermix").unlink()
    em.Mixture().fit(np.zeros((5, 2)) + np.arange(5)[:, None]).save("rows.evermix")
    assert "rows.fit.evermix" in evermix(*ROWS, "--ignore", "text")
    said = evermix("stream", "rows.csv", "--checkpoint", "rows.evermix", status=1)
    assert "It was saved in Python. Keep it with another --checkpoint NAME" in said


def test_pictures_that_only_the_checkpoint_names_are_left_out_without_a_question(folder):
    timed = [*TOPICS, "--time-field", "year"]
    lines = [{"text": f"word{i % 3} word{i % 5}", "year": 2000 + i % 4} for i in range(40)]
    (folder / "rows.csv").rename("old.csv")
    (folder / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    timed[1:4] = ["rows.jsonl"]
    evermix(*timed, "--out", "a.json", "--figure", "a.png")
    said = evermix(*timed, "--out", "b.json", "--resume")
    assert (
        f"not written anew, since the command line does not name it: --figure {folder / 'a.png'}"
        in said
    )


def test_a_run_that_goes_on_says_where_the_earlier_one_wrote_and_what_to_type(folder):
    def write(name, years):
        lines = [{"text": f"word{i % 3} word{i % 5}", "year": years[i % 2]} for i in range(40)]
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))

    write("old.jsonl", (2000, 2001))
    write("new.jsonl", (2002, 2003))
    model = "--checkpoint", "old.evermix"
    timed = "--time-field", "year", "--draws", 2, "--burn-in", 2, "--out", "a.json"
    evermix("topics", "old.jsonl", *timed)
    more = "--figure", "b.png", "--out", "b.json"
    evermix("topics", "new.jsonl", *model, "--resume", *more)
    said = evermix("topics", "new.jsonl", *model, "--top-words", 7, "--resume", status=1)
    assert f"wrote to {folder / 'b.json'} (--out) and {folder / 'b.png'} (--figure)" in said
    command = shlex.split(said.partition("name them: evermix ")[2])
    assert {"--out", "--figure", "--top-words", "7", "--resume"} <= set(command)
    evermix(*command)
    evermix(*command)
    info = CliRunner().invoke(app, ["info", "old.evermix"]).stdout
    assert "old.jsonl" in info and "new.jsonl" in info and "80" in info
    facts = json.loads(CliRunner().invoke(app, ["info", "old.evermix", "--json"]).stdout)
    assert facts["documents"] == 80 and len(facts["source"]) == 2
