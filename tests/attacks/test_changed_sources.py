"""A source that changed under a checkpoint is noticed; one that only grew goes on."""

import gzip
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import evermix as em
from evermix.io import checkpoint
from helpers.commands import evermix
from helpers.variants import slow_but

N = 60
X = np.random.default_rng(0).normal(size=(N, 2)).round(3)
FILES = ["--out", "out.jsonl", "--checkpoint", "m.evermix", "--quiet"]


def jsonl(path, rows):
    path.write_text("".join(json.dumps({"vector": row}) + "\n" for row in rows.tolist()))


def packed(path, rows):
    jsonl(path, rows)
    path.write_bytes(gzip.compress(path.read_bytes()))


def csv(path, rows):
    np.savetxt(path, rows, delimiter=",", fmt="%.3f")


def svmlight(path, rows):
    path.write_text("".join(f"1 1:{x:.3f} 2:{y:.3f}\n" for x, y in rows))


def arrow(path, rows):
    parquet.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), path, compression="none")


WRITERS = {
    "rows.jsonl": jsonl,
    "rows.jsonl.gz": packed,
    "rows.csv": csv,
    "rows.svmlight": svmlight,
    "rows.npy": np.save,
    "rows.parquet": arrow,
}
CHANGES = {
    "rewritten": lambda rows: rows + 1.0,
    "one digit": lambda rows: np.vstack([rows[:10], rows[10:11] + 1.0, rows[11:]]),
    "reversed": lambda rows: rows[::-1],
    "two rows swapped": lambda rows: rows[[1, 0, *range(2, len(rows))]],
    "truncated": lambda rows: rows[:30],
    "with a row inserted": lambda rows: np.vstack([rows[:1], rows]),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def begun(*sources):
    """Learn the first 40 rows of sources, and return what came of it."""
    evermix("stream", *sources, "--kind", "vectors", "--limit", 40, "--batch", 40, *FILES)
    assert checkpoint.read("m.evermix")[1]["extra"]["stream"]["totals"]["rows"] >= 40
    return contents()


def contents():
    return {name: Path(name).read_bytes() for name in ("out.jsonl", "m.evermix")}


def refused(before, *sources):
    said = evermix("stream", *sources, *FILES, "--resume", status=1).stderr
    assert contents() == before
    assert len(said.splitlines()) == 1 and "--overwrite" in said
    return said


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", WRITERS)
def test_one_file_that_changed_is_noticed(folder, monkeypatch, name, change):
    monkeypatch.setattr("evermix.cli.runs.beginning.FIRST_ROWS", 1)
    WRITERS[name](folder / name, X)
    before = begun(name)
    WRITERS[name](folder / name, CHANGES[change](X))
    said = refused(before, name)
    assert f"{name}: its " in said and ("changed since" in said or "now it has" in said)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("part", ["a", "b"])
@pytest.mark.parametrize(
    "name", slow_but(["rows.jsonl"], ["rows.jsonl", "rows.npy", "rows.parquet"])
)
def test_one_of_several_files_that_changed_is_noticed(folder, monkeypatch, name, part, change):
    """Whether it was read to its end or not; also if its size is the same."""
    monkeypatch.setattr("evermix.cli.runs.beginning.FIRST_ROWS", 1)
    (folder / "parts").mkdir()
    parts = {"a": X[:35], "b": np.vstack([X[35:], X])}
    for letter, rows in parts.items():
        WRITERS[name](folder / "parts" / f"{letter}{name}", rows)
    evermix("stream", "parts", "--kind", "vectors", "--limit", 80, "--batch", 40, *FILES)
    before = contents()
    WRITERS[name](folder / "parts" / f"{part}{name}", CHANGES[change](parts[part]))
    said = refused(before, "parts")
    assert f"{part}{name}: its " in said


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.csv", "rows.npy"])
def test_a_file_that_has_grown_goes_on(folder, monkeypatch, name):
    monkeypatch.setattr("evermix.cli.runs.beginning.FIRST_ROWS", 1)
    WRITERS[name](folder / name, X)
    evermix("stream", name, "--batch", 20, *FILES)
    whole = checkpoint.read("m.evermix")[0]
    for size in (40, 60):
        WRITERS[name](folder / name, X[:size])
        how = "--overwrite" if size == 40 else "--resume"
        evermix("stream", name, *(["--batch", 20] if size == 40 else []), *FILES, how)
    arrays = checkpoint.read("m.evermix")[0]
    assert {k: v.tobytes() for k, v in arrays.items()} == {k: v.tobytes() for k, v in whole.items()}
    assert len((folder / "out.jsonl").read_text().splitlines()) == N


def test_fits_and_topics_know_their_rows_again(folder):
    np.save("rows.npy", X)
    evermix("fit", "rows.npy", "--engine", "ep", "--laps", 1, *FILES)
    np.save("rows.npy", X[::-1])
    assert (
        "other rows" in evermix("fit", "rows.npy", *FILES, "--resume", "--laps", 2, status=1).stderr
    )
    words = ["sea ship wave", "sail wind wave", "sea sail ship"]
    lines = [json.dumps({"text": words[i % 3], "year": 2000 + i % 2}) + "\n" for i in range(20)]
    files = ["--out", "t.json", "--checkpoint", "t.evermix", "--quiet"]
    small = ["--prior", "hdp", "--burn-in", 1, "--draws", 1]
    (folder / "texts.jsonl").write_text("".join(lines))
    evermix("topics", "texts.jsonl", *small, *files)
    (folder / "texts.jsonl").write_text("".join(reversed(lines)))
    said = evermix("topics", "texts.jsonl", *files, "--resume", "--draws", 2, status=1).stderr
    assert "cannot go on from t.evermix" in said


# ---- a last line without a newline -----------------------------------------------------------


def outcome(folder):
    lines = (folder / "out.jsonl").read_text().splitlines()
    return [json.loads(line)["id"] for line in lines]


@pytest.mark.parametrize("cut", [3, 1])
def test_the_rest_of_a_json_line_is_waited_for(folder, cut):
    """Half an object waits; a whole one without its newline is learnt, once."""
    jsonl(folder / "rows.jsonl", X)
    text = (folder / "rows.jsonl").read_bytes()
    (folder / "rows.jsonl").write_bytes(text[:-cut])
    said = evermix("stream", "rows.jsonl", *FILES).stderr
    assert outcome(folder) == list(range(N - 1 + (cut == 1)))
    assert ("has no newline" in said) == (cut != 1)
    (folder / "rows.jsonl").write_bytes(text + text.splitlines(keepends=True)[0])
    evermix("stream", "rows.jsonl", *FILES, "--resume")
    assert outcome(folder) == list(range(N + 1))


def test_a_number_that_may_get_more_digits_is_waited_for(folder):
    csv(folder / "rows.csv", X)
    text = (folder / "rows.csv").read_bytes()
    (folder / "rows.csv").write_bytes(text[:-2])
    assert "has no newline" in evermix("stream", "rows.csv", *FILES).stderr
    assert outcome(folder) == list(range(N - 1))
    (folder / "rows.csv").write_bytes(text)
    evermix("stream", "rows.csv", *FILES, "--resume")
    half = em.load("m.evermix").predict_proba(X)
    assert outcome(folder) == list(range(N))
    evermix("stream", "rows.csv", *FILES, "--overwrite")
    assert np.array_equal(em.load("m.evermix").predict_proba(X), half)


def test_a_source_may_be_said_to_be_complete(folder):
    csv(folder / "rows.csv", X)
    text = (folder / "rows.csv").read_bytes()
    (folder / "rows.csv").write_bytes(text[:-2])
    assert not evermix("stream", "rows.csv", *FILES, "--complete").stderr
    assert outcome(folder) == list(range(N))
    (folder / "rows.csv").write_bytes(text)  # which it was not
    before = contents()
    assert "changed since" in refused(before, "rows.csv")


def test_files_before_the_last_are_complete(folder):
    (folder / "parts").mkdir()
    for name, rows in (("a.csv", X[:30]), ("b.csv", X[30:])):
        csv(folder / "parts" / name, rows)
        path = folder / "parts" / name
        path.write_bytes(path.read_bytes()[:-1])
    assert "has no newline" in evermix("stream", "parts", *FILES).stderr
    assert outcome(folder) == list(range(N - 1))


def test_older_checkpoints_without_digests_are_resumed(folder):
    jsonl(folder / "rows.jsonl", X)
    shutil.copy("rows.jsonl", "more.jsonl")
    begun("rows.jsonl", "more.jsonl")
    arrays, header = checkpoint.read("m.evermix")
    header = json.loads(json.dumps(header))
    notes = header["extra"]["stream"]
    notes["files"] = [[path, os.path.getsize(path), rows] for path, _, rows, *_ in notes["files"]]
    checkpoint.write("m.evermix", arrays, header)
    evermix("stream", "rows.jsonl", "more.jsonl", *FILES, "--resume")
    assert outcome(folder) == list(range(2 * N))
