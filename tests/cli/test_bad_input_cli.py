"""Bad input through the command line: one clear line, exit status 1, the last good state usable."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app

POINTS = ["--checkpoint", "points.evermix"]
BAD = ["--checkpoint", "bad.evermix"]
TWO = ["--checkpoint", "two.evermix"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fails(*arguments):
    """Run a command that must fail, and return its one line on standard error."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    *before, said = result.stderr.strip().splitlines()
    assert said.startswith("evermix: error: ")
    assert all(line.startswith("evermix: the family is ") for line in before)
    return said


def works(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


def vectors(path, n, bad=None, at=None):
    """Write n records of two numbers, with a bad line as number ``at`` (from 1)."""
    rng = np.random.default_rng(0)
    lines = [json.dumps({"vector": row}) for row in rng.normal(size=(n, 2)).tolist()]
    if bad is not None:
        lines[at - 1] = bad
    path.write_text("\n".join(lines) + "\n")


FILES = {
    "nan.csv": ("1,2\n3,nan\n", ["line 2", "nan"]),
    "inf.csv": ("1,2\n3,inf\n", ["line 2", "inf"]),
    "strings.csv": ("a,b\n1,2\n3,four\n", ["line 3", "four"]),
    "widths.csv": ("1,2\n3,4,5\n", ["line 2"]),
    "strings.jsonl": ('{"vector": [1, 2]}\n{"vector": ["1", "2"]}\n', ["line 2"]),
    "widths.jsonl": ('{"vector": [1, 2]}\n{"vector": [1, 2, 3]}\n', ["line 2", "3"]),
    "nofield.jsonl": ('{"vector": [1, 2]}\n{"tekst": "x"}\n', ["line 2", "vector"]),
    "nofeatures.jsonl": ('{"vector": []}\n', ["line 1"]),
    "nofeatures.svmlight": ("1\n0\n", ["no features"]),
    "negative.svmlight": ("1 1:2 2:1\n1 1:-2\n", ["line 2", "-2"]),
    "fractions.svmlight": ("1 1:2 2:1\n1 1:0.5\n", ["line 2", "0.5"]),
    "docword.fractions.txt": ("2\n2\n2\n1 1 1\n2 1 1.5\n", ["1.5"]),
    "docword.negative.txt": ("2\n2\n2\n1 1 1\n2 1 -3\n", ["-3"]),
    "empty.jsonl": ("", ["expected"]),
    "unknown.format": ("", ["unknown format", ".jsonl"]),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files_are_named_with_the_place(folder, name):
    content, wanted = FILES[name]
    (folder / name).write_text(content)
    said = fails("stream", name, "--checkpoint", "model.evermix")
    assert name in said
    assert all(part in said for part in wanted), said
    assert not (folder / "model.evermix").exists()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_arrays_that_are_not_finite_are_named_by_row(folder, value):
    X = np.zeros((5, 2))
    X[3, 1] = value
    np.save("points.npy", X)
    assert "row 3" in fails("stream", "points.npy")
    np.save("empty.npy", np.zeros((3, 0)))
    assert "feature" in fails("stream", "empty.npy")


def test_values_outside_the_family_keep_what_was_learnt(folder):
    """The source is sound, the family is not made for it: a clear word, and no lost rows."""
    X = np.ones((1200, 2))
    X[1100, 0] = -1.0
    np.save("points.npy", X)
    said = fails(
        "stream", "points.npy", *POINTS, "--family", "multinomial", "--batch", "50", "--out", "o"
    )
    assert "counts >= 0" in said and "Stopped after 1,100 rows" in said
    assert em.load("points.evermix").state_.clock == 1100


def test_a_bad_line_in_the_middle_keeps_what_was_learnt_before(folder):
    """Named by line number; the batches before it are saved, and --skip-bad goes on."""
    vectors(folder / "bad.jsonl", 1500, bad='{"vector": [1.0,', at=1301)
    said = fails("stream", "bad.jsonl", *BAD, "--batch", "100", "--out", "out.jsonl")
    assert "bad.jsonl: line 1301" in said and "--skip-bad" in said
    assert em.load("bad.evermix").state_.clock == 1300
    result = works("stream", "bad.jsonl", *BAD, "--out", "out.jsonl", "--resume", "--skip-bad")
    assert "199 of them new, 1 blank or bad" in result.stderr and "skipped: " in result.stderr
    names = [json.loads(line)["id"] for line in (folder / "out.jsonl").read_text().splitlines()]
    assert names == [n for n in range(1500) if n != 1300]


def test_a_bad_line_before_the_first_batch_says_how_to_go_on(folder):
    vectors(folder / "bad.jsonl", 50, bad="no json", at=20)
    said = fails("stream", "bad.jsonl")
    assert "line 20" in said and "Nothing was learnt yet" in said and "--skip-bad" in said


def test_blank_lines_are_counted_and_left_out(folder):
    vectors(folder / "blank.jsonl", 50, bad="", at=20)
    assert "49 rows, 1 blank or bad" in works("stream", "blank.jsonl", "--out", "o").stderr


def test_texts_without_a_common_word_say_what_to_change(folder):
    (folder / "texts.jsonl").write_text('{"text": "lake"}\n{"text": "hill"}\n')
    assert "On the command line: --hash" in fails("stream", "texts.jsonl")


def test_rows_of_another_width_are_refused_by_a_model(folder):
    np.save("two.npy", np.random.default_rng(0).normal(size=(30, 2)))
    np.save("three.npy", np.zeros((5, 3)))
    works("stream", "two.npy", *TWO, "--out", "o")
    assert "expected 2 features" in fails("predict", "two.evermix", "three.npy")
    shutil.copy("three.npy", "two.npy")
    before = (folder / "two.evermix").read_bytes()
    assert "expected 2 features" in fails("stream", "two.npy", *TWO, "--out", "o", "--resume")
    assert (folder / "two.evermix").read_bytes() == before


@pytest.mark.parametrize("damage", ["truncated", "random", "foreign", "missing"])
def test_damaged_checkpoints_are_refused_by_every_command(folder, damage):
    np.save("points.npy", np.random.default_rng(0).normal(size=(30, 2)))
    works("stream", "points.npy", "--checkpoint", "m.evermix", "--out", "out.jsonl")
    path = folder / "m.evermix"
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-100])
    elif damage == "random":
        path.write_bytes(bytes(range(256)) * 4)
    elif damage == "foreign":
        save_file({"weights": np.zeros(3)}, path)
    else:
        path.unlink()
    out = (folder / "out.jsonl").read_bytes()
    assert "m.evermix" in fails("info", "m.evermix")
    assert "m.evermix" in fails("predict", "m.evermix", "points.npy")
    if damage != "missing":
        resumed = ["stream", "points.npy", "--checkpoint", "m.evermix", "--resume"]
        assert "m.evermix" in fails(*resumed)
    assert (folder / "out.jsonl").read_bytes() == out


def test_an_output_that_was_cut_short_is_not_continued(folder):
    np.save("points.npy", np.random.default_rng(0).normal(size=(3000, 2)))
    arguments = ["stream", "points.npy", "--out", "out.jsonl"]
    works(*arguments, "--limit", 1000)
    (folder / "out.jsonl").write_text("")
    assert "out.jsonl" in fails(*arguments, "--resume")


def test_places_that_cannot_be_written_are_named(folder):
    np.save("points.npy", np.zeros((5, 2)))
    assert "nowhere/out.jsonl" in fails("stream", "points.npy", "--out", "nowhere/out.jsonl")
    arguments = ["--out", "out.jsonl", "--checkpoint", "nowhere/model.evermix"]
    assert "nowhere/model.evermix" in fails("stream", "points.npy", *arguments)
