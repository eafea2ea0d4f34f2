"""Two processes that would write the same files: the second is refused, and touches nothing."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from evermix.io.locks import FileLocks, LockedError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no such locks")


@pytest.fixture
def folder(tmp_path, children):
    children.write_texts(tmp_path / "texts.jsonl", 300)
    np.save(tmp_path / "points.npy", np.random.default_rng(0).normal(size=(60, 2)))
    os.mkfifo(tmp_path / "pipe")
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def first(folder, children):
    """A stream that waits for more rows, and its process."""
    files = ["--out", "../out.jsonl", "--checkpoint", "../m.evermix", "--trace", "../trace.jsonl"]
    arguments = ["stream", "-", "--hash", "64", "--max-wait", "600", *files]
    process = children.start(folder / "first", *arguments, stdin=folder / "pipe")
    with (folder / "pipe").open("r+b", buffering=0) as pipe:
        pipe.write((folder / "texts.jsonl").read_bytes()[:500])
        pipe.flush()
        wait_for(folder / ".m.evermix.lock")
        wait_for(folder / "trace.jsonl")
        yield process
        os.kill(process.pid, signal.SIGTERM)
        children.finish(process)


def wait_for(path):
    for _ in range(6000):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} did not come")


def contents(folder):
    return {path: path.read_bytes() for path in folder.glob("*") if path.is_file()}


SECOND = {
    "all files": [
        "stream",
        "../texts.jsonl",
        "--out",
        "../out.jsonl",
        "--checkpoint",
        "../m.evermix",
    ],
    "the checkpoint": ["stream", "../texts.jsonl", "--out", "o", "--checkpoint", "../m.evermix"],
    "the output": ["stream", "../texts.jsonl", "--out", "../out.jsonl", "--checkpoint", "c"],
    "the trace": ["stream", "../texts.jsonl", "--out", "o", "--trace", "../trace.jsonl"],
    "a fit": ["fit", "../points.npy", "--out", "../out.jsonl", "--checkpoint", "c"],
    "topics": ["topics", "../texts.jsonl", "--prior", "hdp", "--out", "../out.jsonl"],
    "a link to the output": ["stream", "../texts.jsonl", "--out", "../soft", "--checkpoint", "c"],
    "another name of it": ["stream", "../texts.jsonl", "--out", "../hard", "--checkpoint", "c"],
    "a link to the checkpoint": ["stream", "../texts.jsonl", "--out", "o", "--checkpoint", "../s"],
}


def test_a_second_writer_is_refused_at_once(folder, children, first):
    (folder / "soft").symlink_to("out.jsonl")
    (folder / "hard").hardlink_to(folder / "out.jsonl")
    (folder / "s").symlink_to("m.evermix")
    before = contents(folder)
    for name, arguments in SECOND.items():
        for how in ("--overwrite", "--resume"):
            status = children.run(folder / "second", *arguments, how)
            said = (folder / "second" / "stderr").read_text()
            assert status == 1 and len(said.splitlines()) == 1, (name, said)
            assert f"is being written by process {first.pid}" in said, (name, said)
            made = {path.name for path in (folder / "second").iterdir()}
            assert made == {"stdout", "stderr"}, name
    assert contents(folder) == before


def test_the_lock_of_a_process_that_was_killed_is_free(folder, children):
    files = ["--out", "out.jsonl", "--checkpoint", "model.evermix", "--trace", "trace.jsonl"]
    arguments = ["stream", "../texts.jsonl", "--hash", "64", "--batch", "50", "--every", "50"]
    kill = children.Kill(folder / "first" / "out.jsonl", 5000)
    assert children.run(folder / "first", *arguments, *files, kill=kill) == -signal.SIGKILL
    assert (folder / "first" / ".model.evermix.lock").exists()
    assert children.run(folder / "first", *arguments, *files, "--resume") == 0
    assert not list((folder / "first").glob(".*"))
    assert children.run(folder / "second", *arguments, *files) == 0
    children.assert_same_run(folder / "first", folder / "second")


def test_an_output_that_was_only_locked_goes_again(tmp_path):
    with pytest.raises(ValueError), FileLocks() as locks:
        locks.add(tmp_path / "empty")
        locks.add(tmp_path / "written")
        locks.add(tmp_path / "written")  # a second time by the same command
        (tmp_path / "written").write_text("kept")
        locks.add(tmp_path / "model", replaced=True)
        for name, replaced in (("written", False), ("model", True)):
            with pytest.raises(LockedError, match=str(os.getpid())), FileLocks() as others:
                others.add(tmp_path / name, replaced=replaced)
        raise ValueError("refused")
    assert [path.name for path in tmp_path.iterdir()] == ["written"]


def test_a_stream_to_standard_output_leaves_nothing_and_can_be_repeated(folder, children):
    """Also if its reader goes away."""
    options = ["--batch", "20", "--warmup", "40"]
    command = shlex.join([sys.executable, "-m", "evermix", "stream", "texts.jsonl", *options])
    before = contents(folder)
    done = subprocess.run(f"{command} | head -n 3", cwd=folder, shell=True, capture_output=True)
    assert contents(folder) == before and b"Traceback" not in done.stderr
    assert children.run(folder / "second", "stream", "../texts.jsonl", *options) == 0
    assert {path.name for path in (folder / "second").iterdir()} == {"stdout", "stderr"}
    assert contents(folder) == before
    whole = (folder / "second" / "stdout").read_bytes().splitlines()
    assert len(whole) == 300 and done.stdout.splitlines() == whole[:3]


def test_default_checkpoints_belong_to_the_output(folder, children):
    shutil.copy(folder / "texts.jsonl", folder / "second" / "texts.jsonl")
    for source, out in (("../texts.jsonl", "a.jsonl"), ("../second/texts.jsonl", "a.json")):
        assert children.run(folder / "first", "stream", source, "--out", out) == 0
        assert (folder / "first" / f"{out}.evermix").exists()
    again = ["stream", "../texts.jsonl", "--out", "a.jsonl", "--resume"]
    assert children.run(folder / "first", *again) == 0
    assert "nothing new" in (folder / "first" / "stderr").read_text()
    assert children.run(folder / "first", "stream", "../texts.jsonl", "--resume") == 2
    assert "--checkpoint" in (folder / "first" / "stderr").read_text()
