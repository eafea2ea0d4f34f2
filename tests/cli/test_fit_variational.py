"""Variational engines of `evermix fit`: their bound in words, traces and files."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.cli.console import ProgressBar, laps_in_words, progress_bar
from evermix.cli.runs.lap_log import LapLog
from evermix.engines import ENGINES
from evermix.io import checkpoint
from helpers.commands import evermix

MEMOIZED = ["--engine", "memoizedvb", "--batch-size", "40", "--laps", "6"]
NAMES = [name.lower() for name in ENGINES if name.endswith("VB")]


@pytest.fixture
def points(tmp_path, monkeypatch):
    """A working directory with points of three clusters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)) + 9.0 * np.eye(3)[rng.integers(3, size=150)]
    np.save(tmp_path / "points.npy", X)
    monkeypatch.chdir(tmp_path)
    return X


def rows(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def described(path):
    return json.loads(evermix("info", path, "--json").stdout)


@pytest.mark.parametrize("name", ENGINES)
def test_the_usual_prior_of_every_engine_is_that_of_the_estimator(points, name):
    few = {"laps": 1} if "laps" in ENGINES[name].__dataclass_fields__ else {}
    few = {"sweeps": 2} if "sweeps" in ENGINES[name].__dataclass_fields__ else few
    options = [word for option, value in few.items() for word in (f"--{option}", value)]
    evermix("fit", "points.npy", "--engine", name.lower(), *options)
    assert em.load("points.evermix").prior == ENGINES[name].default_prior()


@pytest.mark.parametrize("name", NAMES)
def test_the_summary_and_info_tell_the_bound_of_the_model(points, name):
    said = evermix("fit", "points.npy", "--engine", name, "--laps", 4).stderr
    bound = em.load("points.evermix").lower_bound_
    assert f"; fit {bound:,.2f}, {bound / 150:.3f} per row (ELBO, higher" in said
    assert "log predictive" not in said
    found = described("points.evermix")
    assert found["elbo"] == bound and found["prior"] == "DP(alpha=1.0)"
    assert f"{bound:,.2f}" in evermix("info", "points.evermix").stdout


def test_priors_with_sticks_can_be_chosen(points):
    options = ["--prior", "pitman-yor", "--concentration", 2, "--discount", 0.1]
    evermix("fit", "points.npy", *MEMOIZED, *options)
    assert em.load("points.evermix").prior == em.PitmanYor(alpha=2.0, discount=0.1)
    evermix("fit", "points.npy", *MEMOIZED, "--concentration", 3, "--overwrite")
    assert em.load("points.evermix").prior == em.DP(alpha=3.0)


def test_a_fit_may_start_from_the_clusters_of_another_model(points):
    """It begins no worse than that ended, and never removes the file that it needs."""
    evermix("fit", "points.npy", *MEMOIZED, "--checkpoint", "first.evermix", "--out", "first.jsonl")
    options = ["--engine", "fullvb", "--start", "first.evermix", "--trace", "trace.jsonl"]
    said = evermix("fit", "points.npy", *options, "--checkpoint", "first.evermix", status=1).stderr
    assert "--start and --checkpoint must be different files" in said
    evermix("fit", "points.npy", *options)
    first = em.load("first.evermix")
    assert rows("trace.jsonl")[0]["scalars"]["elbo"] >= first.lower_bound_ - 1e-6
    assert em.load("points.evermix").n_clusters_ == first.n_clusters_ == 3
    said = evermix(
        "fit", "points.npy", "--engine", "fullvb", "--start", "two", "--overwrite", status=1
    )
    assert "or the path of a saved model, got 'two'" in said.stderr


def test_the_trace_tells_the_bound_and_the_moves_of_every_lap(points):
    """Each lap once, although a lap has several batches; the last bound is the model's."""
    start = ["--start", "random", "--truncation", 1]  # so that births are to come
    evermix("fit", "points.npy", *MEMOIZED, *start, "--trace", "trace.jsonl")
    laps, mix = rows("trace.jsonl"), em.load("points.evermix")
    assert [lap["lap"] for lap in laps] == list(range(mix.state_.lap))
    assert [lap["rows"] for lap in laps] == [150] * len(laps)
    assert laps[-1]["scalars"]["elbo"] == mix.lower_bound_
    born = [len(lap["births"]) for lap in laps]
    gone = [len(lap["merges"]) + len(lap["dropped"]) for lap in laps]
    assert 1 + sum(born) - sum(gone) == laps[-1]["K"] == mix.n_clusters_ == 3
    assert all(lap["seconds"] > 0 for lap in laps)


def test_progress_is_in_plain_words():
    with progress_bar(laps_in_words(1, 20, "lap"), 20, quiet=False, of_rows=False) as bar:
        bar.update(2.5, 5, "fit -43.8 per row", laps_in_words(3, 20, "lap"))
        (task,) = bar._progress.tasks
    assert task.description == "lap 3 of at most 20"
    assert task.fields["status"] == "5 clusters, fit -43.8 per row"


def test_progress_tells_the_bound_and_the_moves_of_the_last_lap():
    step = em.Info(rows=10, clock=10, K=3, results=em.engines.RowResults.empty(10))
    lap = em.Info(rows=40, clock=40, K=3, births=[1, 2], merges=[(4, 0)], scalars={"elbo": -1e3})
    log = LapLog(last=lap)
    said = "fit -25.000 per row, 2 born, 1 merged"
    assert log.described(step, 40) == log.described(lap, 40) == said
    assert LapLog().described(step, 40) == "fit 0.000 per row"
    sweep = em.Info(rows=40, clock=40, K=3, scalars={"log_joint": -80.0})
    assert LapLog().described(sweep, 40) == "fit -2.000 per row"
    assert LapLog().described(em.Info(rows=0, clock=40, K=3), 40) == ""


@pytest.mark.parametrize("name", NAMES)
def test_progress_counts_laps_as_the_summary_does_and_its_fit_never_falls(
    points, name, monkeypatch
):
    update, shown = ProgressBar.update, []

    def watched(bar, *what):
        update(bar, *what)
        (task,) = bar._progress.tasks
        if task.description.startswith("lap "):  # not while rows are read
            shown.append((task.description, task.fields["status"], task.completed, task.total))

    monkeypatch.setattr(ProgressBar, "update", watched)
    batches = [] if name == "fullvb" else ["--batch-size", 40]
    said = evermix("fit", "points.npy", "--engine", name, "--laps", 5, *batches).stderr
    made = [int(re.fullmatch(r"lap (\d) of at most 5", title)[1]) for title, *_ in shown]
    fits = [float(fit) for _, status, *_ in shown for fit in re.findall(r"fit (\S+)", status)]
    assert made == sorted(made) and made[0] == 1
    assert f"; {made[-1]} " in said  # such as 3 of at most 5 laps
    assert shown[-1][2:] == (made[-1], 5)
    assert fits
    if name != "stochasticvb":  # which estimates its bound
        assert fits == sorted(fits)


@pytest.mark.parametrize("name", NAMES)
def test_more_laps_go_on_from_the_bound_that_was_reached(points, name):
    files = ["--trace", "trace.jsonl", "--out", "out.jsonl"]
    options = ["--engine", name, *files]
    options += [] if name == "stochasticvb" else ["--tol", 0]
    evermix("fit", "points.npy", *options, "--laps", 1)
    before = described("points.evermix")
    said = evermix("fit", "points.npy", *files, "--resume", "--laps", 6).stderr
    after = described("points.evermix")
    assert before["laps"] == 1 < after["laps"] <= 6 and " laps" in said and "; fit " in said
    assert after["finished"] is True
    assert len(rows("trace.jsonl")) == after["laps"] and len(rows("out.jsonl")) == 150
    if name != "stochasticvb":  # its bound goes up and down
        assert after["elbo"] >= before["elbo"] - 1e-9 * abs(before["elbo"])


def test_what_is_spilled_is_found_all_the_same(points, tmp_path):
    """Bit for bit, and another folder may be given when the fit goes on elsewhere."""
    runs = {}
    for name in ("held", "spilled"):
        (tmp_path / name).mkdir()
        files = ["--checkpoint", f"{name}.evermix", "--out", f"{name}.jsonl"]
        spill = ["--spill", name] if name == "spilled" else []
        evermix("fit", "points.npy", *MEMOIZED, "--laps", 3, "--tol", 0, *spill, *files)
        if spill:
            assert em.load("spilled.evermix").engine.spill == str(tmp_path / "spilled")
            (tmp_path / "spilled").rmdir()  # nothing is left in it
            again = ["fit", "points.npy", "--resume", "--laps", 5, *files]
            assert " --spill spilled " in evermix(*again, status=1).stderr
            said = evermix(*again, *spill, status=1).stderr
            assert "--spill wants a folder, there is none at" in said
            spill = ["--spill", "held"]
        evermix("fit", "points.npy", "--resume", "--laps", 5, *spill, *files)
        runs[name] = checkpoint.read(f"{name}.evermix")[0]
    held, spilled = runs.values()
    assert [name for name in held if held[name].tobytes() != spilled[name].tobytes()] == []
    assert rows("held.jsonl") == rows("spilled.jsonl")


EP = ["--engine", "ep", "--laps", "3", "--tol", "0", "--batch-size", "40"]


@pytest.mark.parametrize("options", [EP, MEMOIZED])
def test_a_crash_within_a_lap_falls_back_to_a_checkpoint_of_that_lap(points, monkeypatch, options):
    """Unless --every says otherwise, checkpoints are also written between two batches."""
    monkeypatch.setattr("evermix.cli.runs.interrupts.MIN_SECONDS", 0.0)
    monkeypatch.setattr("evermix.cli.runs.interrupts.MIN_RATIO", 0.0)
    evermix("fit", "points.npy", *options, "--checkpoint", "whole.evermix", "--out", "whole.jsonl")
    add, reported = LapLog.add, []

    def crash(log, info):
        reported.append(info)
        if len(reported) == 8:  # a lap has four batches and an end
            raise MemoryError
        return add(log, info)

    with monkeypatch.context() as crashing:
        crashing.setattr(LapLog, "add", crash)
        result = CliRunner().invoke(app, ["fit", "points.npy", *options, "--out", "out.jsonl"])
        assert isinstance(result.exception, MemoryError)
    header = checkpoint.read("points.evermix")[1]["state"]
    assert (header["lap"], header["at"]) == (1, 2)
    evermix("fit", "points.npy", "--out", "out.jsonl", "--resume")
    ours, theirs = checkpoint.read("points.evermix")[0], checkpoint.read("whole.evermix")[0]
    assert [name for name in theirs if ours[name].tobytes() != theirs[name].tobytes()] == []
    assert rows("out.jsonl") == rows("whole.jsonl")
