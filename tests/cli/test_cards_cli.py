"""``evermix info`` shows cards, ``evermix explain`` why rows are in their clusters."""

import json

import numpy as np
import pytest

import evermix as em
from helpers.commands import evermix

WORDS = ["invoice refund payment billing", "printer paper toner tray", "password login account"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with open("texts.jsonl", "w") as file:
        for i in range(300):
            text = " ".join(rng.choice(WORDS[i % 3].split(), size=6))
            file.write(json.dumps({"id": f"T{i}", "text": text}) + "\n")
    with open("people.csv", "w") as file:
        file.write("age,city\n")
        for i in range(200):
            file.write(f"{rng.normal(30 + 40 * (i % 2)):.1f},{('Rome', 'Oslo')[i % 2]}\n")
    return tmp_path


def test_info_shows_cards_of_texts(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    found = json.loads(evermix("info", "t.evermix", "--json").stdout)["clusters"]
    mix = em.load("t.evermix")
    assert [cluster["id"] for cluster in found] == [card.id for card in mix.cards()]
    for cluster in found:
        assert {"size", "share", "recent_share", "trend", "born", "age", "merged"} <= set(cluster)
        assert any(set(cluster["words"]) <= set(topic.split()) for topic in WORDS)
        assert cluster["traits"][0]["column"] == cluster["words"][0]
        assert set(cluster["examples"][0]["values"]) <= set(" ".join(WORDS).split())
        assert cluster["nearest"][0]["id"] != cluster["id"]
    shown = evermix("info", "t.evermix").stdout
    assert "words that set it apart" in shown and "lately" in shown and "nearest" in shown


def test_info_shows_cards_of_tables(folder):
    evermix("fit", "people.csv", "--out", "out", "--checkpoint", "p.evermix", "--quiet")
    found = json.loads(evermix("info", "p.evermix", "--json").stdout)["clusters"]
    assert {trait["level"] for each in found for trait in each["traits"]} == {None, "Rome", "Oslo"}
    assert "city = Oslo: 100 % (elsewhere 0 %)" in evermix("info", "p.evermix").stdout


def test_explain_says_why_in_words(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    shown = evermix("explain", "t.evermix", "texts.jsonl", "--limit", 2).stdout
    assert shown.startswith("T0: cluster ") and "T1: " in shown and "T2" not in shown
    assert "log odds" in shown and "invoice" in shown
    lines = evermix("explain", "t.evermix", "texts.jsonl", "--json", "--limit", 5).stdout
    found = [json.loads(line) for line in lines.splitlines()]
    assert [each["id"] for each in found] == ["T0", "T1", "T2", "T3", "T4"]
    with open("out") as file:
        answers = [json.loads(line)["cluster"] for line in file][:5]
    for each, answer in zip(found, answers, strict=True):
        assert each["cluster"] == answer
        assert sum(c["log_odds"] for c in each["contributions"]) == pytest.approx(each["log_odds"])


def test_explain_names_columns_and_levels(folder):
    evermix("fit", "people.csv", "--out", "out", "--checkpoint", "p.evermix", "--quiet")
    shown = evermix("explain", "p.evermix", "people.csv", "--limit", 1, "--against", -1).stdout
    assert "not a new cluster" in shown and "city = Rome" in shown and "age = " in shown
    assert (
        "no cluster 7"
        in evermix("explain", "p.evermix", "people.csv", "--against", 7, status=1).stderr
    )
