"""Answers for rows: CSV and Parquet by the name of the file, and a summary at a terminal."""

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import evermix as em
from helpers.commands import evermix

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2)) + RNG.choice([-9.0, 9.0], size=(300, 1))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a table whose rows have ids."""
    with open(tmp_path / "people.csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["who", "x", "y"])
        lines.writerows([f"p, {i}", *row] for i, row in enumerate(X.tolist()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answers(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


FIT = ["fit", "people.csv", "--id-field", "who", "--quiet"]
STREAM = ["stream", "people.csv", "--id-field", "who", "--quiet"]


@pytest.mark.parametrize("command", [FIT, STREAM])
def test_a_csv_file_says_what_json_lines_say(folder, command):
    evermix(*command, "--out", "a.csv", "--checkpoint", "a.evermix")
    evermix(*command, "--out", "b.jsonl", "--checkpoint", "b.evermix")
    table = answers("a.csv")
    lines = [json.loads(line) for line in Path("b.jsonl").read_text().splitlines()]
    assert [row["id"] for row in table] == [f"p, {i}" for i in range(len(X))]
    for row, line in zip(table, lines, strict=True):
        assert line.keys() <= row.keys()
        assert {k: v if isinstance(v, str) else json.dumps(v) for k, v in line.items()} == {
            name: row[name] for name in line
        }


def test_odd_rows_have_a_low_log_density_or_a_cluster_of_their_own(folder):
    """After a fit as in predictions."""
    odd = {"1,1e2,0", "2,-80,50", "3,0,-70"}
    with open("people.csv", "a") as file:
        file.write("".join(f"{row}\n" for row in sorted(odd)))
    evermix(*FIT, "--keep-fields", "--out", "a.csv", "--checkpoint", "a.evermix")
    evermix("predict", "a.evermix", "people.csv", "--id-field", "who", "--out", "b.csv")
    found = sorted(answers("a.csv"), key=lambda row: float(row["log_density"]))
    sizes = Counter(row["cluster"] for row in found)
    few = {row["who"] for i, row in enumerate(found) if i < 5 or sizes[row["cluster"]] <= 3}
    assert {"1", "2", "3"} <= few and len(few) < 10
    assert {row["who"] for row in found[:10]} >= {"1", "2", "3"}
    assert all(int(row["cluster_size"]) == sizes[row["cluster"]] for row in found)
    densities = [row["log_density"] for row in answers("b.csv")]
    assert [row["log_density"] for row in answers("a.csv")] == densities


@pytest.mark.parametrize("seed", [0, 1])
def test_the_smallest_clusters_and_the_lowest_densities_hold_the_odd_rows(folder, seed):
    """Of four odd rows two are alike, and one lacks a value."""
    rng = np.random.default_rng(seed)
    rows = [
        [f"{rng.lognormal(3 + 2 * kind, 0.3):.2f}", round(rng.lognormal(4 + kind, 0.4)), "ab"[kind]]
        for kind in rng.integers(0, 2, size=600).tolist()
    ]
    odd = {
        100: ["9000", 0, "a"],
        200: ["8500", 1, "a"],
        300: ["", 90_000, "b"],
        400: ["4", 20_000, "a"],
    }
    for at, row in odd.items():
        rows[at] = row
    lines = "".join(f"{i},{','.join(map(str, row))}\n" for i, row in enumerate(rows))
    Path("jobs.csv").write_text("id,price,days,kind\n" + lines)
    evermix("fit", "jobs.csv", "--out", "labels.csv", "--quiet")
    found = answers("labels.csv")
    alone = [int(row["id"]) for row in found if int(row["cluster_size"]) < 5]
    edge = sorted(found, key=lambda row: float(row["log_density"]))[:10]
    assert set(odd) <= {*alone, *(int(row["id"]) for row in edge)}
    assert len(alone) < 10


def test_a_stream_goes_on_in_its_csv_file(folder):
    evermix(*STREAM, "--out", "whole.csv")
    evermix(*STREAM, "--out", "cut.csv", "--limit", 170, "--batch", 10)
    with open("cut.csv", "a") as file:
        file.write("a line that no checkpoint knows\n")
    evermix(*STREAM, "--out", "cut.csv", "--resume")
    names = [[row["id"], row["cluster"]] for row in answers("whole.csv")]
    assert [[row["id"], row["cluster"]] for row in answers("cut.csv")] == names


def test_parquet_where_it_can_be_written(folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    evermix(*FIT, "--out", "fit.parquet")
    table = parquet.read_table("fit.parquet").to_pydict()
    mix = em.load("people.evermix")
    assert table["cluster"] == mix.labels_.tolist() and table["id"][1] == "p, 1"
    new = ["--id-field", "who", "--out", "new.parquet"]
    evermix("predict", "people.evermix", "people.csv", *new)
    assert parquet.read_table("new.parquet")["cluster"].to_pylist() == mix.predict(X).tolist()
    said = evermix(*STREAM, "--out", "stream.parquet", status=1).stderr
    assert "--out must end in .csv or .jsonl" in said


def test_numbers_have_six_digits(folder):
    lines = evermix("predict", made(), "people.csv", "--id-field", "who").stdout.splitlines()
    for line in map(json.loads, lines):
        for name in ("probability", "log_density"):
            assert line[name] == float(f"{line[name]:.6g}")


def made():
    evermix(*FIT, "--out", "fit.csv")
    return "people.evermix"


def test_a_person_sees_clusters_and_a_program_rows(folder, monkeypatch):
    assert len(evermix(*FIT).stdout.splitlines()) == len(X)
    monkeypatch.setattr("evermix.cli.commands.fit.at_terminal", lambda: True)
    shown = evermix(*FIT, "--overwrite").stdout
    assert "2 clusters" in shown and "The largest" not in shown and "born" not in shown
    assert "evermix report people.evermix" in shown
    again = next(line for line in shown.splitlines() if "labels.csv" in line).split(": evermix ")[1]
    evermix(*again.split())
    assert [row["who"] for row in answers("labels.csv")] == [f"p, {i}" for i in range(len(X))]
