"""Commands over several files: as over one, and a stream goes on where it was killed."""

import json
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from evermix.cli import app
from helpers.commands import evermix
from helpers.variants import slow_but

ROWS = 1500
FILES = ["--out", "out.jsonl", "--checkpoint", "model.evermix", "--trace", "trace.jsonl"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 2)) + RNG.choice([-9.0, 9.0], size=(ROWS, 1))


def fails(*arguments):
    said = evermix(*arguments, status=1).stderr.strip()
    assert said.startswith("evermix: error: ") and len(said.splitlines()) == 1
    return said


def save(path, rows):
    parquet.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with points in one file, and in three."""
    np.save(tmp_path / "points.npy", X)
    (tmp_path / "parts").mkdir()
    for number, rows in enumerate(np.split(X, [600, 1100])):
        save(tmp_path / "parts" / f"{number}.parquet", rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


PLACES = ["--out", "out.jsonl", "--checkpoint", "m.evermix"]


def written(*arguments):
    evermix(*arguments, "--overwrite", *PLACES)
    return Path("out.jsonl").read_text()


def without_names(text):
    lines = [json.loads(line) for line in text.splitlines()]
    return [{name: value for name, value in line.items() if name != "name"} for line in lines]


@pytest.mark.parametrize(
    "command", [["stream", "--batch", 70], ["fit", "--engine", "ep", "--laps", 2]]
)
def test_folders_patterns_and_lists_give_what_the_whole_gives(folder, command):
    name, *options = command
    whole = written(name, "points.npy", *options)
    files = [f"parts/{number}.parquet" for number in range(3)]
    for sources in (["parts"], ["parts/*.parquet"], files):
        found = written(name, *sources, *options)
        assert without_names(found) == without_names(whole)  # arrays have no names of columns
    shown = evermix("info", "m.evermix").stdout
    assert "0.parquet," in "".join(shown.split())  # wherever its lines end
    assert json.loads(whole.splitlines()[-1])["id"] == ROWS - 1
    predicted = [evermix("predict", "m.evermix", source).stdout for source in ("parts", *files)]
    assert predicted[0].splitlines()[:600] == predicted[1].splitlines()


@pytest.mark.parametrize("kind", slow_but(["texts"], ["parquet", "texts"]))
def test_kills_change_nothing(children, tmp_path, kind):
    """A stream over parts, killed at random moments and resumed each time."""
    parts = tmp_path / "parts"
    parts.mkdir()
    if kind == "parquet":
        for number, rows in enumerate(np.split(X, [600, 640, 1000])):
            save(parts / f"{number}.parquet", rows)
    else:
        children.write_texts(tmp_path / "texts.jsonl", ROWS)
        lines = (tmp_path / "texts.jsonl").read_text().splitlines(keepends=True)
        for number in range(3):
            (parts / f"{number}.jsonl").write_text("".join(lines[500 * number :][:500]))
    arguments = ["stream", str(parts), "--batch", "30", "--every", "90", "--warmup", "300", *FILES]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    assert children.run(whole, *arguments) == 0
    length = (whole / "out.jsonl").stat().st_size
    statuses = [
        children.run(broken, *arguments, "--resume", kill=children.Kill(broken / "out.jsonl", size))
        for size in (int(0.3 * length), int(0.5 * length), int(0.8 * length))
    ]
    assert statuses.count(-signal.SIGKILL) >= 2
    assert children.run(broken, *arguments, "--resume") == 0
    children.assert_same_run(whole, broken)
    assert len(children.lines(broken / "out.jsonl")) == ROWS


def test_files_behind_the_last_are_more_rows_of_the_stream(folder):
    """In a folder, and among arguments, as a shell lists them."""
    whole = written("stream", "parts")
    shutil.move("parts/2.parquet", "later.parquet")
    for sources in (["parts"], ["parts/0.parquet", "parts/1.parquet"]):
        written("stream", *sources)
        shutil.copy("later.parquet", "parts/2.parquet")
        more = sources if sources == ["parts"] else [*sources, "parts/2.parquet"]
        again = ["stream", *more, *PLACES, "--resume"]
        evermix(*again)
        assert Path("out.jsonl").read_text() == whole
        assert "nothing new" in evermix(*again).stderr
        os.remove("parts/2.parquet")


def test_files_that_changed_before_the_place_to_go_on_are_reported(folder):
    resumed = ["stream", "parts", *PLACES, "--resume"]
    written("stream", "parts", "--limit", 1050)
    before = Path("out.jsonl").read_text()
    shutil.copy("parts/1.parquet", "parts/0a.parquet")
    assert "in its place there is now" in fails(*resumed)
    os.remove("parts/0a.parquet")
    save("parts/0.parquet", X[:500])
    assert "0.parquet: its rows were read already, when it had" in fails(*resumed)
    assert "SOURCE cannot change" in fails(
        "stream", "parts/1.parquet", "parts", "--checkpoint", "m.evermix", "--resume"
    )
    assert Path("out.jsonl").read_text() == before


def test_a_fit_knows_its_rows_again(folder):
    written("fit", "parts", "--engine", "ep", "--laps", 1)
    save("parts/3.parquet", X[:5])
    said = fails("fit", "parts", *PLACES, "--resume", "--laps", 2)
    assert "other rows than there are now in parts. Start again" in said


def test_files_that_are_written_are_not_read(folder):
    """Nothing that a run writes may be one of its sources when it goes on."""
    assert "--out must be different" in fails("fit", "parts", "--out", "parts/out.parquet")
    options = ["--checkpoint", "m.evermix", "--trace", "./a.jsonl"]
    assert "--trace must be different" in fails("stream", "*.jsonl", *options)
    assert "--checkpoint must be different" in fails("fit", ".")
    written("stream", "points.npy", "--limit", 1000)  # as a shell would list all files, later
    resumed = [*PLACES, "--resume"]
    assert "--out must be different" in fails("stream", "points.npy", "out.jsonl", *resumed)


def test_the_usual_checkpoint_has_the_name_of_the_folder(folder):
    for sources in (["parts/"], ["parts/*.parquet"], ["parts/0.parquet", "parts/1.parquet"]):
        evermix("fit", *sources, "--engine", "ep", "--laps", 1)
        os.remove("parts.evermix")


def test_standard_input_stands_alone(folder):
    assert "cannot be one of several" in fails("stream", "points.npy", "-")
    evermix("stream", "points.npy", "--out", "out.jsonl", "--checkpoint", "points.evermix")
    line = json.dumps({"vector": X[0].tolist()}) + "\n"
    result = CliRunner().invoke(app, ["predict", "points.evermix", "-"], input=line)
    assert len(result.stdout.splitlines()) == 1, result.output


def test_other_files_follow_those_that_were_read_to_their_end(folder):
    """Also when the first ones are gone; numbers of rows count on."""
    whole = written("stream", "parts")
    first, *others = sorted(Path("parts").iterdir())
    written("stream", first)
    again = [*PLACES, "--resume"]
    for path in others:
        os.remove(first) if first.exists() else None
        assert "nothing new" not in evermix("stream", path, *again).stderr
        assert "nothing new" in evermix("stream", path, *again).stderr
    assert Path("out.jsonl").read_text() == whole
    assert "was read before" in fails("stream", others[0], *again)


def test_other_files_may_be_answered_elsewhere(folder):
    whole = written("stream", "parts").splitlines()
    first, *others = sorted(Path("parts").iterdir())
    one = written("stream", first).splitlines()
    evermix("stream", *others, "--checkpoint", "m.evermix", "--out", "more.jsonl", "--resume")
    assert Path("out.jsonl").read_text().splitlines() == one == whole[: len(one)]
    assert Path("more.jsonl").read_text().splitlines() == whole[len(one) :]


def test_nothing_follows_files_that_were_not_read_to_their_end(folder):
    first, *others = sorted(Path("parts").iterdir())
    written("stream", first, "--limit", 100)
    assert "stopped before the end of" in fails("stream", *others, *PLACES, "--resume")


def test_a_run_that_finds_nothing_new_keeps_what_is_known_of_its_files(folder):
    """It only learns that its file has ended, so that others may follow."""
    whole = written("stream", "parts", "--batch", 100)
    first, *others = sorted(Path("parts").iterdir())
    written("stream", first, "--batch", 100, "--limit", 600)
    for sources in ([first], others):
        evermix("stream", *sources, *PLACES, "--resume")
    assert Path("out.jsonl").read_text() == whole
    assert "was read before" in fails("stream", first, *PLACES, "--resume")
