"""A topic has one name: in tables, answers, files, pictures and reports."""

import json

import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from helpers.topic_texts import topics, working_directory


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a small source of texts."""
    return working_directory(tmp_path, monkeypatch)


def said_of(*words):
    said = CliRunner().invoke(app, list(map(str, words)))
    assert said.exit_code == 0, said.stderr
    return said.stdout


def test_a_topic_has_the_same_name_everywhere(folder):
    found = topics("texts.jsonl", "--time-field", "year")
    model = em.load("texts.evermix")
    names = {card.id: card.name for card in model.cards()}
    assert names == {k: ", ".join(w) for k, w in enumerate(model.top_words(3, by="frex"))}
    assert names != {k: ", ".join(w) for k, w in enumerate(model.top_words(3))}
    assert {topic["topic"]: topic["name"] for topic in found["topics"]} == names
    found = topics("texts.jsonl", "--time-field", "year", "--top-words", 1)
    assert {topic["topic"]: topic["name"] for topic in found["topics"]} == names
    info = json.loads(said_of("info", "texts.evermix", "--json", "--all"))
    assert {topic["topic"]: topic["name"] for topic in info["topics"]} == names
    assert all(name in said_of("info", "texts.evermix", "--all") for name in names.values())
    for line in map(json.loads, said_of("predict", "texts.evermix", "texts.jsonl").splitlines()):
        assert all(one["name"] == names[one["topic"]] for one in line["topics"])
    labels = [label.get_text() for label in em.plot.topics(model)[2].get_yticklabels()]
    panels = [axes.get_title("left") for axes in em.plot.topic_curves(model)]
    for k, name in names.items():
        assert any(label.startswith(f"{k}: {name}") for label in labels)
        assert any(panel.startswith(f"{k}: {name}") for panel in panels)
    items = model._report(None, "", None).items
    assert {item["id"]: ", ".join(item["words"][:3]) for item in items} == names
    for k, name in names.items():
        assert repr(model.card(k)).splitlines()[1].startswith(f"  what sets it apart: {name}")


def test_a_name_that_was_given_is_shown_everywhere(folder):
    """And the file goes on with more documents; other edits are for clusters."""
    topics("texts.jsonl", "--prior", "hdp")
    some = (folder / "texts.jsonl").read_text().splitlines(keepends=True)[:40]
    (folder / "more.jsonl").write_text("".join(some))
    runner = CliRunner()
    runner.invoke(app, ["edit", "texts.evermix", "rename", "0", "harbour", "news"])
    said = runner.invoke(app, ["edit", "texts.evermix", "rename", "harbour news", "port"])
    assert "topic 0 is called port." in said.stderr
    info = json.loads(said_of("info", "texts.evermix", "--json", "--all"))
    assert info["topics"][0]["name"] == "port" and info["topics"][1]["name"] != "port"
    assert "port" in said_of("info", "texts.evermix")
    assert '"name":"port"' in said_of("report", "texts.evermix", "--out", "-")
    more = ["--checkpoint", "texts.evermix", "--resume", "--out", "more.json"]
    said_of("topics", "more.jsonl", *more, "--documents", "d.jsonl")
    for text in (
        said_of("predict", "texts.evermix", "more.jsonl"),
        (folder / "d.jsonl").read_text(),
    ):
        named = [one for line in map(json.loads, text.splitlines()) for one in line["topics"]]
        assert {one["name"] == "port" for one in named if one["topic"] == 0} == {True}
    assert json.loads((folder / "more.json").read_text())["topics"][0]["name"] == "port"
    said = runner.invoke(app, ["edit", "texts.evermix", "rename", "port"])
    assert "topic 0 has no name." in said.stderr and em.load("texts.evermix").names_ == {}
    for words, error in {
        ("rename", "99", "x"): "there is no topic 99; they are 0 to",
        ("rename", "sails", "x"): "no topic has the name 'sails'. No topic has a name yet. Ids are",
        ("merge", "0", "1"): "`evermix edit MODEL rename` names topics",
    }.items():
        said = runner.invoke(app, ["edit", "texts.evermix", *words])
        assert said.exit_code == 1 and error in said.stderr
