"""``--resume --no-follow``: what has come to files that were followed is read, and that is all."""

import json
import os
import signal
import time

import numpy as np
import pytest

from helpers import children
from helpers.commands import evermix

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


def write(path, n, seed):
    rows = np.random.default_rng(seed).normal(size=(n, 2))
    with path.open("a") as file:
        file.writelines(json.dumps({"vector": row.tolist()}) + "\n" for row in rows)


def stopped_when(folder, condition, *run):
    """Run until a condition holds, and return what was said."""
    process = children.start(folder, *run)
    try:
        end = time.monotonic() + 120
        while not condition() and time.monotonic() < end:
            time.sleep(0.05)
        assert condition()
    finally:
        os.kill(process.pid, signal.SIGTERM)
        assert children.finish(process) == 143
    return (folder / "stderr").read_text()


def test_a_followed_stream_goes_on_and_ends(tmp_path, monkeypatch):
    """Files of a folder have grown, been rotated and been added meanwhile."""
    logs, out, said = tmp_path / "logs", tmp_path / "out.jsonl", tmp_path / "stderr"
    logs.mkdir()
    write(logs / "a.jsonl", 100, 0)
    write(logs / "b.jsonl", 50, 1)
    run = "stream", "logs", "--out", "out.jsonl", "--max-wait", "0.1"
    first = stopped_when(
        tmp_path, lambda: out.exists() and len(children.lines(out)) == 150, *run, "--follow"
    )
    assert "until a signal (Ctrl-C) ends it.\n" in first
    write(logs / "a.jsonl", 30, 2)
    (logs / "a.jsonl").rename(logs / "a.jsonl.1")
    write(logs / "a.jsonl", 7, 3)
    write(logs / "c.jsonl", 13, 4)
    monkeypatch.chdir(tmp_path)
    second = evermix(*run, "--resume", "--no-follow").stderr
    assert "200 rows, 50 of them new" in second and "following" not in second
    assert len(children.lines(out)) == 200
    assert "nothing new" in evermix(*run, "--resume", "--no-follow").stderr
    said.unlink()
    last = stopped_when(
        tmp_path, lambda: said.exists() and "following" in said.read_text(), *run, "--resume"
    )
    assert "ends it; --no-follow reads what is there and ends." in last


def test_options_without_a_value_are_shown_without_one():
    for arguments in (["--help"], ["stream", "--help"], ["fit", "--help"]):
        said = evermix(*arguments).stdout.lower()
        assert "--help" in said and "bool" not in said


def test_a_stopped_stream_says_that_its_lines_are_out_of_date(tmp_path, monkeypatch):
    write(tmp_path / "a.jsonl", 200, 0)
    out, said, model = tmp_path / "out", tmp_path / "stderr", "out.evermix"
    run = "stream", "a.jsonl", "--out", "out", "--max-wait", "0.1"
    first = stopped_when(
        tmp_path, lambda: out.exists() and len(children.lines(out)) == 200, *run, "--follow"
    )
    assert "Go on with" in first and "present clusters" not in first
    said.unlink()
    monkeypatch.chdir(tmp_path)
    evermix("edit", model, "split", 0, "--rows", "a.jsonl")
    last = stopped_when(
        tmp_path, lambda: said.exists() and "following" in said.read_text(), *run, "--resume"
    )
    assert "evermix: clusters have changed after lines were written: at least " in last
    assert f"Their present clusters: evermix predict {model} a.jsonl\n" in last
