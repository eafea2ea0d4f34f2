"""What a stream says at its end: how many rows were new, and what can be done next."""

import json

import numpy as np
import pytest

import evermix as em
from evermix.cli.runs.stream_notes import relabelled
from helpers.commands import evermix


@pytest.fixture
def days(tmp_path, monkeypatch):
    """Two files of vectors, of 90 and 60 rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, n in (("monday", 90), ("tuesday", 60)):
        X = rng.normal(size=(n, 2)) + 9.0 * rng.integers(0, 2, size=(n, 1))
        lines = "".join(f"{json.dumps({'vector': row})}\n" for row in X.round(3).tolist())
        (tmp_path / f"{name}.jsonl").write_text(lines)


def test_the_next_file_says_how_many_rows_are_new(days):
    week = ["--checkpoint", "week.evermix"]
    first = evermix("stream", "monday.jsonl", *week, "--out", "monday.out").stderr
    assert "90 rows; 2 clusters" in first and "next:" not in first
    second = evermix("stream", "tuesday.jsonl", *week, "--out", "tuesday.out", "--resume").stderr
    assert "150 rows, 60 of them new; 2 clusters" in second


def test_at_a_terminal_it_says_what_can_be_done_next(days, monkeypatch):
    monkeypatch.setattr("evermix.cli.runs.run.at_terminal", lambda: True)
    said = evermix("stream", "monday.jsonl", "--out", "my answers.jsonl").stderr
    model = "'my answers.jsonl.evermix'"
    assert f"next: evermix info {model}, or as a page: evermix report {model}" in said
    assert "next:" not in evermix("stream", "monday.jsonl", "--out", "-").stderr  # no model is kept


def test_rows_that_have_left_the_clusters_of_their_lines(days):
    """Their share is said, if it is large, with the command that shows where they are now."""
    run = "stream", "monday.jsonl", "--out", "my out.jsonl"
    model = "my out.jsonl.evermix"
    said = evermix(*run).stderr
    assert "present clusters" not in said and "2 clusters;" in said
    assert relabelled(em.load(model)) < 0.05
    kept, gone = sorted(card.id for card in em.load(model).cards())
    evermix("edit", model, "merge", kept, gone)
    assert relabelled(em.load(model)) < 0.05  # lines of both mean the cluster that both are in
    evermix("edit", model, "split", kept)
    moved = 1.0 - em.load(model).card(kept).size / 90
    assert relabelled(em.load(model)) == pytest.approx(moved, abs=0.05)
    said = evermix(*run, "--resume").stderr
    assert "2 clusters (1 other came and went);" in said
    share = f"at least {100 * relabelled(em.load(model)):.0f} % of the rows"
    command = "Their present clusters: evermix predict 'my out.jsonl.evermix' monday.jsonl"
    assert share in said and command in said
