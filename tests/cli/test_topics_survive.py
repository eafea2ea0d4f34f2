"""`evermix topics` killed, stopped and resumed, in processes of its own."""

import json
import re
import signal

import numpy as np
import pytest

from evermix.io import checkpoint

FILES = ["--out", "topics.json", "--checkpoint", "model.evermix", "--trace", "trace.jsonl"]
OPTIONS = ["--time-field", "year", "--burn-in", "15", "--draws", "15", "--chains", "2"]
OPTIONS += ["--every", "4", "--held-out", "0.2"]


@pytest.fixture(scope="module")
def uninterrupted(children, tmp_path_factory):
    """Arguments of a run, and the folder of one that nothing disturbed."""
    data = tmp_path_factory.mktemp("data")
    children.write_texts(data / "texts.jsonl", 200)
    with (data / "dated.jsonl").open("w") as file:
        for i, record in enumerate(children.lines(data / "texts.jsonl")):
            file.write(json.dumps(record | {"year": 2000 + i // 50}) + "\n")
    arguments = ["topics", str(data / "dated.jsonl"), *OPTIONS, *FILES]
    folder = tmp_path_factory.mktemp("whole")
    assert children.run(folder, *arguments) == 0, (folder / "stderr").read_text()
    return arguments, folder


def assert_same(one, other):
    """Two folders hold the same chains and draws, bit for bit, and tell the same of them."""
    (arrays, header), (others, other_header) = (
        checkpoint.read(folder / "model.evermix") for folder in (one, other)
    )
    assert arrays.keys() == others.keys()
    for name in arrays:
        assert arrays[name].tobytes() == others[name].tobytes(), name
    assert header["rngs"] == other_header["rngs"] and header["run"] == other_header["run"]
    for name in ("topics.json", "trace.jsonl"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.parametrize("kills", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_kills_change_no_topic(children, tmp_path, uninterrupted, kills):
    """Killed at random moments and resumed each time: same draws, same topics, same trace."""
    arguments, whole = uninterrupted
    length = (whole / "trace.jsonl").stat().st_size
    moments = np.sort(np.random.default_rng(kills).uniform(0, 0.9 * length, size=kills))
    trace = tmp_path / "trace.jsonl"
    statuses = [
        children.run(tmp_path, *arguments, "--resume", kill=children.Kill(trace, int(moment)))
        for moment in moments
    ]
    assert statuses.count(-signal.SIGKILL) >= kills // 2
    assert not (tmp_path / "topics.json").exists() or statuses[-1] == 0
    assert children.run(tmp_path, *arguments, "--resume") == 0
    assert_same(whole, tmp_path)


@pytest.mark.parametrize(
    ("number", "status", "share"), [(signal.SIGINT, 130, 0.7), (signal.SIGTERM, 143, 0.2)]
)
def test_a_signal_finishes_the_sweep_and_says_how_to_go_on(
    children, tmp_path, uninterrupted, number, status, share
):
    """In the burn-in as well as later."""
    arguments, whole = uninterrupted
    moment = int(share * (whole / "trace.jsonl").stat().st_size)
    kill = children.Kill(tmp_path / "trace.jsonl", moment, number)
    assert children.run(tmp_path, *arguments, kill=kill) == status
    said = (tmp_path / "stderr").read_text()
    assert re.search(r"Stopped after \d+ of 30 sweeps", said), said
    assert said.rstrip().endswith("--resume") and not (tmp_path / "topics.json").exists()
    resumed = ["topics", arguments[1], *FILES, "--resume"]
    assert children.run(tmp_path, *resumed) == 0
    assert_same(whole, tmp_path)
