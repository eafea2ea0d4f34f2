"""Columns and fields that the user names: in another case, inside of objects, misspelt."""

import json

import numpy as np
import pytest

from evermix.io.sources import SourceError, open_source
from helpers.commands import evermix

ROWS = [{"Key": f"k{i}", "Body": f"word{i % 3} and more", "When": 2000 + i} for i in range(20)]
FORMATS = ["t.csv", "t.jsonl", "t.parquet"]


def written(path, rows=ROWS):
    """Write rows in the format of a file's name, and return its path."""
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif path.suffix == ".csv":
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join([*lines, ""]))
    else:
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_names_may_differ_in_case(tmp_path, name):
    named = {"text_field": "body", "id_field": "KEY", "time_field": "when"}
    source = open_source(written(tmp_path / name), **named, required=("body", "KEY"))
    (chunk,) = source.chunks(0, 100)
    assert (source.kind, chunk.ids[:2], chunk.X[1]) == ("text", ["k0", "k1"], "word1 and more")
    assert chunk.times.tolist() == [2000.0 + i for i in range(20)]


@pytest.mark.parametrize("name", FORMATS)
def test_ignored_columns_may_differ_in_case(tmp_path, name):
    source = open_source(written(tmp_path / name), kind="table", ignore=("when", "KEY"))
    assert source.columns == ["Body"]


@pytest.mark.parametrize("name", FORMATS)
def test_of_two_names_that_differ_in_case_alone_the_exact_one_is_meant(tmp_path, name):
    rows = [{"BODY": "no no", "body": "yes yes", "n": i} for i in range(5)]
    written(tmp_path / name, rows)
    (chunk,) = open_source(tmp_path / name, text_field="body").chunks(0, 9)
    assert chunk.X == ["yes yes"] * 5
    with pytest.raises(SourceError, match="there is no (column|field) 'Body'"):
        open_source(tmp_path / name, text_field="Body", required=("Body",))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"text_field": "Bodi", "required": ("Bodi",)}, "Did you mean --text-field Body"),
        ({"text_field": "Body", "time_field": "Wen"}, "Did you mean --time-field When"),
        ({"text_field": "Body", "id_field": "kee", "required": ("kee",)}, "--id-field Key"),
    ],
)
def test_the_nearest_names_come_first(tmp_path, name, options, advice):
    nearest = advice.split()[-1]
    message = rf"there is no (column|field) .*{advice}\? The (column|field)s are '{nearest}', "
    with pytest.raises(SourceError, match=message):
        open_source(written(tmp_path / name), **options)


def test_fields_inside_of_objects_have_names_with_dots(tmp_path):
    rows = [{"key": {"no": i}, "fields": {"summary": f"all is {i}"}, "n": 1} for i in range(9)]
    written(tmp_path / "t.jsonl", rows)
    named = {"text_field": "fields.summary", "id_field": "key.No", "time_field": "key.no"}
    source = open_source(tmp_path / "t.jsonl", **named, required=("fields.summary", "key.No"))
    (chunk,) = source.chunks(0, 100)
    assert chunk.X[4] == "all is 4" and chunk.ids == chunk.times.tolist() == list(range(9))
    message = "there is no field 'text'.*'fields.summary'.*Did you mean --text-field fields.summary"
    with pytest.raises(SourceError, match=message):
        open_source(tmp_path / "t.jsonl")


def test_a_field_with_a_dot_in_its_name_comes_first(tmp_path):
    rows = [{"a.b": "flat it is", "a": {"b": "nested it is"}}]
    written(tmp_path / "t.jsonl", rows)
    (chunk,) = open_source(tmp_path / "t.jsonl", text_field="a.b").chunks(0, 9)
    assert chunk.X == ["flat it is"]


def test_objects_in_a_table_are_columns(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{"size": {"x": x, "y": y}, "meta": {"z": [1]}} for x, y in rng.normal(size=(20, 2))]
    written(tmp_path / "t.jsonl", rows)
    source = open_source(tmp_path / "t.jsonl", kind="table", ignore=("meta",), fields="values")
    assert source.columns == ["size.x", "size.y"]
    (chunk,) = source.chunks(0, 100)
    assert chunk.X["size.y"].tolist() == [row["size"]["y"] for row in rows]
    assert set(chunk.fields[0]) == {"size.x", "size.y", "meta"}


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_a_list_of_objects_is_to_be_written_in_lines(tmp_path, name):
    (tmp_path / name).write_text(json.dumps(ROWS, indent=1))
    with pytest.raises(SourceError, match=r"jq -c '\.\[\]' FILE > NEW.jsonl"):
        open_source(tmp_path / name)


def test_one_object_in_several_lines_is_to_be_written_in_one(tmp_path):
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(row, indent=1) for row in ROWS))
    with pytest.raises(SourceError, match=r"jq -c \. FILE > NEW.jsonl"):
        open_source(tmp_path / "t.jsonl")


def test_the_command_line_takes_names_of_another_case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "t.csv")
    run = ["fit", "t.csv", "--text-field", "BODY", "--id-field", "key", "--ignore", "when"]
    said = evermix(*run, "--out", "out.jsonl").stderr
    assert "ignored" not in said
    answers = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [answer["id"] for answer in answers] == [row["Key"] for row in ROWS]
    wrong = evermix("fit", "t.csv", "--ignore", "Wen", "--out", "no.jsonl", status=1).stderr
    assert "--ignore: there is no column 'Wen'. Did you mean 'When'?" in wrong
