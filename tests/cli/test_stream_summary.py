"""What a stream says at its end: how many rows were new, and what can be done next."""

import json

import numpy as np
import pytest

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
