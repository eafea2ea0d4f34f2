"""``evermix info --since``: the clusters that are new; and JSON, which holds all of them."""

import json

import numpy as np
import pytest

from helpers.commands import TICKETS, evermix

NEW = 200  # the row with which a subject comes that was not there before


def write(path, when):
    with open(path, "w") as file:
        for i in range(300):
            subject = TICKETS[i % 3] if i >= NEW else TICKETS[i % 2]
            words = subject.split()
            file.write(json.dumps({"text": " ".join(words[i % 2 :]), "when": when(i)}) + "\n")


def date(i):
    return f"2026-{1 + i // 28:02d}-{1 + i % 28:02d}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def info(*options):
    return json.loads(evermix("info", "out.evermix", "--json", *options).stdout)


@pytest.mark.parametrize("when", [date, lambda i: i / 2])
def test_clusters_since_a_time_are_those_that_began_then_or_later(folder, when):
    write("texts.jsonl", when)
    evermix("stream", "texts.jsonl", "--time-field", "when", "--out", "out", "--quiet")
    every = info()["clusters"]
    for row in (0, 1, NEW - 1, NEW, 299):
        found = info("--since", when(row))
        wanted = [each for each in every if each["since"] >= when(row)]
        assert {each["id"] for each in found["clusters"]} == {each["id"] for each in wanted}
        times = [each["since"] for each in found["clusters"]]
        assert times == sorted(times, reverse=True) and found["K"] == len(every)
    new = info("--since", when(NEW - 1))["clusters"]
    assert len(new) == 1 and set(new[0]["words"]) <= set(TICKETS[2].split())
    assert "1 cluster since" in evermix("info", "out.evermix", "--since", when(NEW - 1)).stdout
    assert "No cluster began" in evermix("info", "out.evermix", "--since", when(299)).stdout
    assert len(info("--since", when(0), "--top", 1)["clusters"]) == 1


def test_a_wrong_time_says_what_the_times_are(folder):
    write("texts.jsonl", date)
    evermix("stream", "texts.jsonl", "--time-field", "when", "--out", "out", "--quiet")
    for time, complaint in [("7", "are dates, from 2026-01-01 to "), ("soon", "got 'soon'")]:
        said = evermix("info", "out.evermix", "--since", time, status=1).stderr
        assert "--since: " in said and complaint in said
    both = "--since", "2026-01-01", "--coarse", 2
    assert "exclude each other" in evermix("info", "out.evermix", *both, status=1).stderr
    evermix("stream", "texts.jsonl", "--out", "plain", "--quiet")
    said = evermix("info", "plain.evermix", "--since", "2026-01-01", status=1).stderr
    assert "--time-field FIELD" in said
    run = "--prior", "hdp", "--burn-in", 1, "--draws", 1, "--checkpoint", "t.evermix"
    evermix("topics", "texts.jsonl", "--out", "topics", *run)
    assert "is for mixtures" in evermix("info", "t.evermix", "--since", 1, status=1).stderr


def test_json_holds_all_clusters(folder):
    """The new ones are small, and programs look for them."""
    np.save("points.npy", 100.0 * (np.arange(200) % 25)[:, None])
    engine = "--engine", "dpmeans", "--penalty", 1
    evermix("stream", "points.npy", *engine, "--out", "out", "--quiet")
    found = info()
    assert len(found["clusters"]) == found["K"] > 20
    assert f"The largest 20 clusters of {found['K']}" in evermix("info", "out.evermix").stdout
    assert len(info("--top", 3)["clusters"]) == 3
