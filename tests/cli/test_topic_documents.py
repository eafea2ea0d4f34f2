"""`evermix topics` and `predict` on documents: their topics, and the words that are counted."""

import json
import re
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.estimators.files import load_topics
from evermix.estimators.plain_words import topics_in_words
from evermix.io.unknown_words import UnknownWords
from helpers.topic_texts import SHORT, WORDS, evermix, topics, working_directory


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a small source of texts."""
    return working_directory(tmp_path, monkeypatch)


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("prior", ["hmngg", "hdp"])
def test_documents_and_predict_write_the_same(folder, prior):
    """Of those that were learnt, by a file of the fit and by the command predict."""
    with (folder / "texts.jsonl").open("a") as file:
        file.write(json.dumps({"id": 60, "text": "ship wave zebra", "year": 2003}) + "\n")
    topics("texts.jsonl", "--time-field", "year", "--prior", prior, "--documents", "d.jsonl")
    said = CliRunner().invoke(app, ["predict", "texts.evermix", "texts.jsonl"])
    assert said.exit_code == 0 and "61 rows predicted. 0.2% of their words" in said.stderr
    found = lines(said.stdout)
    assert lines((folder / "d.jsonl").read_text()) == found
    assert [line["id"] for line in found] == list(range(61))
    assert [line["unknown_words"] for line in found] == [0.0] * 60 + [0.333333]
    for line in found:
        shares = [topic["share"] for topic in line["topics"]]
        assert shares == sorted(shares, reverse=True) and 0.9 < sum(shares) < 1.0 + 1e-4


@pytest.mark.parametrize("options", [["--prior", "hdp"], ["--time-field", "day", "--min-df", "1"]])
def test_a_subject_of_unknown_words_is_named(folder, options):
    """Words of one document in fifty or more, not those of a few; the fit's own files are not.

    The command that is proposed then runs as it stands, with the options of the first fit.
    """
    topics("texts.jsonl", *options)
    texts = ["ship virus mask"] * 3 + ["sail virus"] * 3 + ["cloud mask"] * 2 + ["moon zebra"] * 4
    rows = [{"text": text, "day": "2003-03-01"} for text in [*texts, *["wave salt"] * 50]]
    (folder / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    warned = "warning: words that the first fit did not know are in 8 of 62 documents: virus, mask."
    again = "fit all documents again, with the options of the first fit: evermix topics "
    said = CliRunner().invoke(app, ["predict", "texts.evermix", "new.jsonl", "--batch", "5"])
    assert warned in said.stderr and again in said.stderr
    predicted = said.stderr.rstrip().rsplit(again)[-1]
    said = evermix("new.jsonl", "--checkpoint", "texts.evermix", "--resume", "--out", "new.json")
    command = said.stderr.rstrip().rsplit(again)[-1]
    assert warned in said.stderr and command == predicted
    assert evermix(*shlex.split(command)).exit_code == 0
    before, after = (
        load_topics(name)[1]["topics"]["settings"] for name in ("texts.evermix", "texts-2.evermix")
    )
    assert {name for name in before if before[name] != after[name]} == {"source", "out"}
    said = CliRunner().invoke(app, ["predict", "texts.evermix", "texts.jsonl"])
    assert said.exit_code == 0 and "did not know" not in said.stderr


def test_rare_words_of_a_first_fit_are_counted_and_not_kept(folder, monkeypatch):
    monkeypatch.setattr(UnknownWords, "add", None)
    with (folder / "texts.jsonl").open("a") as file:
        file.write(json.dumps({"id": 60, "text": "ship wave zebra", "year": 2003}) + "\n")
    topics("texts.jsonl", "--prior", "hdp", "--documents", "d.jsonl")
    assert lines((folder / "d.jsonl").read_text())[60]["unknown_words"] == 0.333333


def test_topics_over_time_want_times_to_predict(folder):
    rng = np.random.default_rng(0)
    X, years = rng.poisson(2.0, size=(12, 4)), np.repeat([2001, 2002], 6)
    em.TopicModel(burn_in=2, draws=2, random_state=0).fit(X, times=years).save("topics.evermix")
    np.save("rows.npy", X)
    said = CliRunner().invoke(app, ["predict", "topics.evermix", "rows.npy"])
    assert said.exit_code == 1 and "such as --time-field year" in said.stderr


def test_the_command_that_goes_on_works_as_it_stands(folder):
    """As ``info`` and ``report`` print it."""
    evermix("texts.jsonl", "--time-field", "year", "--out", "t.json", *SHORT)
    info = json.loads(CliRunner().invoke(app, ["info", "texts.evermix", "--json"]).stdout)
    command = re.search(r"\((evermix topics texts.jsonl .* --draws 8) goes on", info["log_joint"])[
        1
    ]
    page = CliRunner().invoke(app, ["report", "texts.evermix", "--out", "-"]).stdout
    assert command in page and "set_params" not in page
    said = CliRunner().invoke(app, command.split()[1:])
    assert said.exit_code == 0 and em.load("texts.evermix").n_draws_ == 8, said.stderr


def test_stop_words_and_rare_words_are_left_out(folder):
    every = {word for words in WORDS.values() for word in words.split()}
    (folder / "stop.txt").write_text("ship\nMoon wave\n")
    settings = ["--time-field", "year", "--stop-words", "stop.txt"]
    reported = topics("texts.jsonl", *settings)["topics"]
    found = {word for topic in reported for word in topic["words"]}
    assert found == every - {"ship", "moon", "wave"}
    said = evermix("texts.jsonl", "--time-field", "year", "--min-df", 61, "--overwrite")
    assert said.exit_code == 1 and "in at least 61 texts" in said.stderr
    said = evermix("texts.jsonl", "--time-field", "year", "--stop-words", "no.txt", "--overwrite")
    assert said.exit_code == 1 and "english, function, none or a file" in said.stderr
    with (folder / "texts.jsonl").open("a") as file:
        file.write(json.dumps({"text": "the rare rare rare", "year": 2001}) + "\n")
    assert topics("texts.jsonl", "--time-field", "year")["vocabulary"] == 10
    settings = ["--time-field", "year", "--min-df", 1]
    assert topics("texts.jsonl", *settings)["vocabulary"] == 11
    assert topics("texts.jsonl", *settings, "--stop-words", "none")["vocabulary"] == 12


def test_a_picture_lies_beside_the_checkpoint(folder, monkeypatch):
    """Unless another file is there, which only --overwrite replaces."""
    pytest.importorskip("matplotlib")
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    said = evermix("texts.jsonl", "--time-field", "year", *SHORT)
    assert said.exit_code == 0 and "picture texts.png" in said.stderr
    assert (folder / "texts.png").read_bytes().startswith(b"\x89PNG")
    (folder / "texts.png").write_text("mine")
    (folder / "texts.evermix").unlink()
    said = evermix("texts.jsonl", "--time-field", "year", *SHORT)
    assert said.exit_code == 0 and (folder / "texts.png").read_text() == "mine"


def test_pictures_and_reports_count_topics_in_the_same_words(folder):
    """Those of the picture count the files; matplotlib repeats texts in comments of SVG."""
    pytest.importorskip("matplotlib")
    (folder / "more.jsonl").write_text((folder / "texts.jsonl").read_text())
    files = ["--curves", "curves.svg", "--checkpoint", "both.evermix", "--overwrite"]
    said = evermix("texts.jsonl", "more.jsonl", "--time-field", "year", *files, *SHORT)
    counted = topics_in_words(em.load("both.evermix").weights_)
    assert said.exit_code == 0 and f"{counted}, in the draw" in " ".join(said.stderr.split()), (
        said.output
    )
    assert f"<!-- {counted} in 2 files -->" in (folder / "curves.svg").read_text()
    said = CliRunner().invoke(app, ["report", "both.evermix", "--out", "-"])
    assert f"<h1>{counted}</h1>" in said.stdout


@pytest.fixture(scope="module")
def with_tiny_topics(tmp_path_factory):
    """A file of large topics, and of tiny ones: words that a single document has."""
    rng, counts = np.random.default_rng(0), np.zeros((302, 8), dtype=np.int64)
    counts[:150, :3], counts[150:300, 3:6] = rng.poisson(8.0, (2, 150, 3))
    counts[300, 6] = counts[301, 7] = 15
    path = tmp_path_factory.mktemp("tiny") / "tiny.evermix"
    em.TopicModel(em.HDP(), 0.5, burn_in=20, draws=5, random_state=0).fit(counts).save(path)
    return path


def test_info_and_the_message_of_reports_count_topics_in_the_same_words(with_tiny_topics):
    model = em.load(with_tiny_topics)
    assert model.weights_.min() < 0.005
    counted = topics_in_words(model.weights_)
    assert counted.startswith(f"{model.n_topics_} topics, ")
    said = CliRunner().invoke(app, ["info", str(with_tiny_topics)]).stdout
    assert " ".join(said.split()).startswith(counted)
    (fact,) = (line for line in said.splitlines() if line.startswith("topics "))
    assert fact.split(maxsplit=1)[1].strip() == counted
    page = with_tiny_topics.with_suffix(".html")
    said = CliRunner().invoke(app, ["report", str(with_tiny_topics), "--out", str(page)])
    assert f"{page.name} shows {counted}." in " ".join(said.stderr.split())
    assert f"<h1>{counted}</h1>" in page.read_text()


def test_terminals_get_cards(folder, monkeypatch):
    monkeypatch.setattr("evermix.cli.output.topic_report._at_terminal", lambda: True)
    said = evermix("texts.jsonl", "--time-field", "year", *SHORT)
    assert said.exit_code == 0 and said.stdout.startswith("The largest topics\n\ntopic 0: ")
    assert " in 2003" in said.stdout and "documents with most of it:\n    " in said.stdout
    assert em.load("texts.evermix").n_topics_ <= 20 and "--coarse" not in said.stdout


@pytest.mark.parametrize("titled", [True, False])
def test_reports_call_documents_by_their_ids_and_titles(folder, titled):
    texts = [json.loads(line) for line in (folder / "texts.jsonl").read_text().splitlines()]
    for i, row in enumerate(texts):
        row |= {"id": f"doc-{i}"} | ({"title": f"On no. {i}"} if titled else {})
    (folder / "titled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts))
    found = topics("titled.jsonl", "--time-field", "year")["topics"]
    titles = [row["title"] if titled else row["text"][:20] for row in texts]
    for each in (each for topic in found for each in topic["documents"]):
        assert each["title"].startswith(titles[int(each["id"].removeprefix("doc-"))])
    said = CliRunner().invoke(app, ["report", "titled.evermix", "--out", "-"])
    first = found[0]["documents"][0]
    assert said.exit_code == 0 and f"{first['id']}: {first['title']}" in said.stdout
    assert '"row ' not in said.stdout


def test_titles_may_be_given_in_python(tmp_path):
    rng = np.random.default_rng(0)
    model = em.TopicModel(burn_in=2, draws=2, random_state=0)
    model.fit(rng.poisson(2.0, size=(12, 4)))
    model.report(tmp_path / "t.html", documents=[f"Essay {i}" for i in range(12)])
    page = (tmp_path / "t.html").read_text()
    assert "Essay" in page and f"the one that is shown has {model.n_topics_}" in page
