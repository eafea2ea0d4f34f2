"""JSON lines of flat objects are rows of a table, as those of a CSV file are."""

import csv
import json

import numpy as np
import pytest

from evermix.io.sources import SourceError, open_source
from helpers.commands import evermix

N = 200


def records():
    """Return rows of three kinds, of which some values are null or not there."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(N):
        z = i % 3
        price = f"${rng.normal(1000 + 500 * z):,.2f}"
        row = {"who": f"r{i}", "age": round(rng.normal(30 + 15 * z), 2), "zip": 10115 + z % 2}
        row |= {"country": ["de", "fr", "it"][z], "member": bool(z), "price": price, "note": i}
        if i % 7 == 3:
            row["age"] = None
        if i % 9 == 5:
            del row["country"]
        rows.append(row)
    return rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = records()
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open("rows.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return tmp_path


def read(path, **options):
    (chunk,) = open_source(path, kind="table", **options).chunks(0, N)
    return chunk


def test_values_are_those_of_a_csv_file(folder):
    options = {"id_field": "who", "ignore": ("note",), "category": ("zip",), "missing": ("it",)}
    want, found = read("rows.csv", **options), read("rows.jsonl", **options)
    assert found.ids == want.ids and list(found.X) == list(want.X)
    assert {name: col.tolist() for name, col in found.X.items()} == {
        name: col.tolist() for name, col in want.X.items()
    }
    assert set(found.X["zip"]) == {"10115", "10116"} and None in found.X["country"]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"a": {"b": 1}, "a.b": "x"}, "a.b"),
        ({"a.b": "x", "a": {"b": 1}}, "a.b"),
        ({"a": {"b": {"c": 1}, "b.c": 2}}, "a.b.c"),
    ],
)
def test_a_row_with_two_fields_of_a_name_is_refused(tmp_path, row, name, first):
    rows = [{"d": 1.5}] * 3
    rows.insert(0 if first else 3, row)
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(SourceError, match=f"two fields '{name}'.*Rename one"):
        read(tmp_path / "t.jsonl")


COLUMNS = "--kind", "table", "--id-field", "who", "--ignore", "note", "--category", "zip"


def test_fits_and_predictions_are_those_of_a_csv_file(folder):
    for name in ("csv", "jsonl"):
        keep = "--out", f"{name}.out.csv", "--checkpoint", f"{name}.evermix"
        evermix("fit", f"rows.{name}", *COLUMNS, *keep, "--quiet")
        evermix("predict", "csv.evermix", f"rows.{name}", "--out", f"{name}.new.csv", "--quiet")
    for what in ("out", "new"):
        assert (folder / f"jsonl.{what}.csv").read_bytes() == (
            folder / f"csv.{what}.csv"
        ).read_bytes()


def test_rows_may_lack_fields_and_have_them_in_any_order(folder):
    rows = [{name: row[name] for name in reversed(row)} for row in records()]
    text = "".join(json.dumps(row) + "\n" for row in [{"price": "$900.00"}, *rows])
    (folder / "others.jsonl").write_text(text)
    both = open_source(["rows.jsonl", "others.jsonl"], kind="table")
    *_, last = both.chunks(0, N)
    assert last.X["price"].tolist()[-1] == read("rows.jsonl").X["price"][-1]
    keep = "--keep-fields", "--out", "kept.csv", "--quiet"
    evermix("fit", "others.jsonl", *COLUMNS, *keep)
    with open("kept.csv", newline="") as file:
        kept = list(csv.DictReader(file))
    assert kept[0]["price"] == "$900.00" and kept[0]["country"] == ""
    assert kept[1]["country"] == "de" and kept[1]["who"] == "r0"


def test_a_stream_of_records_goes_on_where_it_stopped(folder):
    stream = "stream", "rows.jsonl", *COLUMNS, "--quiet", "--out"
    evermix(*stream, "whole.jsonl")
    evermix(*stream, "parts.jsonl", "--limit", 70, "--batch", 70)
    evermix(*stream, "parts.jsonl", "--resume")
    whole, parts = (
        [
            json.loads(line)["cluster"]
            for line in (folder / f"{name}.jsonl").read_text().splitlines()
        ]
        for name in ("whole", "parts")
    )
    assert whole == parts and len(whole) == N


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"age": {"years": 3}}, "expected a number, a word, true, false or null in 'age'"),
        ({"age": "unknown"}, "expected a number in column 'age', got 'unknown'. .*--missing unk"),
        ({"ages": 3}, "in the first rows there is no field 'ages'. Did you mean 'age'"),
        ({"age": 10**400}, "expected a finite number in column 'age'"),
    ],
)
def test_bad_records_say_what_is_wrong(folder, bad, message):
    rows = [*records() * 6, bad]
    (folder / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(SourceError, match=f"line {len(rows)}: {message}"):
        list(open_source("bad.jsonl", kind="table").chunks(0, 5000))
    source = open_source("bad.jsonl", kind="table", skip_bad=True)
    assert sum(len(chunk.ids) for chunk in source.chunks(0, 5000)) == len(rows) - 1


def test_records_that_come_while_they_are_read_are_refused(folder):
    said = evermix("stream", "-", "--kind", "table", status=1).stderr
    assert "rows of a table must be in files that are whole" in said
