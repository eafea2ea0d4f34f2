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
