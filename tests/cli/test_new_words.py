"""A subject made of words that were never met before gets a cluster, in every kind of stream."""

import json
import signal
from collections import Counter

import numpy as np
import pytest

from evermix.io import checkpoint
from helpers.commands import evermix
from helpers.variants import slow_but

OLD, ROWS, SUBJECTS = 2500, 3100, 5
COUNTED = {
    "grows": [],
    "grows and forgets": ["--half-life", "1000"],
    "bounded": ["--vocabulary", "400"],
    "hashes": ["--hash", "16384"],
}


def _word(subject, j):
    return "bdfgkl"[subject] + "".join("aeiou"[j // 5**p % 5] + "lmnrst"[p] for p in range(3))


def write_subjects(path, seed, old=OLD, rows=ROWS):
    """From row ``old`` on every second text is about a subject of its own words."""
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, 81)
    with path.open("w") as file:
        for i in range(rows):
            new = i >= old and i % 2 == 0
            subject = SUBJECTS if new else rng.integers(SUBJECTS)
            chosen = rng.choice(80, size=12, p=p / p.sum())
            text = " ".join(_word(subject, j) for j in chosen)
            file.write(json.dumps({"id": i, "text": text}) + "\n")


def assert_found(lines):
    """Within 50 of its rows the new subject has a cluster, which no older row is in."""
    clusters = [line["cluster"] for line in lines]
    of_subject = [clusters[i] for i in range(OLD, ROWS, 2)]
    cluster, size = Counter(of_subject[50:]).most_common(1)[0]
    assert size > 0.9 * len(of_subject[50:])
    assert cluster in of_subject[:50]
    assert clusters[:OLD].count(cluster) == 0
    others = [clusters[i] for i in range(OLD + 100, ROWS) if i % 2]
    assert others.count(cluster) < 0.05 * len(others)


@pytest.mark.parametrize("name", slow_but(["grows", "grows and forgets"], COUNTED))
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_a_new_subject_has_a_cluster_within_50_rows(tmp_path, monkeypatch, name, seed):
    monkeypatch.chdir(tmp_path)
    write_subjects(tmp_path / "texts.jsonl", seed)
    said = evermix(
        "stream",
        "texts.jsonl",
        "--out",
        "out.jsonl",
        "--checkpoint",
        "texts.evermix",
        *COUNTED[name],
    ).stderr
    assert_found([json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()])
    assert "% of those met unknown" in said
    assert ("the vocabulary is full" in said) == (name == "bounded")
    described = json.loads(evermix("info", "texts.evermix", "--json").stdout)
    largest = {words[0] for words in (c["words"] for c in described["clusters"][:6])}
    assert all(word.isalpha() or "/" in word for word in largest) and len(largest) >= 5
    if name != "hashes":
        assert described["vocabulary"] <= described["features"]
        assert 0 <= described["unknown_words"] < 0.1
        assert f"{described['vocabulary']:,} words" in said


@pytest.mark.parametrize("name", slow_but(["grows"], ["grows", "bounded", "hashes"]))
def test_kills_change_nothing_of_what_new_words_bring(children, tmp_path, name):
    """Killed before, while and after the new subject comes up; batches of other sizes do not."""
    write_subjects(tmp_path / "texts.jsonl", 0)
    files = ["--out", "out.jsonl", "--checkpoint", "model.evermix", "--trace", "trace.jsonl"]
    arguments = ["stream", str(tmp_path / "texts.jsonl"), "--batch", "70", "--every", "100"]
    arguments += [*COUNTED[name], *files]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    assert children.run(whole, *arguments) == 0
    length = (whole / "out.jsonl").stat().st_size
    statuses = []
    for share in (0.5, 0.82, 0.9):
        kill = children.Kill(broken / "out.jsonl", int(share * length))
        statuses.append(children.run(broken, *arguments, "--resume", kill=kill))
    assert -signal.SIGKILL in statuses
    assert children.run(broken, *arguments, "--resume") == 0
    children.assert_same_run(whole, broken)
    assert_found(children.lines(broken / "out.jsonl"))


def test_other_batches_give_the_same_model(tmp_path, monkeypatch):
    """Where a stream is cut changes neither the columns nor the clusters."""
    monkeypatch.chdir(tmp_path)
    write_subjects(tmp_path / "texts.jsonl", 1, old=1000, rows=1400)
    found = []
    for batch in (33, 700):
        options = ["--batch", batch, "--vocabulary", 400, "--overwrite", "--quiet"]
        evermix(
            "stream", "texts.jsonl", "--out", "out.jsonl", "--checkpoint", "texts.evermix", *options
        )
        content = checkpoint.read("texts.evermix")
        state = {n: v.tobytes() for n, v in content[0].items() if n.startswith("state.")}
        found.append((state, content[1]["extra"]["text"]))
    assert found[0] == found[1]


def test_predictions_say_how_many_words_are_unknown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_subjects(tmp_path / "texts.jsonl", 2, rows=400)
    evermix(
        "stream",
        "texts.jsonl",
        "--out",
        "out.jsonl",
        "--checkpoint",
        "texts.evermix",
    )
    (tmp_path / "new.jsonl").write_text(
        f'{{"text": "zebra okapi"}}\n{{"text": "{_word(0, 0)} emu"}}\n'
    )
    assert (
        "75.0% of their words are unknown"
        in evermix("predict", "texts.evermix", "new.jsonl").stderr
    )
