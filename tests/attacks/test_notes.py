"""A checkpoint is data, not orders: a run that goes on writes where the command line says."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.io import checkpoint

FILES = ["--checkpoint", "m.evermix", "--out", "out.jsonl", "--trace", "trace.jsonl"]
MEMOIZED = ["--engine", "memoizedvb", "--laps", "1", "--batch-size", "20"]


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments), "--quiet"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("points.npy", np.random.default_rng(0).normal(size=(60, 2)))
    return tmp_path


def edit(change, path="m.evermix"):
    """Change the header of a file; the digest is computed anew."""
    arrays, header = checkpoint.read(path)
    header = json.loads(json.dumps(header))
    change(header)
    checkpoint.write(path, arrays, header)


def refused(*arguments):
    """Return what a command says that ends with an error, and without a traceback."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    result = run(*arguments)
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.exception
    after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert after == before
    return result.stderr


@pytest.mark.parametrize("command", ["stream", "fit"])
@pytest.mark.parametrize("option", ["out", "trace"])
def test_files_that_only_the_checkpoint_names_are_not_written(folder, command, option):
    """Neither those of the run itself, unless they are named again, nor others."""
    assert run(command, "points.npy", *FILES).exit_code == 0
    again = [command, "points.npy", "--checkpoint", "m.evermix", "--resume"]
    said = refused(*again)
    assert f"wrote to {folder / 'out.jsonl'} (--out) and {folder / 'trace.jsonl'} (--trace)" in said
    assert " --out out.jsonl --trace trace.jsonl --resume" in said
    victim = folder / "victim.txt"
    victim.write_text("precious")
    edit(lambda header: header["extra"][command]["settings"].update({option: str(victim)}))
    assert "victim.txt" in refused(*again)
    refused(*again, *FILES)  # which are not those of the checkpoint
    assert victim.read_text() == "precious"


def test_a_folder_that_only_the_checkpoint_names_is_not_written(folder):
    """Also if the engine in the file names it, and the notes do not."""
    (folder / "mine").mkdir()
    assert run("fit", "points.npy", *MEMOIZED, *FILES).exit_code == 0
    edit(lambda header: header["engine"]["spec"].update(spill=str(folder / "mine")))
    edit(lambda header: header["params"]["engine"]["spec"].update(spill=str(folder / "mine")))
    assert em.load("m.evermix").engine.spill == str(folder / "mine")
    assert run("fit", "points.npy", *FILES, "--resume", "--laps", 3).exit_code == 0
    assert em.load("m.evermix").engine.spill is None
    assert em.load("m.evermix").learner_.engine.spill is None


ODD = {
    "no notes": lambda extra: extra.update(stream=None),
    "a list": lambda extra: extra.update(stream=[1, 2]),
    "no settings": lambda extra: extra["stream"].pop("settings"),
    "odd settings": lambda extra: extra["stream"].update(settings=7),
    "odd batch": lambda extra: extra["stream"]["settings"].update(batch="many"),
    "odd place": lambda extra: extra["stream"]["settings"].update(out=3),
    "no positions": lambda extra: extra["stream"].pop("positions"),
    "odd positions": lambda extra: extra["stream"].update(positions={"out": -1}),
    "more odd positions": lambda extra: extra["stream"].update(positions={"out": "7"}),
    "no totals": lambda extra: extra["stream"].pop("totals"),
    "odd totals": lambda extra: extra["stream"]["totals"].update(offset=-5),
    "foreign totals": lambda extra: extra["stream"]["totals"].update(more=1),
    "more rows than there were": lambda extra: extra["stream"]["totals"].update(rows=10**9),
    "no kind": lambda extra: extra["stream"].pop("kind"),
    "no text": lambda extra: extra.pop("text"),
    "odd text": lambda extra: extra.update(text={"kind": "teapot"}),
    "odd files": lambda extra: extra["stream"].update(files=[1]),
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_missing_and_odd_notes_are_reported(folder, change):
    assert run("stream", "points.npy", *FILES, "--limit", 30, "--batch", 30).exit_code == 0
    edit(lambda header: change(header["extra"]))
    said = refused("stream", "points.npy", *FILES, "--resume")
    assert "m.evermix" in said and "notes" in said and "earlier copy" in said


def test_leftovers_of_a_killed_run_are_removed_at_the_next_start(folder):
    leftover = folder / f".m.evermix.{'a' * 16}.tmp"
    leftover.write_bytes(b"half")
    assert run("stream", "points.npy", *FILES).exit_code == 0
    assert not leftover.exists()
