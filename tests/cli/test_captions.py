"""Clusters are named in answers and edits: by hand, or by what sets them apart."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import evermix as em
from helpers.commands import TICKETS, evermix, write_tickets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tickets("texts.jsonl")
    rng = np.random.default_rng(0)
    with open("people.csv", "w") as file:
        file.write("age,city\n")
        for i in range(200):
            file.write(f"{rng.normal(30 + 40 * (i % 2)):.1f},{('Rome', 'Oslo')[i % 2]}\n")
    return tmp_path


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def said_of(*arguments):
    return " ".join(evermix(*arguments).stderr.split())


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_names_of_clusters_are_those_of_their_cards(folder, command):
    evermix("fit", "people.csv", "--out", "plain.csv", "--checkpoint", "p.evermix", "--quiet")
    if command == "predict":
        evermix("predict", "p.evermix", "people.csv", "--out", "named.csv", "--quiet")
    found = table("named.csv" if command == "predict" else "plain.csv")
    cards = {card.id: card for card in em.load("p.evermix").cards()}
    for row in found:
        traits = cards[int(row["cluster"])].traits[:3]
        assert row["name"] == ", ".join(trait.brief() for trait in traits)
    assert {"Rome", "Oslo"} == {
        word for row in found for word in row["name"].split() if word[0] in "RO"
    }


def test_columns_without_names_name_nothing(folder):
    rng = np.random.default_rng(0)
    np.save("points.npy", rng.normal(size=(200, 2)) + 9 * rng.integers(0, 2, size=(200, 1)))
    for engine in ("auto", "dpmeans", "gibbs"):
        model = f"{engine}.evermix"
        options = ["--penalty", 20] if engine == "dpmeans" else []
        evermix("fit", "points.npy", "--engine", engine, "--out", "a.csv", "--overwrite",
                "--checkpoint", model, "--quiet", *options)  # fmt: skip
        assert "name" not in table("a.csv")[0]
        evermix("predict", model, "points.npy", "--out", f"{engine}.csv", "--quiet")
        columns = set(table(f"{engine}.csv")[0])
        assert columns == {"id", "cluster", "probability", "log_density"} | (
            set() if engine == "dpmeans" else {"novelty"}
        )
    evermix("edit", "auto.evermix", "rename", 0, "left")
    evermix("predict", "auto.evermix", "points.npy", "--out", "hand.csv", "--quiet")
    assert {(row["cluster"], row["name"]) for row in table("hand.csv")} == {
        ("0", "left"),
        ("1", ""),
    }


def test_predict_says_where_its_answers_are_and_how_many_rows_look_new(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    np.save("points.npy", X)
    np.save("new.npy", np.vstack([X[:5], 1e4 + X[:3]]))
    evermix("fit", "points.npy", "--out", "a.csv", "--checkpoint", "m.evermix", "--quiet")
    said = said_of("predict", "m.evermix", "new.npy", "--out", "found.csv", "--batch", 4)
    new = sum(float(row["novelty"]) > 0.5 for row in table("found.csv"))
    assert new == 3
    assert said == (
        "evermix: 8 rows predicted, written to found.csv. 3 look new: of no cluster, with novelty "
        "above 0.5."
    )
    assert "8 rows predicted. 3 look new" in said_of("predict", "m.evermix", "new.npy")
    assert not said_of("predict", "m.evermix", "new.npy", "--out", "quiet.csv", "--quiet")


def test_texts_that_look_new_are_counted_beside_unknown_words(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    said = said_of("predict", "t.evermix", "texts.jsonl", "--out", "found.jsonl")
    assert "300 rows predicted, written to found.jsonl. 0 look new" in said
    assert said.endswith("0.0% of their words are unknown.")
    for line in map(json.loads, Path("found.jsonl").read_text().splitlines()):
        assert any(set(line["name"].split(", ")) <= set(topic.split()) for topic in TICKETS)


def test_edits_show_what_they_have_left(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    mix = em.load("t.evermix")
    a, b = mix.cluster_ids_.tolist()[:2]
    sizes = {card.id: card.size for card in mix.cards()}
    said = evermix("edit", "t.evermix", "merge", a, b).stderr.splitlines()
    assert said[0] == f"evermix: clusters {a}, {b} are cluster {a} now, pinned:"
    assert said[1].startswith(f"  {a}: {sizes[a] + sizes[b]:,.0f} rows, ")
    assert "`evermix predict t.evermix ROWS --out FILE` writes them anew" in said[-1]
    said = evermix("edit", "t.evermix", "split", a, "--rows", "texts.jsonl").stderr.splitlines()
    new = em.load("t.evermix").lineage_.next_id - 1
    assert said[0] == f"evermix: cluster {a} has become {a} and {new}, pinned:"
    assert "files of answers are as they were" in said[-1]
    for line, id in zip(said[1:3], (a, new), strict=True):
        head, words = line.split(" rows, ")
        assert head.startswith(f"  {id}: ")
        assert any(set(words.split(", ")) <= set(topic.split()) for topic in TICKETS)


def test_parts_are_set_apart_from_each_other(folder):
    """The two parts differ in height, and both from the third cluster in width."""
    rng, centres = np.random.default_rng(0), np.array([[0, 0], [0, 15], [400, 0]])
    with open("sizes.csv", "w") as file:
        file.write("width,height\n")
        for i in range(300):
            width, height = centres[i % 3] + rng.normal(size=2)
            file.write(f"{width:.3f},{height:.3f}\n")
    evermix("stream", "sizes.csv", "--out", "o", "--checkpoint", "m.evermix", "--quiet")
    a, b, _ = em.load("m.evermix").predict(centres).tolist()
    evermix("edit", "m.evermix", "rename", a, "narrow")
    said = evermix("edit", "m.evermix", "merge", a, b).stderr.splitlines()
    assert said[1].startswith(f"  {a} (narrow): 200 rows, width ")
    said = evermix("edit", "m.evermix", "split", "narrow", "--rows", "sizes.csv").stderr
    for line in said.splitlines()[1:3]:
        assert line.split(" rows, ")[1].startswith("height ")
    assert "(narrow): 100 rows, height" in said
