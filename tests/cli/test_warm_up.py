"""Texts that come slowly are learnt early, and those that wait say so."""

import json
import os
import signal
import time

import numpy as np
import pytest

from evermix.cli.options.commands import options_of
from evermix.cli.options.mixture import with_default_prior
from evermix.cli.options.settings import Settings
from evermix.cli.runs.warm_up import WarmUp, check_waiting
from evermix.io import checkpoint
from evermix.io.sources import open_source
from evermix.io.sources.several import joined

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
        assert said.count("learnt from the first 100 texts") == 1
    else:
        assert found[-1]["provisional"]
        assert said.count("learnt from the first 2,000 texts: until then answers are prov") == 1
        assert "A smaller --warmup begins earlier" in said


RUN = ["stream", "-", "--max-wait", "0.1", "--warmup", "300"]
FILES = ["--out", "out.jsonl", "--checkpoint", "model.evermix"]


def waiting(folder):
    """Return the ids of the texts that a checkpoint holds, which wait for a vocabulary."""
    path = folder / "model.evermix"
    notes = checkpoint.read(path)[1]["extra"]["stream"] if path.exists() else {}
    return notes.get("waiting", {"ids": []})["ids"]


def killed(folder, pipe, texts):
    """Kill a stream, which gets these texts through a pipe, once it has kept all it answered."""
    process = children.start(folder, *RUN, *FILES, stdin=pipe)
    with pipe.open("r+b", buffering=0) as file:
        file.write(texts)
        end = time.monotonic() + PATIENCE
        while len(waiting(folder)) < texts.count(b"\n") and time.monotonic() < end:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        assert children.finish(process) == -signal.SIGKILL


def test_a_pipe_that_is_killed_in_the_warm_up_goes_on_without_a_loss(tmp_path):
    whole, broken, pipe = tmp_path / "whole", tmp_path / "broken", tmp_path / "pipe"
    os.mkfifo(pipe)
    children.write_texts(tmp_path / "texts.jsonl", 400)
    text = (tmp_path / "texts.jsonl").read_bytes()
    first = text.splitlines(keepends=True)[:120]
    for folder in (whole, broken):
        folder.mkdir()
    assert children.run(whole, *RUN, *FILES, stdin=tmp_path / "texts.jsonl") == 0
    killed(broken, pipe, b"".join(first))
    assert "Traceback" not in (broken / "stderr").read_text()
    (tmp_path / "rest.jsonl").write_bytes(text.removeprefix(b"".join(first)))
    again = [*RUN, *FILES, "--resume", "--stdin", "continues"]
    process = children.start(broken, *again, stdin=pipe)
    with pipe.open("wb") as file:
        file.write((tmp_path / "rest.jsonl").read_bytes())
    assert children.finish(process) == 0, (broken / "stderr").read_text()
    assert "(120 of them wait already)" in (broken / "stderr").read_text()
    found = lines(broken / "out.jsonl")
    assert [line["id"] for line in found] == [f"t{i}" for i in range(400)]
    (arrays, header), (others, other) = (
        checkpoint.read(folder / "model.evermix") for folder in (broken, whole)
    )
    assert header["state"] == other["state"]
    assert all(arrays[name].tobytes() == others[name].tobytes() for name in others)
    assert header["extra"]["stream"]["totals"]["rows"] == 400


