"""Outputs are new files: none is an input, another output, or replaced unless that is wanted."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import evermix as em
from evermix.cli.commands.demo import standard_library
from evermix.cli.output.output_files import check_files
from helpers.commands import evermix

SMALL = ["--time-field", "year", "--burn-in", "1", "--draws", "1"]
COMMANDS = {  # with inputs and outputs by option; all of them exist in the folder
    "stream": (["rows.jsonl"], {"--out": "out", "--trace": "trace", "--checkpoint": "old.evermix"}),
    "fit": (["rows.jsonl"], {"--out": "out", "--trace": "trace", "--checkpoint": "old.evermix"}),
    "topics": (
        ["texts.jsonl", *SMALL],
        {
            "--out": "out",
            "--trace": "trace",
            "--checkpoint": "old.evermix",
            "--figure": "a.png",
            "--curves": "b.png",
        },
    ),
    "predict": (["model.evermix", "rows.jsonl"], {"--out": "out"}),
}
OUTPUTS = [(command, option) for command, (_, files) in COMMANDS.items() for option in files]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Sources, a model, and files that nobody wants to lose."""
    folder, rng = tmp_path_factory.mktemp("made"), np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    em.Mixture(random_state=0).partial_fit(X).save(folder / "model.evermix")
    lines = [json.dumps({"vector": x}) + "\n" for x in X.tolist()]
    (folder / "rows.jsonl").write_text("".join(lines))
    words = rng.choice(["sea", "ship", "wave", "sail"], size=(20, 6))
    texts = [{"text": " ".join(some), "year": 2001 + i // 10} for i, some in enumerate(words)]
    (folder / "texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    for name in ("out", "trace", "old.evermix", "a.png", "b.png"):
        (folder / name).write_text("precious\n")
    return folder


@pytest.fixture
def folder(tmp_path, made, monkeypatch):
    place = shutil.copytree(made, tmp_path / "place")
    monkeypatch.chdir(place)
    return place


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(folder, *arguments):
    """Run a command that must fail in one line and leave all files as they are."""
    before = contents(folder)
    said = evermix(*arguments, status=1).stderr
    assert contents(folder) == before and len(said.splitlines()) == 1
    return said


def elsewhere(folder, spelling, name):
    """Return another name of a file."""
    if spelling == "same":
        return name
    if spelling == "absolute":
        return folder / name
    if spelling == "dotted":
        return f"../{folder.name}/./{name}"
    if spelling == "linked folder":
        (folder.parent / "linked").symlink_to(folder)
        return f"../linked/{name}"
    make = {"symbolic link": os.symlink, "hard link": os.link}[spelling]
    make(folder / name, folder.parent / f"other {name}")
    return f"../other {name}"


SPELLINGS = ["same", "absolute", "dotted", "symbolic link", "hard link", "linked folder"]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(("command", "option"), OUTPUTS)
def test_no_output_may_be_the_source(folder, command, option, spelling):
    arguments, _ = COMMANDS[command]
    source = next(name for name in arguments if name.endswith(".jsonl"))
    out = elsewhere(folder, spelling, source)
    said = refused(folder, command, *arguments, option, out, "--overwrite")
    assert f"SOURCE and {option} must be different files" in said


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    ("command", "name", "option"), [("predict", "MODEL", "--out"), ("fit", "--start", "--trace")]
)
def test_no_output_may_be_a_model_that_is_read(folder, command, name, option, spelling):
    arguments, _ = COMMANDS[command]
    if command == "fit":
        arguments = [*arguments, "--engine", "fullvb", "--start", "model.evermix"]
    out = elsewhere(folder, spelling, "model.evermix")
    said = refused(folder, command, *arguments, option, out, "--overwrite")
    assert f"{name} and {option} must be different files" in said


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("command", ["stream", "fit", "topics"])
def test_no_two_outputs_may_be_one_file(folder, command, spelling):
    arguments, _ = COMMANDS[command]
    files = ["--out", "out", "--trace", elsewhere(folder, spelling, "out")]
    said = refused(folder, command, *arguments, *files, "--overwrite")
    assert "--out and --trace must be different files" in said and "same file" in said


def test_two_links_to_a_file_that_is_not_there_yet_are_one_file(folder):
    for name in ("a", "b"):
        (folder / name).symlink_to("later")
    said = refused(folder, "stream", "rows.jsonl", "--out", "a", "--trace", "b")
    assert "--out and --trace must be different files" in said


@pytest.mark.parametrize("source", ["parts", "parts/*.jsonl", "linked", "linked/*.jsonl"])
@pytest.mark.parametrize("out", ["parts/1.jsonl", "linked/1.jsonl", "parts/new.jsonl", "1"])
def test_no_output_may_be_a_part_of_the_source(folder, source, out):
    (folder / "parts").mkdir()
    shutil.copy("rows.jsonl", "parts/1.jsonl")
    (folder / "linked").symlink_to("parts")
    (folder / "1").hardlink_to("parts/1.jsonl")
    for command in (["predict", "model.evermix"], ["stream"]):
        said = refused(folder, *command, source, "--out", out, "--overwrite")
        assert "SOURCE and --out must be different files" in said


def test_standard_input_and_output_are_files_too(folder):
    """A shell opens the file that it redirects, and >> leaves in it what is there."""
    before = contents(folder)

    def run(*arguments, **streams):
        command = [sys.executable, "-m", "evermix", "predict", "model.evermix", *arguments]
        return subprocess.run(command, stderr=subprocess.PIPE, text=True, **streams)

    with open("rows.jsonl") as source, open("rows.jsonl", "a") as out:
        from_input = run("-", "--out", "rows.jsonl", "--overwrite", stdin=source)
        to_output = run("rows.jsonl", stdout=out)
    assert from_input.returncode == to_output.returncode == 1 and contents(folder) == before
    assert "one of standard input" in from_input.stderr
    assert "standard output is, or would be, one of" in to_output.stderr


def test_devices_are_no_files_and_names_of_starts_are_no_outputs():
    check_files(["-"], {"--start": "kmeans++"}, {"--out": "/dev/null", "--trace": None})
    check_files(["."], {"--start": "kmeans++"}, {"--out": "-"})


# ---- what exists -----------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "option"), OUTPUTS)
@pytest.mark.parametrize("spelling", ["same", "symbolic link"])
def test_nothing_is_replaced_unless_wanted(folder, command, option, spelling):
    arguments, files = COMMANDS[command]
    said = refused(folder, command, *arguments, option, elsewhere(folder, spelling, files[option]))
    assert f"{option} must be a new file" in said and "exists already" in said
    assert "--overwrite" in said


def test_predictions_replace_others_where_that_is_wanted(folder):
    arguments = ["predict", "model.evermix", "rows.jsonl"]
    evermix(*arguments, "--out", "fresh")
    evermix(*arguments, "--out", "out", "--overwrite")
    assert (folder / "out").read_bytes() == (folder / "fresh").read_bytes()
    (folder / "bad.jsonl").write_text('{"vector": [1]}\n')
    refused(folder, "predict", "model.evermix", "bad.jsonl", "--out", "out", "--overwrite")
    np.save("none.npy", np.full((2, 2), np.nan))
    evermix("predict", "model.evermix", "none.npy", "--skip-bad", "--out", "out", "--overwrite")
    assert (folder / "out").read_bytes() == b""


def test_an_empty_file_is_free(folder):
    (folder / "empty").touch()
    evermix("predict", "model.evermix", "rows.jsonl", "--out", "empty")
    assert len((folder / "empty").read_text().splitlines()) == 30


@pytest.mark.parametrize(
    ("command", "option"),
    [some for some in OUTPUTS if some[0] != "predict" and some[1] != "--checkpoint"],
)
def test_resuming_from_a_mistyped_checkpoint_empties_nothing(folder, command, option):
    arguments, files = COMMANDS[command]
    mistyped = ["--checkpoint", "odl.evermix", "--resume"]
    said = refused(folder, command, *arguments, option, files[option], *mistyped)
    assert "no checkpoint odl.evermix to resume from" in said and files[option] in said


def test_a_stream_that_was_killed_before_its_first_checkpoint_begins_again(folder):
    """Only the files that it has begun are replaced."""
    arguments = ["stream", "rows.jsonl", "--out", "mine", "--checkpoint", "m.evermix"]
    code = [
        "import os, sys",
        "from evermix.cli import app",
        "from evermix.cli.runs.run import Run",
        "Run.save = lambda run: os._exit(9)",
        "app(sys.argv[1:])",
    ]
    killed = subprocess.run([sys.executable, "-c", "\n".join(code), *arguments])
    written = (folder / "mine").read_bytes()
    assert killed.returncode == 9 and written and not (folder / "m.evermix").exists()
    (folder / ".m.evermix.lock").unlink()  # which the next process would remove
    refused(folder, *arguments, "--trace", "trace", "--resume")
    evermix(*arguments, "--resume")
    assert (folder / "mine").read_bytes() == written
    assert not [name for name in contents(folder) if name.startswith(".")]


# ---- the demo --------------------------------------------------------------------------------


@pytest.fixture
def short_demo(folder, monkeypatch):
    """The demo on a few modules of the library."""
    chosen = [path for path in standard_library() if path.parent.name in ("asyncio", "tkinter")]
    monkeypatch.setattr("evermix.cli.commands.demo.standard_library", lambda: chosen)
    monkeypatch.setattr("evermix.cli.commands.demo._draw", lambda path, *_: "none")


@pytest.mark.usefixtures("short_demo")
def test_the_demo_writes_its_own_folder_again_and_others_when_that_is_wanted(folder):
    for _ in range(2):
        evermix("demo", "--quiet")
    shutil.copytree("demo_output", "elsewhere")
    said = refused(folder, "demo", "--quiet", "--out-dir", "elsewhere")
    assert "elsewhere/docstrings.evermix exists already" in said and "--out-dir" in said
    (folder / "elsewhere" / "docstrings.evermix").write_text("old")
    evermix("demo", "--quiet", "--out-dir", "elsewhere", "--overwrite")
    em.load("elsewhere/docstrings.evermix")


@pytest.mark.usefixtures("short_demo")
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_files_of_the_demo_are_different_ones(folder, link):
    (folder / "demo_output").mkdir()
    (folder / "demo_output" / "docstrings.jsonl").write_text("old")
    link(folder / "demo_output" / "docstrings.jsonl", folder / "demo_output" / "overview.png")
    assert "the texts and the picture must be different" in refused(folder, "demo", "--overwrite")
