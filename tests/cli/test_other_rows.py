"""Rows of another kind than those that a model was learnt from."""

import json

import numpy as np
import pytest

from helpers.commands import evermix, write_tickets

FEW = "--draws", "2", "--burn-in", "2", "--prior", "hdp"
LEARNT = {  # by model: how it is made, and what is said that it was learnt from
    "texts": (("fit", "texts.jsonl"), "texts: give JSON lines with a field 'text' or a CSV file"),
    "table": (
        ("fit", "table.csv"),
        "a table: give a file of CSV, JSON lines or Parquet with the columns '",
    ),
    "numbers": (("fit", "numbers.npy"), "rows of 3 numbers: give such rows."),
    "topics": (("topics", "texts.jsonl", *FEW), "texts: give JSON lines with a field 'text'"),
    "counts": (("topics", "counts.npy", "--kind", "counts", *FEW), "rows of 5 numbers"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a file of each kind of rows, and a model of each kind."""
    place = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    write_tickets(place / "texts.jsonl", 60)
    people = [{"age": 20.5 + 40 * (i % 2) + i % 7, "town": "ABC"[i % 3]} for i in range(60)]
    lines = [f"{row['age']},{row['town']}" for row in people]
    (place / "table.csv").write_text("\n".join(["age,town", *lines, ""]))
    (place / "table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in people))
    np.save(place / "numbers.npy", rng.normal(size=(60, 3)))
    np.save(place / "counts.npy", rng.poisson(2, (60, 5)))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for name, (command, _) in LEARNT.items():
            evermix(*command, "--checkpoint", f"{name}.evermix", "--out", f"{name}.out")
    return place


@pytest.mark.parametrize("model", LEARNT)
@pytest.mark.parametrize(
    ("rows", "holds"),
    [
        ("texts.jsonl", "texts.jsonl holds texts."),
        ("table.csv", "table.csv holds a table."),
        ("numbers.npy", "numbers.npy holds rows of 3 numbers."),
    ],
)
def test_the_error_says_what_the_model_was_learnt_from(folder, monkeypatch, model, rows, holds):
    monkeypatch.chdir(folder)
    own = {"texts": "texts.jsonl", "topics": "texts.jsonl", "table": "table.csv"}
    fits = own.get(model, f"{model}.npy") == rows
    said = evermix("predict", f"{model}.evermix", rows, "--out", "-", status=0 if fits else 1)
    if fits:
        return
    assert f"The model {model}.evermix was learnt from {LEARNT[model][1]}" in said.stderr
    if model in ("texts", "topics"):
        assert holds in said.stderr
    for private in ("Multinomial", "dict", "object", "--family"):
        assert private not in said.stderr


def test_json_lines_without_texts_are_refused_with_what_to_do(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for command in (["fit"], ["stream"], ["topics", "--prior", "hdp"]):
        said = evermix(*command, "table.jsonl", "--out", "new.json", status=1).stderr
        assert "there is no field 'text'. The fields are 'age', 'town'" in said
        assert "or read all fields as columns of a table with --kind table" in said
