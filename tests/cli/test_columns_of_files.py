"""Several files in one command need not have the same columns, if they are tables."""

import csv
import json

import numpy as np
import pytest

import evermix as em
from evermix.io.sources import SourceError, open_source
from helpers.commands import evermix
from helpers.tables import N, stays, write_csv

pytestmark = pytest.mark.filterwarnings("always")


def rows(n=N, seed=0):
    """Two groups, which differ in all columns but two."""
    noise = np.random.default_rng(100 + seed).normal(size=n)
    for i, row in enumerate(stays(n, seed)):
        yield row | {"size": f"{noise[i]:.2f}", "shoe": str(40 + i % 3)}


def write(path, names, n=N, seed=0):
    """Write some columns to a CSV file or to JSON lines."""
    some = [{name: row[name] for name in names.split()} for row in rows(n, seed)]
    if not path.endswith(".jsonl"):
        write_csv(path, some)
        return
    with open(path, "w") as file:
        for row in some:
            file.write(json.dumps(row | {"temp": float(row["temp"])}) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.csv", "temp nights kind")
    write("less.csv", "kind temp", n=30, seed=1)
    write("more.csv", "shoe kind temp nights", n=40, seed=2)
    write("zips.csv", "nights temp zip kind", n=60, seed=3)
    return tmp_path


def read(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{k: v for k, v in line.items() if k not in ("id", "new")} for line in lines]


def test_files_of_a_model_are_predicted_as_each_alone(folder):
    evermix("fit", "a.csv", "--out", "out.csv")
    names = ["less.csv", "a.csv", "more.csv"]
    said = evermix("predict", "a.evermix", *names, "--out", "all.jsonl", "--batch", 17).stderr
    for name in names:
        evermix("predict", "a.evermix", name, "--out", f"{name}.jsonl")
    each = [line for name in names for line in read(folder / f"{name}.jsonl")]
    assert read(folder / "all.jsonl") == each
    assert "less.csv lacks the column 'nights', which other files have: it is missing" in said
    assert "does not know the columns 'shoe'" in said and "column 'shoe'" not in said


def test_a_file_alone_that_a_model_refuses_is_refused_among_others(folder):
    evermix("fit", "a.csv", "--out", "out.csv")
    write("few.csv", "temp")
    said = evermix("predict", "a.evermix", "a.csv", "few.csv", status=1).stderr
    assert "few.csv lacks the columns 'nights', 'kind'" in said and "At least half" in said
    text = (folder / "a.csv").read_text()
    (folder / "misspelt.csv").write_text(text.replace("nights", "night"))
    said = evermix("predict", "a.evermix", "a.csv", "misspelt.csv", status=1).stderr
    assert "misspelt.csv lacks the column 'nights'" in said and "Did you mean 'night'?" in said
    (folder / "both.csv").write_text(text.replace("nights", "night").replace("temp", "temps"))
    said = evermix("predict", "a.evermix", "both.csv", status=1).stderr
    assert "'night' for 'nights'" in said and "'temps' for 'temp'" in said
    said = evermix("fit", "a.csv", "misspelt.csv", "--out", "x.csv", status=1).stderr
    assert "misspelt.csv lacks the column 'nights'" in said


@pytest.mark.parametrize("begin", ["--model", "--resume"])
def test_a_stream_learns_several_next_files_as_one_after_the_other(folder, begin):
    evermix("stream", "a.csv", "--batch", 10, "--checkpoint", "first.evermix", "--out", "first.out")
    for name, steps in {
        "all": [["less.csv", "more.csv"]],
        "each": [["less.csv"], ["more.csv"]],
    }.items():
        keep = "--checkpoint", f"{name}.evermix", "--out", f"{name}.out", "--batch", 10
        if begin == "--resume":
            evermix("stream", "a.csv", *keep)
        else:
            evermix("stream", *steps.pop(0), "--model", "first.evermix", *keep)
        for files in steps:
            evermix("stream", *files, *keep, "--resume")
    ours, theirs = em.load("all.evermix"), em.load("each.evermix")
    np.testing.assert_array_equal(ours.tally_.stats, theirs.tally_.stats)
    assert read(folder / "all.out") == read(folder / "each.out")


def test_a_column_that_may_be_another_under_a_new_name_is_named(folder):
    text = (folder / "a.csv").read_text()
    (folder / "b.csv").write_text(text.replace("nights", "stayed"))
    said = evermix("fit", "a.csv", "b.csv", "--out", "x.csv").stderr
    assert "its rows. It may be the column 'stayed', which no other file has" in said
    assert "its rows. It may be the column 'nights', which no other file has" in said


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_a_first_run_has_the_columns_of_all_files(folder, command):
    keep = "--out", "out.csv", "--keep-fields", "--checkpoint", "m.evermix"
    said = evermix(command, "a.csv", "less.csv", "zips.csv", *keep).stderr
    assert "a.csv lacks the column 'zip', which other files have: it is missing" in said
    assert (
        "less.csv lacks the columns 'nights', 'zip', which other files have: they are missing"
        in said
    )
    mix = em.load("m.evermix")
    assert sorted(mix.levels_["zip"]) == ["01067", "10115", "50667", "80331"]
    with open("out.csv", newline="") as file:
        kept = list(csv.DictReader(file))
    assert [kept[at]["zip"] == "" for at in (0, N, N + 30)] == [True, True, False]
    assert [row["temp"] for row in kept[N : N + 30]] == [row["temp"] for row in rows(30, seed=1)]
    with open("whole.csv", "w", newline="") as file:
        whole = csv.DictWriter(file, ["temp", "nights", "kind", "zip"], extrasaction="ignore")
        whole.writeheader()
        whole.writerows(kept)
    keep = "--out", "same.csv", "--checkpoint", "same.evermix"
    evermix(command, "whole.csv", *keep)
    np.testing.assert_array_equal(em.load("same.evermix").tally_.stats, mix.tally_.stats)
    evermix(
        command,
        "a.csv",
        "less.csv",
        "zips.csv",
        "--resume",
        *keep[:1],
        "out.csv",
        "--keep-fields",
        "--checkpoint",
        "m.evermix",
    )


def test_json_lines_and_csv_files_together(folder):
    write("b.jsonl", "temp size kind", n=50)
    whole = open_source(["a.csv", "b.jsonl"])
    (chunk,) = whole.chunks(0, 1000)
    assert whole.columns == list(chunk.X) == ["temp", "nights", "kind", "size"]
    assert chunk.X.shape == (N + 50, 4) and whole.n_features == 4
    assert all(value is None for value in chunk.X["nights"][N:])
    for start in (0, N - 1, N + 7):
        (rest,) = whole.chunks(start, 1000)
        assert rest.X["temp"].tolist() == chunk.X["temp"].tolist()[start:]


def test_numbers_alone_are_read_as_tables_if_that_is_said(folder):
    write("size.csv", "temp size")
    write("shoe.csv", "temp shoe")
    for names in (["size.csv", "shoe.csv"], ["size.csv", "a.csv"]):
        with pytest.raises(SourceError, match='Read them as kind "table" .*--kind table'):
            open_source(names)
    assert open_source(["size.csv", "shoe.csv"], kind="table").columns == ["temp", "size", "shoe"]