def test_a_model_of_texts_that_wait_says_so_and_does_not_go_on_otherwise(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    children.write_texts(tmp_path / "texts.jsonl", 20)
    killed(tmp_path, pipe, (tmp_path / "texts.jsonl").read_bytes())
    assert children.run(tmp_path, "info", "model.evermix") == 0
    assert "provisional" in (tmp_path / "stdout").read_text()
    assert children.run(tmp_path, "info", "model.evermix", "--json") == 0
    assert json.loads((tmp_path / "stdout").read_text())["provisional"] is True
    assert children.run(tmp_path, "report", "model.evermix") == 0
    assert '"provisional":' in (tmp_path / "model.html").read_text()
    assert children.run(tmp_path, "predict", "model.evermix", "texts.jsonl", "-q") == 0
    assert len((tmp_path / "stdout").read_text().splitlines()) == 20
    warning = "warning: answers of model.evermix are provisional"
    assert (tmp_path / "stderr").read_text().count(warning) == 1
    assert children.run(tmp_path, "explain", "model.evermix", "texts.jsonl") == 0
    assert (tmp_path / "stderr").read_text().count(warning) == 1
    more = ["--model", "model.evermix", "--out", "more.jsonl"]
    assert children.run(tmp_path, "stream", "texts.jsonl", *more) == 1
    assert "Let it go on with --resume" in (tmp_path / "stderr").read_text()
    assert children.run(tmp_path, "edit", "model.evermix", "rename", "0", "x") == 1
    assert "Let it go on with --resume" in (tmp_path / "stderr").read_text()


@pytest.mark.parametrize("times", [None, ["2024-05-31T18:30:00.25", "2024-06-01"], [0.1, 2e300]])
def test_texts_that_wait_come_back_as_they_were(tmp_path, times):
    """With their times and fields, by way of JSON."""
    rows = [{"id": i, "text": "ab cd ef", "n": [i], "at": (times or [0, 0])[i]} for i in range(2)]
    (tmp_path / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    field = None if times is None else "at"
    source = open_source(tmp_path / "t.jsonl", time_field=field, fields="values")
    chunks = list(source.chunks(0, 1))
    options = options_of("stream")
    values = {option.name: option.default for option in options}
    settings = with_default_prior(Settings(options, values), streaming=True)
    waiting = WarmUp(settings)
    for chunk in chunks:
        waiting.answer(chunk)
    notes = json.loads(json.dumps(waiting.notes()))
    check_waiting(notes)
    back = WarmUp(settings, notes, waiting.model, waiting.text).joined()
    for one, other in zip(back, joined(chunks), strict=True):
        np.testing.assert_array_equal(one, other)
    for name, wrong in (("X", ["one"]), ("rows", [0]), ("ids", []), ("times", ["float64", [0]])):
        with pytest.raises((ValueError, TypeError)):
            check_waiting(notes | {name: wrong})


def test_rows_of_a_pipe_that_no_checkpoint_holds_are_named(tmp_path):
    """Answers without a checkpoint, or after it, are never passed over in silence."""
    texts, out = tmp_path / "texts.jsonl", tmp_path / "out.jsonl"
    children.write_texts(texts, 60)
    short = [*RUN, *FILES, "--hash", "256"]
    assert children.run(tmp_path, *short, stdin=texts) == 0
    with out.open("a") as file:
        file.write('{"id": "t60"}\n' * 3)
    again = [*short, "--resume", "--stdin", "continues"]
    (tmp_path / "more.jsonl").write_text('{"id": "t60", "text": "bal bel bil"}\n')
    assert children.run(tmp_path, *again, stdin=tmp_path / "more.jsonl") == 0
    said = (tmp_path / "stderr").read_text()
    assert "the last 3 lines of" in said and "send these rows again" in said
    assert [line["id"] for line in lines(out)] == [f"t{i}" for i in range(61)]
    # Killed before the first checkpoint: what is there names the outputs, and stays as it was.
    (tmp_path / "model.evermix").unlink()
    (tmp_path / ".model.evermix.outputs").write_text(json.dumps([str(out)]))
    before = out.read_bytes()
    assert children.run(tmp_path, *again, stdin=tmp_path / "more.jsonl") == 1
    said = (tmp_path / "stderr").read_text()
    assert "(61 lines of answers)" in said and "--stdin replayed" in said
    assert out.read_bytes() == before
    replayed = [*short, "--resume", "--stdin", "replayed"]
    assert children.run(tmp_path, *replayed, stdin=texts) == 0
    assert len(lines(out)) == 60
