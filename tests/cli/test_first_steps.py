"""What commands say to people who use them for the first time: fields, following, next steps."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from evermix.io.sources import SourceError, open_source
from helpers.commands import evermix


@pytest.mark.parametrize(
    ("record", "hint"),
    [
        (
            {"title": "On jams", "my abstract": "paper is stuck again"},
            r"--text-field 'my abstract'\?",
        ),
        ({"id": "T-1", "subject": "paper jam"}, r"--text-field subject\?"),
        ({"ticket": "T-1", "body": "paper jam"}, r"--text-field body\?"),  # not by its name
    ],
)
def test_the_field_of_the_longest_text_is_named(tmp_path, record, hint):
    path = tmp_path / "tickets.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(SourceError, match=f"there is no field 'text'.*Did you mean {hint}"):
        list(open_source(path).chunks(0, 9))


def test_no_field_is_named_if_none_holds_words(tmp_path):
    path = tmp_path / "tickets.jsonl"
    path.write_text('{"id": "T-1", "size": 3}\n')
    with pytest.raises(SourceError, match=r"of a table with --kind table .*\)\.$"):
        list(open_source(path).chunks(0, 9))


@pytest.mark.parametrize(("out", "times"), [("labels.csv", 1), ("-", 0)])
def test_a_fit_says_once_what_can_be_done_next(tmp_path, monkeypatch, out, times):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(60, 2)).tolist()
    (tmp_path / "rows.csv").write_text("\n".join(["a,b", *(f"{a},{b}" for a, b in rows)]))
    for module in ("runs.run", "commands.fit"):
        monkeypatch.setattr(f"evermix.cli.{module}.at_terminal", lambda: True)
    said = evermix("fit", "rows.csv", "--out", out)
    assert said.stderr.count("next: evermix info rows.evermix") == times
    assert (said.stdout + said.stderr).count("evermix report rows.evermix") == 1
    summary, hint = "; checkpoint rows.evermix", "evermix report rows.evermix"
    assert 0 < said.output.index(summary) < said.output.index(hint)


def test_a_terminal_shows_the_clusters_beside_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.random.default_rng(0).normal(size=(60, 2)))
    fit = "fit", "rows.npy", "--overwrite", "--out"
    assert "share" not in evermix(*fit, "labels.csv").stderr
    monkeypatch.setattr("rich.console.Console.is_terminal", property(lambda self: self.stderr))
    assert "share" in evermix(*fit, "labels.csv").stderr
    assert "share" not in evermix(*fit, "labels.csv", "--quiet").stderr


def test_a_terminal_shows_at_once_that_the_command_starts(tmp_path):
    terminal, end = os.openpty()
    command = [sys.executable, "-m", "evermix", "info", str(tmp_path / "missing.evermix")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end) as process:
        os.close(end)
        shown = b""
        while b"starting" not in shown and b"error" not in shown:
            shown += os.read(terminal, 4096)
        process.communicate()
    os.close(terminal)
    assert b"starting" in shown and b"error" not in shown


def test_texts_of_one_word_in_the_field_of_the_user_are_warned_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps({"ticket": f"ticket{i % 9}", "body": "paper jam again"}) for i in range(200)]
    (tmp_path / "t.jsonl").write_text("\n".join(rows))
    said = evermix("stream", "t.jsonl", "--text-field", "ticket", "--out", "o.jsonl").stderr
    assert "warning: the texts in 'ticket' are mostly of one word." in said
    said = evermix("stream", "t.jsonl", "--text-field", "body", "--out", "p.jsonl").stderr
    assert "mostly of one word" not in said


def test_a_column_whose_name_holds_the_word_is_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("booking_ref,x\n" + "\n".join(f"B{i},{i}" for i in range(99)))
    said = evermix("fit", "t.csv", "--id-field", "ref", "--out", "o.csv", status=1).stderr
    assert "Did you mean --id-field booking_ref?" in said
