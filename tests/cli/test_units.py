"""Columns keep the unit with which they were learnt."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from evermix.estimators.files import load_with_extra, save
from helpers.commands import evermix


def people(path, unit, seed=0, n=80):
    """Write a table of people whose weights are in a unit."""
    rng = np.random.default_rng(seed)
    tall = rng.integers(0, 2, n)
    factor = 2.2 if unit == " lb" else 1.0
    weight = [f"{factor * w:.0f}{unit}" for w in 60 + 25 * tall + rng.normal(size=n)]
    town = np.array(["Rome", "Oslo"])[tall].tolist()
    if path.suffix == ".parquet":
        parquet.write_table(pa.table({"weight": weight, "town": town}), path)
    else:
        lines = [f"{w},{t}" for w, t in zip(weight, town, strict=True)]
        path.write_text("weight,town\n" + "\n".join(lines) + "\n")
    return path.name


@pytest.fixture(params=["csv", "parquet"])
def folder(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, unit in {"kg": " kg", "lb": " lb", "bare": "", "more": " kg"}.items():
        people(tmp_path / f"{name}.{request.param}", unit, seed=len(name))
    return request.param


def refused(*arguments):
    said = " ".join(evermix(*arguments, status=1).stderr.split())
    assert "expected numbers in kg in column 'weight', as in rows before these, got lb." in said
    assert "Convert the column to kg first." in said


def test_another_unit_is_refused_wherever_rows_are_read(folder):
    evermix("fit", f"kg.{folder}", "--out", "fitted.jsonl", "--checkpoint", "fit.evermix")
    refused("predict", "fit.evermix", f"lb.{folder}", "--out", "p.jsonl")
    refused("report", "fit.evermix", "--rows", f"lb.{folder}", "--out", "r.html")
    evermix("predict", "fit.evermix", f"more.{folder}", "--out", "p.jsonl")
    if folder == "csv":
        evermix("predict", "fit.evermix", "bare.csv", "--out", "q.jsonl")


def test_streams_go_on_with_the_same_unit_only(folder):
    stream = ["--out", "out.jsonl", "--checkpoint", "s.evermix"]
    evermix("stream", f"kg.{folder}", *stream)
    refused("stream", f"lb.{folder}", *stream, "--resume")
    evermix("stream", f"more.{folder}", *stream, "--resume")
    refused("predict", "s.evermix", f"lb.{folder}", "--out", "p.jsonl")
    assert load_with_extra("s.evermix")[1]["stream"]["units"] == {"weight": "kg"}


def test_files_that_are_read_together_must_agree(folder):
    refused("stream", f"kg.{folder}", f"lb.{folder}", "--out", "out.jsonl")
    files = f"kg.{folder}", f"lb.{folder}"
    said = evermix("stream", *files, "--out", "out.jsonl", status=1).stderr
    assert f"kg.{folder}, are rows of a table." in " ".join(said.split())


def test_a_row_in_another_unit_is_a_bad_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(tmp_path / "late.csv", " kg", n=1100)
    with open("late.csv", "a") as file:
        file.write("150 lb,Rome\n")
    said = evermix("stream", "late.csv", "--out", "out.jsonl", status=1).stderr
    said = " ".join(said.split())
    assert (
        "expected a number in column 'weight', got '150 lb'. Numbers of this column are in kg"
        in said
    )


@pytest.mark.parametrize("command", ["fit", "stream"])
@pytest.mark.parametrize("kind", ["vectors", "table"])
def test_units_are_shown_as_they_were_written(kind, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    big = rng.integers(0, 2, 120)
    bills, weights = 100 + 700 * big + 9 * rng.normal(size=120), 5 + 4 * big + rng.normal(size=120)
    sizes = ["large" if one else "small" for one in big]
    with open("t.csv", "w") as file:
        file.write("bill,weight,size\n")
        file.writelines(
            f"€{b:.2f},{w:.1f} kg,{s}\n" for b, w, s in zip(bills, weights, sizes, strict=True)
        )
    ignored = ["--ignore", "size"] if kind == "vectors" else []
    model = "--checkpoint", "m.evermix"
    evermix(command, "t.csv", *ignored, "--out", "o.jsonl", *model)
    assert load_with_extra("m.evermix")[1][command]["kind"] == kind
    traits = [
        t
        for c in json.loads(evermix("info", "m.evermix", "--json").stdout)["clusters"]
        for t in c["traits"]
    ]
    assert {t["column"]: t["unit"] for t in traits if t["level"] is None} == {
        "bill": "€#",
        "weight": "kg",
    }
    assert "€" in evermix("info", "m.evermix").stdout
    why = evermix("explain", "m.evermix", "t.csv", "--limit", 1).stdout
    assert "bill = €" in why and " kg\n" in why
    evermix("report", "m.evermix", "--rows", "t.csv", "--out", "r.html")
    assert "bill = €" in (tmp_path / "r.html").read_text()
    (tmp_path / "d.csv").write_text((tmp_path / "t.csv").read_text().replace("€", "$"))
    evermix(
        "stream",
        "d.csv",
        *ignored,
        "--model",
        "m.evermix",
        "--out",
        "d.jsonl",
        "--checkpoint",
        "d.evermix",
    )
    shown = evermix("info", "d.evermix").stdout  # amounts in several currencies
    assert "€" not in shown and "$" not in shown and " kg" in shown


def test_files_of_earlier_versions_know_no_units(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("kg", "lb"):
        people(tmp_path / f"{name}.csv", f" {name}")
    evermix("stream", "kg.csv", "--out", "out.jsonl", "--checkpoint", "s.evermix")
    mix, extra = load_with_extra("s.evermix")
    del extra["stream"]["units"], mix.written_
    save(mix, "s.evermix", extra)
    evermix("predict", "s.evermix", "lb.csv", "--out", "p.jsonl")
    evermix("stream", "lb.csv", "--out", "out.jsonl", "--checkpoint", "s.evermix", "--resume")
    assert len((tmp_path / "p.jsonl").read_text().splitlines()) == 80

    mix, extra = load_with_extra("s.evermix")
    extra["stream"]["units"] = {"weight": 3}
    save(mix, "s.evermix", json.loads(json.dumps(extra)))
    again = ["stream", "kg.csv", "--out", "out.jsonl", "--checkpoint", "s.evermix", "--resume"]
    assert "are not whole" in " ".join(evermix(*again, status=1).stderr.split())
