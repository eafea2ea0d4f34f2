"""A run that follows files says at once what it waits for, where there are no rows yet."""

import json
import os
import signal
import time

import numpy as np
import pytest

from evermix.cli.commands import stream
from evermix.cli.input.awaited import awaited
from evermix.io.similar_names import did_you_mean
from helpers import children
from helpers.commands import evermix

if os.name != "posix":
    pytest.skip("needs POSIX signals", allow_module_level=True)

PATIENCE = 180.0  # seconds: a first run compiles, and machines may be busy


def write(path, n=300):
    rows = np.random.default_rng(0).normal(size=(n, 2))
    path.write_text("".join(json.dumps({"vector": row.tolist()}) + "\n" for row in rows))


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.jsonl").touch()
    write(tmp_path / "tickets.jsonl")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("rows.jsonl", "rows.jsonl does not exist yet."),
        ("ticket.jsonl", "ticket.jsonl does not exist yet. Did you mean 'tickets.jsonl'?"),
        ("none/rows.jsonl", "none/rows.jsonl does not exist yet. There is no folder 'none'."),
        ("empty.jsonl", "empty.jsonl has no rows yet."),
        ("empty", "the folder empty has no file yet whose name ends in .jsonl or .ndjson."),
        ("empty/*.jsonl", "no file is there yet whose name is like empty/*.jsonl."),
    ],
)
def test_what_is_waited_for(folder, source, said):
    assert list(awaited([source])) == [said]
    assert list(awaited([source, "tickets.jsonl"])) == []  # there is something to read
    assert list(awaited([source, "empty"]))[0] == said


def test_a_stream_says_so_at_once_and_learns_what_comes(folder):
    process = children.start(folder, "stream", "ticket.jsonl", "--follow", "--out", "out.jsonl")
    errors, out = folder / "stderr", folder / "out.jsonl"
    try:
        until(lambda: errors.exists() and "\n" in errors.read_text())
        assert errors.read_text() == (
            "evermix: ticket.jsonl does not exist yet. Did you mean 'tickets.jsonl'? Waiting for "
            "rows until a signal (Ctrl-C) ends it.\n"
        )
        write(folder / "ticket.jsonl")
        until(lambda: out.exists() and out.read_text().count("\n") == 300)
    finally:
        os.kill(process.pid, signal.SIGINT)
        assert children.finish(process) == 130


def test_the_page_of_a_stream_opens_with_its_first_rows(folder, monkeypatch):
    """Until then nothing answers at its port, and so nobody is sent there."""

    def come(settings):
        raise ValueError("the first rows")

    monkeypatch.setattr(stream, "begun", come)
    for live in ((), ("--live", "0")):
        said = evermix("stream", "empty.jsonl", "--follow", "--out", "o", *live, status=1).stderr
        assert said.index("ends it.") < said.index("the first rows")
        assert ("The page of --live opens with the first of them." in said) == bool(live)
        assert "watch it at" not in said


def test_a_quiet_stream_says_nothing(folder):
    process = children.start(folder, "stream", "none.jsonl", "--follow", "--quiet")
    until(lambda: (folder / "stderr").exists())
    time.sleep(1.0)
    os.kill(process.pid, signal.SIGINT)
    assert children.finish(process) == 130
    assert "exist" not in (folder / "stderr").read_text()


def test_a_folder_that_is_not_there_is_an_error(folder):
    assert children.run(folder, "stream", "emptie", "--follow") == 1
    said = (folder / "stderr").read_text()
    assert "there is no such folder. Did you mean 'empty'?" in said and "make it first" in said
    assert did_you_mean("emptie") == ""  # where files alone are meant
