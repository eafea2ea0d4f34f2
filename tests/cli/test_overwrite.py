"""What --overwrite replaces, and when."""

import json
import os
import shutil
import signal

import numpy as np
import pytest

import evermix as em
from evermix.cli.output.output_files import (
    CheckpointReplacement,
    checkpoint_written,
    unfinished_outputs,
)
from helpers.commands import evermix

FILES = ["--checkpoint", "model.evermix", "--out", "out", "--trace", "trace", "--quiet"]
LEARNT = {
    "stream": ["points.npy"],
    "fit": ["points.npy", "--engine", "ep", "--laps", "2"],
    "topics": ["texts.jsonl", "--time-field", "year", "--burn-in", "2", "--draws", "2"],
}


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A folder of sources for each command, with the files of a run that has ended."""
    folders = {}
    for command, arguments in LEARNT.items():
        folders[command] = folder = tmp_path_factory.mktemp(command)
        rng = np.random.default_rng(0)
        np.save(folder / "points.npy", rng.normal(size=(40, 2)))
        np.save(folder / "empty.npy", np.empty((0, 2)))
        np.save(folder / "bad.npy", np.full((3, 2), np.nan))
        with (folder / "texts.jsonl").open("w") as file:
            for i in range(20):
                text = " ".join(rng.choice(["sea", "ship", "wave", "sail"], size=6))
                file.write(json.dumps({"text": text, "year": 2001 + i // 10}) + "\n")
        (folder / "halves.jsonl").write_text('{"vector": [1.0, 0.5], "year": 1}\n' * 2)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            evermix(command, *arguments, *FILES)
    return folders


@pytest.fixture
def folder(tmp_path, old, command, monkeypatch):
    """The files of a run of a command."""
    place = shutil.copytree(old[command], tmp_path / command)
    monkeypatch.chdir(place)
    return place


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ---- what is not replaced --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "arguments", "complaint"),
    [
        ("stream", ["nowhere.npy"], "nowhere.npy"),
        ("stream", ["empty.npy"], "at least one row"),
        ("stream", ["texts.jsonl", "--text-field", "tekst"], "tekst"),
        ("stream", ["texts.jsonl", "--time-field", "when"], "when"),
        ("stream", ["points.npy", "--engine", "rcrp", "--prior", "nggp"], "RCRP"),
        ("stream", ["points.npy", "--family", "multinomial"], "counts >= 0"),
        ("stream", ["points.npy", "--half-life", "7d"], "--time-field"),
        ("stream", ["points.npy", "--sigma", "1.5"], "sigma"),
        ("fit", ["nowhere.npy"], "nowhere.npy"),
        ("fit", ["bad.npy", "--skip-bad"], "no rows that can be learnt"),
        ("fit", ["points.npy", "--engine", "memoizedvb", "--prior", "nggp"], "MemoizedVB"),
        ("fit", ["points.npy", "--family", "poisson"], "counts >= 0"),
        ("fit", ["points.npy", "--engine", "fullvb", "--start", "nowhere.evermix"], "nowhere"),
        ("topics", ["nowhere.jsonl", "--time-field", "year"], "nowhere.jsonl"),
        ("topics", ["texts.jsonl", "--time-field", "when"], "when"),
        ("topics", ["halves.jsonl", "--prior", "hdp"], "whole numbers >= 0"),
        ("topics", ["halves.jsonl", "--time-field", "year"], "same time"),
        ("topics", ["texts.jsonl", "--prior", "mngg", "--sampler", "h1"], "sampler must be"),
        ("topics", ["texts.jsonl", "--time-field", "year", "--alpha", "0"], "alpha"),
        ("topics", ["texts.jsonl", "--time-field", "year", "--held-out", "0.001"], "--held-out"),
    ],
)
def test_a_request_that_is_refused_leaves_the_old_files(folder, command, arguments, complaint):
    before = contents(folder)
    said = evermix(command, *arguments, *FILES, "--overwrite", status=1).stderr
    assert complaint in said and len(said.splitlines()) == 1
    assert contents(folder) == before


@pytest.mark.parametrize("command", ["stream"])
def test_a_stream_of_nothing_replaces_nothing(folder):
    before = contents(folder)
    evermix("stream", "bad.npy", "--skip-bad", *FILES, "--overwrite")
    assert contents(folder) == before


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("command", ["fit", "topics"])
def test_a_run_that_is_stopped_before_it_has_learnt_anything_replaces_nothing(
    folder, command, monkeypatch
):
    estimator = {"fit": em.Mixture, "topics": em.TopicModel}[command]
    monkeypatch.setattr(estimator, "fit", lambda *_, **__: signal.raise_signal(2))
    before = contents(folder)
    said = evermix(command, *LEARNT[command], *FILES, "--overwrite", status=130).stderr
    assert "Nothing was learnt yet" in said and contents(folder) == before


# ---- what is replaced ------------------------------------------------------------------------


@pytest.mark.parametrize("command", LEARNT)
def test_a_run_that_has_learnt_something_replaces_all_files(folder, command):
    """They are those of a run where there were none."""
    evermix(command, *LEARNT[command], "--seed", 1, *FILES, "--overwrite")
    found = contents(folder)
    assert not [name for name in found if name.startswith(".")]
    for name in ("model.evermix", "out", "trace"):
        (folder / name).unlink()
    evermix(command, *LEARNT[command], "--seed", 1, *FILES)
    fresh = contents(folder)
    assert found.keys() == fresh.keys() and found["out"] == fresh["out"]
    assert len(found["trace"].splitlines()) == len(fresh["trace"].splitlines())
    assert em.load("model.evermix").random_state == 1


@pytest.mark.parametrize("command", LEARNT)
def test_a_run_that_is_killed_before_it_has_learnt_anything_is_not_resumed_from_the_old(
    children, folder, command
):
    arguments = [command, *LEARNT[command], "--seed", "1", *FILES]
    killed = children.run(folder, *arguments, "--overwrite", unlearnt=True)
    assert killed == -signal.SIGKILL
    said = evermix(*arguments, "--resume").stderr
    assert "no checkpoint model.evermix, so there is nothing to go on from" in said
    assert em.load("model.evermix").random_state == 1
    assert not [name for name in contents(folder) if name.startswith(".")]


def test_an_old_checkpoint_lies_aside_until_something_was_learnt(tmp_path):
    path, aside = tmp_path / "model.evermix", tmp_path / ".model.evermix.old"
    path.write_text("old")
    with CheckpointReplacement(path) as replaced:
        assert aside.read_text() == "old" and not path.exists()
        replaced("a model", "its first step")
        path.write_text("new")
        assert not aside.exists()
    with pytest.raises(ValueError), CheckpointReplacement(path) as replaced:
        replaced()
        path.write_text("newer")
        raise ValueError("of a later step")
    assert contents(tmp_path) == {"model.evermix": b"newer"}


def test_what_a_killed_run_has_put_aside_does_not_come_back(tmp_path):
    path, aside = tmp_path / "model.evermix", tmp_path / ".model.evermix.old"
    path.write_text("old")
    CheckpointReplacement(path).__enter__()  # and no more
    with pytest.raises(ValueError), CheckpointReplacement(path):
        raise ValueError("refused")
    assert aside.exists() and not path.exists()
    with CheckpointReplacement(path):
        pass
    assert not contents(tmp_path)


def test_outputs_are_known_until_there_is_a_checkpoint(tmp_path):
    path = tmp_path / "model.evermix"
    with pytest.raises(ValueError), CheckpointReplacement(path, ["out", None, "-"]):
        raise ValueError("refused")
    assert not unfinished_outputs(path) and not contents(tmp_path)
    with CheckpointReplacement(path, ["out", None, "-"]):
        pass  # and killed
    assert unfinished_outputs(path) == {"out"}
    with pytest.raises(ValueError), CheckpointReplacement(path, ["out"]):
        raise ValueError("refused")
    assert unfinished_outputs(path) == {"out"}
    checkpoint_written(path)
    assert not unfinished_outputs(path) and not contents(tmp_path)


def test_an_old_checkpoint_is_replaced_where_a_link_points(tmp_path):
    path, link = tmp_path / "model.evermix", tmp_path / "link.evermix"
    path.write_text("old")
    link.symlink_to(path)
    with CheckpointReplacement(link):
        assert link.is_symlink() and not path.exists()
