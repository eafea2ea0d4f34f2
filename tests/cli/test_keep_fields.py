"""Fields of rows beside their answers: the table that came in, with the clusters of its rows."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import evermix as em
from helpers.commands import evermix, write_tickets

RNG = np.random.default_rng(0)
AGES = RNG.normal(size=200) + RNG.choice([20.0, 60.0], size=200)
HEADER = ["who", "name", "zip", "cluster", "age"]
KEEP = ["--keep-fields", "--quiet"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a table that has columns named like answers, and texts."""
    monkeypatch.chdir(tmp_path)
    rows = [
        [f"p{i}", "", f"0{i % 7}100", "old" if age > 40 else "young", f"{age:.2f}"]
        for i, age in enumerate(AGES.tolist())
    ]
    rows[3][1] = 'says "hi", twice'
    write("people.csv", [HEADER, *rows])
    write_tickets("texts.jsonl")
    return tmp_path


def write(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


def table(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def json_lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


ROWS = ["people.csv", "--id-field", "who", "--ignore", "name", "--category", "zip"]


@pytest.mark.parametrize("command", ["fit", "stream", "predict"])
def test_cells_stay_as_they_are_and_answers_follow_them(folder, command):
    evermix("fit", *ROWS, "--out", "plain.csv", "--quiet")
    learn = [command, *ROWS, "--checkpoint", "new.evermix"]
    run = ["predict", "people.evermix", *ROWS] if command == "predict" else learn
    evermix(*run, *KEEP, "--out", "all.csv")
    given, (header, *rows) = table("people.csv"), table("all.csv")
    assert header[: len(HEADER)] == ["who", "name", "zip", "row_cluster", "age"]
    assert [row[: len(HEADER)] for row in rows] == given[1:]
    assert header[len(HEADER) :][:2] == ["cluster", "probability"] and "id" not in header
    if command != "stream":
        assert [row[len(HEADER)] for row in rows] == [row[1] for row in table("plain.csv")[1:]]


def test_json_and_parquet_get_values(folder):
    evermix("fit", *ROWS, *KEEP, "--out", "all.jsonl")
    given, lines = table("people.csv")[1:], json_lines("all.jsonl")
    for (who, name, code, cluster, age), line in zip(given, lines, strict=True):
        found = [line[field] for field in ("who", "name", "zip", "row_cluster", "age")]
        assert found == [who, name or None, code, cluster, float(age)]
    mix = em.load("people.evermix")
    assert [line["cluster"] for line in lines] == mix.labels_.tolist()
    parquet = pytest.importorskip("pyarrow.parquet")
    evermix("predict", "people.evermix", *ROWS, *KEEP, "--out", "all.parquet")
    found = parquet.read_table("all.parquet").to_pydict()
    assert found["age"] == [float(row[-1]) for row in given] and found["zip"][1] == "01100"
    assert found["cluster"] == mix.labels_.tolist()
    # A Parquet file is kept as well, and answers of one model may be fields for another.
    columns = ["--id-field", "who", "--ignore", "name", "--ignore", "cluster_name"]
    evermix("stream", "all.parquet", *columns, *KEEP, "--out", "again.jsonl")
    again = json_lines("again.jsonl")
    assert [line["row_cluster"] for line in again] == found["cluster"]
    assert [line["who"] for line in again] == found["who"]


def test_streams_of_json_lines_go_on_with_their_columns(folder):
    run = ["stream", "texts.jsonl", *KEEP, "--batch", 10]
    evermix(*run, "--out", "whole.csv")
    evermix(*run, "--out", "cut.csv", "--limit", 120)
    evermix(*run, "--out", "cut.csv", "--resume")
    given = json_lines("texts.jsonl")
    for name in ("whole.csv", "cut.csv"):
        header, *rows = table(name)
        assert header[:5] == ["id", "text", "year", "cluster", "probability"]
        assert [row[:3] for row in rows] == [[*map(str, line.values())] for line in given]
    assert table("whole.csv") == table("cut.csv")


def test_a_fit_may_need_fields_later(folder):
    """As the next step that is shown at a terminal does."""
    evermix("fit", *ROWS, "--out", "plain.csv", "--quiet")
    again = ["--checkpoint", "people.evermix", "--resume"]
    evermix("fit", *ROWS, *again, *KEEP, "--out", "all.csv")
    assert table("all.csv")[0][0] == "who" and len(table("all.csv")) == len(table("plain.csv"))


def test_named_clusters_do_not_take_the_place_of_names(folder):
    evermix("fit", *ROWS, "--out", "plain.csv", "--quiet")
    evermix("edit", "people.evermix", "rename", 0, "old and wise")
    evermix("predict", "people.evermix", *ROWS, *KEEP, "--out", "all.jsonl")
    found = json_lines("all.jsonl")
    assert all("name" in line and line["cluster_name"] for line in found)
    named = {line["cluster"] for line in found if line["cluster_name"] == "old and wise"}
    assert named == {0}


def test_rows_without_fields_are_refused(folder):
    np.save("points.npy", RNG.normal(size=(50, 2)))
    for command in ("fit", "stream"):
        said = evermix(command, "points.npy", *KEEP, "--out", "out", status=1).stderr
        assert "--keep-fields is for rows with named fields" in said


def test_the_next_steps_name_columns_and_ids(folder, monkeypatch):
    monkeypatch.setattr("evermix.cli.commands.fit.at_terminal", lambda: True)
    shown = evermix("fit", "people.csv", *ROWS[3:], "--ignore", "who", "--quiet").stdout
    assert "--keep-fields" in shown and "--id-field COLUMN" in shown
    assert "--id-field" not in evermix("fit", *ROWS, "--overwrite", "--quiet").stdout


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_fields_beside_numbers_of_rows_come_with_a_word_on_ids(folder, command):
    keep = "--keep-fields", "--out", "all.csv", "--checkpoint", "all.evermix", "--overwrite"
    source = ["people.csv", *ROWS[3:], "--ignore", "who"]
    assert "--id-field COLUMN names a column" in evermix(command, *source, *keep).stderr
    assert "--id-field" not in evermix(command, *ROWS, *keep).stderr
    assert "--id-field" not in evermix(command, *source, *keep, "--quiet").stderr
