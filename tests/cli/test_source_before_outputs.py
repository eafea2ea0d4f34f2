"""What is wrong with a source is said before what is wrong with outputs, and destroys no model."""

import csv
import re

import numpy as np
import pandas as pd
import pytest

import evermix as em
from helpers.commands import evermix

N = 80
OUT = {"stream": "out.jsonl", "fit": "out.csv", "topics": "out.json"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a table of texts with years, a spreadsheet, and files of runs."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with open("patients.csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["name", "age", "year", "note"])
        for i in range(N):
            words = " ".join(rng.choice(["fever", "cough", "pain", "rest"], 6))
            lines.writerow([f"p{i}", rng.normal(50 + 10 * (i % 2)), 2000 + i % 4, words])
    (tmp_path / "patients.xlsx").write_bytes(b"PK\x03\x04")
    for name in ("patients.evermix", *OUT.values()):
        (tmp_path / name).write_bytes(b"kept")
    return tmp_path


def said_of(folder, command, source, *options):
    """Return the error of a run, with and without --overwrite; all files stay as they were."""
    files = ["--out", OUT[command], "--checkpoint", "patients.evermix"]
    errors = set()
    for overwrite in ([], ["--overwrite"]):
        run = evermix(command, source, *options, *files, *overwrite, status=1)
        errors.add(run.stderr.rsplit("error: ", 1)[1])
        assert {(folder / name).read_bytes() for name in files[1::2]} == {b"kept"}
    assert len(errors) == 1
    return errors.pop()


@pytest.mark.parametrize("command", OUT)
def test_the_source_comes_first(folder, command):
    time = ["--time-field", "year"] * (command == "topics")
    assert "spreadsheets" in said_of(folder, command, "patients.xlsx", *time)
    meant = "Did you mean 'patients.csv'?"
    assert meant in said_of(folder, command, "patient.csv", *time)
    for option, name, right in (
        ("--id-field", "Names", "name"),
        ("--text-field", "notes", "note"),
        ("--time-field", "Yeer", "year"),
        ("--ignore", "Agee", "age"),
    ):
        if command == "topics" and option == "--ignore":
            continue
        others = [] if option == "--time-field" else time
        said = said_of(folder, command, "patients.csv", option, name, *others)
        flag = "" if option == "--ignore" else f"{option} "
        assert re.search(f"column '{name}'.*Did you mean {flag}'?{right}'?\\?", said)


def test_a_good_source_leaves_the_outputs_to_blame(folder):
    said = evermix("fit", "patients.csv", status=1).stderr
    assert "--checkpoint must be a new file" in said


def test_tables_name_the_column_that_may_be_meant():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=N), "ward": rng.choice(["a", "b"], N)})
    mix = em.Mixture().fit(table)
    with pytest.raises(ValueError, match="lacks the column 'age'.*Did you mean 'Age'\\? If it is"):
        mix.predict(table.rename(columns={"age": "Age"}))
