"""`evermix fit` killed, stopped, starved of disk and resumed, in processes of its own."""

import re
import signal
from functools import cache

import numpy as np
import pytest

from helpers.variants import slow_but

FILES = ["--out", "out.jsonl", "--checkpoint", "model.evermix", "--trace", "trace.jsonl"]
OPTIONS = {
    "ep": ["--engine", "ep", "--laps", "40", "--tol", "0", "--shuffle", "--every", "2"],
    "gibbs": ["--engine", "gibbs", "--sweeps", "20", "--chains", "2", "--learn", "a", "--every"]
    + ["1", "--learn", "sigma"],
    "memoizedvb": ["--engine", "memoizedvb", "--batch-size", "50", "--tol", "0", "--every", "1"]
    + ["--start", "random", "--truncation", "12", "--stride", "2"],
}


@pytest.fixture(scope="module")
def uninterrupted(children, tmp_path_factory):
    """Arguments of each fit, and the folder of a run that nothing disturbed."""
    data = tmp_path_factory.mktemp("data")
    children.write_texts(data / "texts.jsonl", 500)

    @cache
    def run(name):
        arguments = ["fit", str(data / "texts.jsonl"), *OPTIONS[name], *FILES]
        folder = tmp_path_factory.mktemp("whole")
        assert children.run(folder, *arguments) == 0
        return arguments, folder

    return run


@pytest.mark.parametrize("name", slow_but(["memoizedvb"], OPTIONS))
@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_kills_change_nothing(children, tmp_path, uninterrupted, name, kills):
    """Killed at random moments and resumed each time: same model, same lines, same trace."""
    arguments, whole = uninterrupted(name)
    length = (whole / "trace.jsonl").stat().st_size
    moments = np.sort(np.random.default_rng(kills).uniform(0, 0.9 * length, size=kills))
    trace = tmp_path / "trace.jsonl"
    statuses = [
        children.run(tmp_path, *arguments, "--resume", kill=children.Kill(trace, int(moment)))
        for moment in moments
    ]
    assert statuses.count(-signal.SIGKILL) >= kills // 2
    assert not (tmp_path / "out.jsonl").exists() or statuses[-1] == 0
    assert children.run(tmp_path, *arguments, "--resume") == 0
    children.assert_same_run(whole, tmp_path)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("name", ["ep", "memoizedvb"])
def test_a_signal_finishes_the_step_and_says_how_to_go_on(
    children, tmp_path, uninterrupted, name, number, status
):
    """Also after a kill of the run that goes on from the step's checkpoint."""
    arguments, whole = uninterrupted(name)
    half = (whole / "trace.jsonl").stat().st_size // 2
    kill = children.Kill(tmp_path / "trace.jsonl", half, number)
    assert children.run(tmp_path, *arguments, kill=kill) == status
    said = (tmp_path / "stderr").read_text()
    assert re.search(r"after \d+ of at most \d+ laps", said) and said.rstrip().endswith("--resume")
    resumed = ["fit", arguments[1], *FILES, "--resume"]
    reached = (tmp_path / "trace.jsonl").stat().st_size
    kill = children.Kill(tmp_path / "trace.jsonl", reached + 1)
    assert children.run(tmp_path, *resumed, kill=kill) == -signal.SIGKILL
    assert children.run(tmp_path, *resumed) == 0
    children.assert_same_run(whole, tmp_path)


def test_a_full_disk_leaves_the_last_good_checkpoint(children, tmp_path, uninterrupted):
    """Draws make the checkpoints of a sampler grow until one of them has no room."""
    arguments, whole = uninterrupted("gibbs")
    limit = (whole / "model.evermix").stat().st_size - 4 * 500 * 4  # a few draws fewer
    assert children.run(tmp_path, *arguments, file_limit=limit) == 1
    said = (tmp_path / "stderr").read_text()
    assert "could not write the checkpoint" in said and "Traceback" not in said
    assert 0 < (tmp_path / "model.evermix").stat().st_size <= limit
    assert children.run(tmp_path, *arguments, "--resume") == 0
    children.assert_same_run(whole, tmp_path)
