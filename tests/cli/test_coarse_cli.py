"""Fewer, coarser clusters and topics on the command line."""

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
    return tmp_path


def json_lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_info_joins_clusters_of_texts(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    mix = em.load("t.evermix")
    found = json.loads(evermix("info", "t.evermix", "--coarse", 2, "--json").stdout)
    assert len(found["clusters"]) == mix.n_clusters_ and len(found["coarse"]) == 2
    ids = [id for one in found["coarse"] for id in one["clusters"]]
    assert sorted(ids) == sorted(mix.cluster_ids_.tolist())
    assert sum(one["share"] for one in found["coarse"]) == pytest.approx(1.0)
    for one in found["coarse"]:
        assert one["words"] and set(one["words"]) <= set(" ".join(TICKETS).split())
    shown = evermix("info", "t.evermix", "--coarse", 2).stdout
    assert "may still hold subjects that differ" in " ".join(shown.split())
    assert f"{mix.n_clusters_} clusters joined into 2" in shown
    assert "words that set it apart" in shown
    said = evermix("info", "t.evermix", "--coarse", 99)
    assert f"--coarse 99: there are only {mix.n_clusters_} clusters." in said.stderr
    assert f"{mix.n_clusters_} clusters joined into {mix.n_clusters_}" in said.stdout


def test_predict_writes_coarse_clusters(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    evermix("predict", "t.evermix", "texts.jsonl", "--coarse", 2, "--out", "a.csv", "--quiet")
    evermix("predict", "t.evermix", "texts.jsonl", "--coarse", 2, "--out", "a.jsonl", "--quiet")
    coarse = json.loads(evermix("info", "t.evermix", "--coarse", 2, "--json").stdout)["coarse"]
    named = {id: one for one in coarse for id in one["clusters"]}
    for line in json_lines("a.jsonl"):
        one = named[line["cluster"]]
        assert line["coarse"] == one["id"]
        assert line["coarse_name"] == ", ".join(one["words"][:3])
    with open("a.csv", newline="") as file:
        assert [int(row["coarse"]) for row in csv.DictReader(file)] == [
            line["coarse"] for line in json_lines("a.jsonl")
        ]


def test_coarse_clusters_of_tables_and_of_columns_without_names(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + [[0.0, 0.0], [9.0, 0.0], [90.0, 0.0]] * 100
    np.save("points.npy", X)
    rows = "".join(f"{a:.3f},{b:.3f},{'xyz'[i % 3]}\n" for i, (a, b) in enumerate(X))
    Path("table.csv").write_text("width,height,kind\n" + rows)
    for source in ("points.npy", "table.csv"):
        model = f"{source}.evermix"
        evermix("fit", source, "--out", "o.jsonl", "--checkpoint", model, "--overwrite", "--quiet")
        shown = evermix("info", model, "--coarse", 2).stdout
        assert "clusters joined into 2" in shown and "what sets it apart" in shown
        evermix("predict", model, source, "--coarse", 2, "--out", f"{source}.jsonl", "--quiet")
        found = json_lines(f"{source}.jsonl")
        assert [line["coarse"] for line in found] == em.load(model).coarse(2).tolist()
        assert all(("coarse_name" in line) == (source == "table.csv") for line in found)
    assert "kind = z (100 %)" in found[2]["coarse_name"]
    evermix("edit", model, "rename", 0, "small ones")
    said = evermix("info", model, "--coarse", 2).stdout
    assert "small ones and 1 more: " in said and "0 (small" in said  # also among its parts
    evermix("predict", model, source, "--coarse", 2, "--out", "again.jsonl", "--quiet")
    names = {line["coarse"]: line["coarse_name"] for line in json_lines("again.jsonl")}
    assert names[0] == "small ones and 1 more" and "small" not in names[max(names)]


def test_coarse_clusters_of_vectors_have_the_words_of_their_texts(folder):
    rng, words = np.random.default_rng(0), [["cat", "dog"], ["fur", "paw"], ["bank", "loan"]]
    with open("vectors.jsonl", "w") as file:
        for i in range(300):
            vector = np.array([0.0, 9.0, 90.0])[i % 3] * np.ones(2) + rng.normal(size=2)
            row = {"id": i, "text": " ".join(rng.choice(words[i % 3], 4)), "emb": vector.tolist()}
            file.write(json.dumps(row) + "\n")
    out = ["--out", "out", "--checkpoint", "v.evermix", "--quiet"]
    evermix("stream", "vectors.jsonl", "--vector-field", "emb", *out)
    assert em.load("v.evermix").n_clusters_ == 3
    found = json.loads(evermix("info", "v.evermix", "--coarse", 2, "--json").stdout)["coarse"]
    assert [set(one["words"]) for one in found] == [{"cat", "dog", "fur", "paw"}, {"bank", "loan"}]
    assert found[1]["name"] in ("bank, loan", "loan, bank")


def test_coarse_topics(folder):
    fast = ["--burn-in", 20, "--draws", 5, "--seed", 0, "--prior", "hdp", "--quiet"]
    evermix("topics", "texts.jsonl", "--out", "t.json", "--checkpoint", "t.evermix", *fast)
    model = em.load("t.evermix")
    n = min(2, model.n_topics_)
    found = json.loads(evermix("info", "t.evermix", "--coarse", n, "--json").stdout)["coarse"]
    assert [one["id"] for one in found] == [one.id for one in model.coarse_topics(n)]
    shown = evermix("info", "t.evermix", "--coarse", n).stdout
    assert f"topics joined into {n}" in shown
    evermix("predict", "t.evermix", "texts.jsonl", "--coarse", 1, "--out", "p.jsonl", "--quiet")
    for line in json_lines("p.jsonl"):
        name = ", ".join(model.coarse_topics(1)[0].words[:3])
        one = {"topic": 0, "share": pytest.approx(1.0, abs=1e-5), "name": name}
        assert line["coarse"] == [one]
        words = model.top_words(3, by="frex")
        assert all(each["name"] == ", ".join(words[each["topic"]]) for each in line["topics"])
    evermix("predict", "t.evermix", "texts.jsonl", "--coarse", 1, "--out", "p.csv", "--quiet")
    with open("p.csv", newline="") as file:
        for row in csv.DictReader(file):
            assert row["coarse"].startswith("0:") and all(
                len(cell.split(":")) == 2 for cell in row["topics"].split()
            )
    *large, small = model.coarse_topics(1)[0].topics
    for topic in large or [small]:
        evermix("edit", "t.evermix", "rename", topic, f"invoices {topic}")
    called = ", ".join(f"invoices {topic}" for topic in large or [small]) + " and 1 more" * bool(
        large
    )
    described = json.loads(evermix("info", "t.evermix", "--coarse", 1, "--json").stdout)["coarse"]
    assert described[0]["name"] == called and described[0]["renamed"]
    evermix("predict", "t.evermix", "texts.jsonl", "--coarse", 1, "--out", "n.jsonl", "--quiet")
    assert {line["coarse"][0]["name"] for line in json_lines("n.jsonl")} == {called}


def test_many_clusters_are_met_with_the_option_that_joins_them(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4)) + np.repeat(rng.normal(scale=40.0, size=(24, 4)), 50, axis=0)
    np.save("points.npy", X)
    evermix("fit", "points.npy", "--out", "o.jsonl", "--checkpoint", "m.evermix", "--quiet")
    assert em.load("m.evermix").n_clusters_ > 20
    shown = evermix("info", "m.evermix").stdout
    assert "--coarse 8 shows the clusters joined into 8." in shown
    assert "--coarse" not in evermix("info", "m.evermix", "--coarse", 2).stdout
    np.save("few.npy", X[:300])
    evermix("fit", "few.npy", "--out", "f.jsonl", "--checkpoint", "f.evermix", "--quiet")
    assert "--coarse" not in evermix("info", "f.evermix").stdout
