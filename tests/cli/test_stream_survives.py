"""`evermix stream` killed, stopped, starved of disk and resumed, in processes of its own."""

import os
import signal
from functools import cache

import numpy as np
import pytest

from helpers.variants import slow_but

ROWS = 1000
RUNS = {
    "texts": ["texts.jsonl", "--warmup", "300"],
    "vectors": ["vectors.npy"],
    "forgets rows": ["texts.jsonl", "--warmup", "300", "--half-life", "60"],
    "forgets dates": ["dated.jsonl", "--half-life", "2d", "--time-field", "when"],
    "draws and forgets": ["vectors.npy", "--engine", "onlinecrp", "--half-life", "60"],
}
FILES = ["--out", "out.jsonl", "--checkpoint", "model.evermix", "--trace", "trace.jsonl"]


def _folder(path):
    path.mkdir()
    return path


@pytest.fixture(scope="module")
def uninterrupted(children, tmp_path_factory):
    """Arguments of each stream, and the folder of a run that nothing disturbed."""
    data = tmp_path_factory.mktemp("data")
    children.write_texts(data / "texts.jsonl", ROWS)
    children.write_vectors(data / "vectors.npy", ROWS)
    children.write_dated(data / "dated.jsonl", data / "vectors.npy")

    @cache
    def run(name):
        source, *options = RUNS[name]
        arguments = ["stream", str(data / source), "--batch", "25", "--every", "100"]
        arguments += [*options, *FILES]
        folder = tmp_path_factory.mktemp("whole")
        assert children.run(folder, *arguments) == 0
        return arguments, folder

    return run


@pytest.mark.parametrize("name", slow_but(["texts", "forgets dates"], RUNS))
@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_kills_change_nothing(children, tmp_path, uninterrupted, name, kills):
    """Killed at random moments and resumed each time: same model, each row exactly once."""
    arguments, whole = uninterrupted(name)
    out = tmp_path / "out.jsonl"
    length = (whole / "out.jsonl").stat().st_size
    moments = np.sort(np.random.default_rng(kills).uniform(0, 0.9 * length, size=kills))
    statuses = [
        children.run(tmp_path, *arguments, "--resume", kill=children.Kill(out, int(moment)))
        for moment in moments
    ]
    assert statuses.count(-signal.SIGKILL) > kills // 2
    assert children.run(tmp_path, *arguments, "--resume") == 0
    children.assert_same_run(whole, tmp_path)
    assert len({line["id"] for line in children.lines(out)}) == ROWS
    faded = [k for line in children.lines(out) for k in line.get("faded", [])]
    assert len(faded) == len(set(faded)) and bool(faded) == ("forgets" in name)


def test_an_interrupt_finishes_the_batch_and_says_how_to_go_on(children, tmp_path, uninterrupted):
    arguments, whole = uninterrupted("vectors")
    half = (whole / "out.jsonl").stat().st_size // 2
    kill = children.Kill(tmp_path / "out.jsonl", half, signal.SIGINT)
    assert children.run(tmp_path, *arguments, kill=kill) == 130
    said = (tmp_path / "stderr").read_text()
    assert "Stopped after" in said and said.rstrip().endswith("--resume")
    # All that was written is in the checkpoint, and only files must be named again.
    written = len(children.lines(tmp_path / "out.jsonl"))
    assert f"{written:,} rows" in said
    resumed = ["stream", arguments[1], *FILES, "--resume"]
    assert children.run(tmp_path, *resumed) == 0
    children.assert_same_run(whole, tmp_path)


def test_standard_input_resumes_after_the_lines_already_counted(children, tmp_path):
    """Terminated while it waits for input; given the whole input again, each row comes once."""
    children.write_texts(tmp_path / "texts.jsonl", 600)
    text = (tmp_path / "texts.jsonl").read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = ["stream", "-", "--batch", "100", "--warmup", "100", "--max-wait", "600"]
    whole, broken = _folder(tmp_path / "whole"), _folder(tmp_path / "broken")
    assert children.run(whole, *arguments, *FILES, stdin=tmp_path / "texts.jsonl") == 0
    after_warm_up = int(0.3 * (whole / "out.jsonl").stat().st_size)
    kill = children.Kill(broken / "out.jsonl", after_warm_up, signal.SIGTERM)
    process = children.start(broken, *arguments, *FILES, stdin=pipe, kill=kill)
    with pipe.open("wb") as writer:
        writer.write(text[: len(text) // 2])
        writer.flush()
        assert children.finish(process) == 143
    again = ["stream", "-", *FILES, "--resume"]
    assert children.run(broken, *again, stdin=tmp_path / "texts.jsonl") == 1
    said = (broken / "stderr").read_text()
    assert "--stdin replayed" in said and "--stdin continues" in said
    other = tmp_path / "other.jsonl"
    other.write_bytes(b"".join(reversed(text.splitlines(keepends=True))))
    assert children.run(broken, *again, "--stdin", "replayed", stdin=other) == 1
    assert "changed since" in (broken / "stderr").read_text()
    replayed = [*again, "--stdin", "replayed"]
    assert children.run(broken, *replayed, stdin=tmp_path / "texts.jsonl") == 0
    children.assert_same_run(whole, broken)


def test_a_full_disk_leaves_the_last_good_checkpoint(children, tmp_path):
    """A file may not grow beyond what a later checkpoint needs: it fails, the earlier one stays."""
    children.write_texts(tmp_path / "texts.jsonl", 600)
    arguments = ["stream", str(tmp_path / "texts.jsonl"), "--batch", "50", "--every", "50"]
    arguments += ["--hash", "2048", "--warmup", "50"]
    whole, broken = _folder(tmp_path / "whole"), _folder(tmp_path / "broken")
    assert children.run(whole, *arguments, *FILES, "--limit", "50") == 0
    small = (whole / "model.evermix").stat().st_size
    assert children.run(whole, *arguments, *FILES, "--resume") == 0
    limit = (small + (whole / "model.evermix").stat().st_size) // 2
    assert children.run(broken, *arguments, *FILES, file_limit=limit) == 1
    said = (broken / "stderr").read_text()
    assert "could not write the checkpoint" in said and "Traceback" not in said
    assert 0 < (broken / "model.evermix").stat().st_size <= limit
    assert children.run(broken, *arguments, *FILES, "--resume") == 0
    children.assert_same_run(whole, broken)
