"""Texts that come slowly are learnt early, and those that wait say so."""

import json
import os
import signal
import time

import pytest

from evermix.io import checkpoint

if os.name != "posix":
    pytest.skip("needs POSIX signals", allow_module_level=True)

from helpers import children

PATIENCE = 180.0  # seconds: a first run compiles, and machines may be busy


def lines(path):
    """Return the whole lines of a file of answers."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.parametrize("source", ["followed", "pipe"])
def test_texts_that_are_followed_are_learnt_from_the_hundredth_on(tmp_path, source):
    children.write_texts(tmp_path / "texts.jsonl", 150)
    run = ["--max-wait", "0.1", "--out", "out.jsonl", "--checkpoint", "model.evermix"]
    os.mkfifo(tmp_path / "pipe")
    if source == "followed":
        process = children.start(tmp_path, "stream", "texts.jsonl", "--follow", *run)
    else:
        process = children.start(tmp_path, "stream", "-", *run, stdin=tmp_path / "pipe")
    with (tmp_path / "pipe").open("r+b", buffering=0) as pipe:
        pipe.write((tmp_path / "texts.jsonl").read_bytes() * (source == "pipe"))
        end = time.monotonic() + PATIENCE
        while len(found := lines(tmp_path / "out.jsonl")) < 150 and time.monotonic() < end:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        assert children.finish(process) == 130
    said = (tmp_path / "stderr").read_text()
    if source == "followed":
        assert "provisional" not in found[-1]
        assert (
            checkpoint.read(tmp_path / "model.evermix")[1]["extra"]["stream"]["totals"]["rows"]
            == 150
        )
        assert "for the vocabulary" not in said
    else:
        assert found[-1]["provisional"]
        assert said.count("of 2,000 texts for the vocabulary") == 1
        assert "A smaller --warmup begins earlier" in said
