"""Rows of an open pipe are answered as they come, and change nothing of what is learnt."""

import json
import os
import signal
import time

import numpy as np
import pytest

from helpers.variants import slow_but
from tests.attacks import live

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs pipes that can be waited for")
FILES = ["--out", "out.jsonl", "--checkpoint", "model.evermix", "--trace", "trace.jsonl"]


@pytest.mark.parametrize("kind", slow_but(["text"], live.KINDS))
def test_a_row_in_a_row_out_in_order(kind):
    seconds, answers = live.measure(kind, 30, 0.05, ["--max-wait", "0.1"])
    assert np.median(seconds) < 2.0  # on any machine; about 0.1
    assert all(0.0 < answer["probability"] <= 1.0 for answer in answers)
    assert answers[0]["provisional"] and answers[0]["new"]


def feed(children, folder, data, cuts, *arguments):
    """Run a stream on a pipe into which the bytes are put part by part; return its status."""
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    process = children.start(folder, *arguments, *FILES, stdin=folder / "pipe")
    with (folder / "pipe").open("wb", buffering=0) as pipe:
        for part in np.split(np.frombuffer(data, np.uint8), cuts):
            pipe.write(part.tobytes())
            time.sleep(0.1)
    return children.finish(process)


def learnt(folder, children):
    """What was learnt; results of the rows of the last batch depend on what that was."""
    found, header = children.checkpoint.read(folder / "model.evermix")
    arrays = {k: v.tobytes() for k, v in found.items() if k.startswith("state.")}
    return arrays | {"header": header["state"]}


@pytest.mark.parametrize("kind", slow_but(["texts"], ["texts", "vectors", "given engine"]))
def test_how_rows_come_changes_nothing_of_what_is_learnt(children, tmp_path, kind):
    """Also lines that come in two parts, and rows that were answered before the model began."""
    source, options = tmp_path / "rows.jsonl", ["--batch", "50", "--warmup", "120"]
    if kind == "texts":
        children.write_texts(source, 400)
    else:
        source.write_text("".join(json.dumps(row) + "\n" for row in live.vectors(400)))
        options += ["--engine", "adf"] if kind == "given engine" else []
    (tmp_path / "whole").mkdir()
    assert children.run(tmp_path / "whole", "stream", str(source), *options, *FILES) == 0
    data = source.read_bytes()
    cuts = np.sort(np.random.default_rng(0).integers(len(data), size=12))
    live_options = [*options, "--max-wait", "0.05"]
    assert feed(children, tmp_path / "live", data, cuts, "stream", "-", *live_options) == 0
    found = [children.lines(tmp_path / name / "out.jsonl") for name in ("whole", "live")]
    assert [line["id"] for line in found[1]] == [line["id"] for line in found[0]]
    assert sum("provisional" in line for line in found[1]) > 0
    assert ("provisional" in found[1][-1]) == (kind == "given engine")  # it waits for 1,000 rows
    assert "provisional" not in found[0][0]
    assert learnt(tmp_path / "live", children) == learnt(tmp_path / "whole", children)


@pytest.mark.parametrize("kind", slow_but(["texts"], ["texts", "vectors"]))
def test_a_pipe_that_continues_loses_and_doubles_nothing(children, tmp_path, kind):
    """Terminated while it waits, in its warm-up or after it, and resumed with the rows after."""
    if kind == "texts":
        children.write_texts(tmp_path / "rows.jsonl", 300)
    else:
        lines = [json.dumps(row) + "\n" for row in live.vectors(300)]
        (tmp_path / "rows.jsonl").write_text("".join(lines))
    lines = (tmp_path / "rows.jsonl").read_bytes().splitlines(keepends=True)
    folder, options = tmp_path / "run", ["--warmup", "100", "--max-wait", "0.05"]
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    again = []
    for first, last in ((0, 40), (40, 170), (170, 300)):
        arguments = ["stream", "-", *(again or options), *FILES]
        process = children.start(folder, *arguments, stdin=folder / "pipe")
        with (folder / "pipe").open("r+b", buffering=0) as pipe:
            pipe.write(b"".join(lines[first:last]))
            for _ in range(6000):
                if (folder / "out.jsonl").exists():
                    if len((folder / "out.jsonl").read_bytes().splitlines()) >= last:
                        break
                time.sleep(0.05)
            if last < 300:
                os.kill(process.pid, signal.SIGTERM)
                assert children.finish(process) == 143
        again = ["--resume", "--stdin", "continues", "--max-wait", "0.05"]
    assert children.finish(process) == 0
    names = [line["id"] for line in children.lines(folder / "out.jsonl")]
    assert names == [json.loads(line)["id"] for line in lines]
    _, header = children.checkpoint.read(folder / "model.evermix")
    assert header["extra"]["stream"]["totals"]["rows"] == 300
    assert header["state"]["clock"] == 300
