"""Times of rows: read alike from every format that has fields, and named where they are wrong."""

import io
import json
import sys
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from evermix.io.sources import SourceError, open_source
from evermix.io.sources.values import read_time

pytestmark = pytest.mark.every_python

N = 17
NUMBERS = np.linspace(-3.0, 5.0, N)
DATES = np.datetime64("1969-12-30T12:00:00.5", "us") + np.arange(N) * np.timedelta64(7, "h")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2024, 2024.0),
        (-0.5, -0.5),
        ("2024", 2024.0),
        (" 1e3 ", 1000.0),
        ("2024-05", "2024-05-01"),
        ("2024-05-31", "2024-05-31"),
        ("2024-W22-5", "2024-05-31"),
        ("2024-05-31T18:30", "2024-05-31T18:30"),
        ("2024-05-31 18:30:01.25", "2024-05-31T18:30:01.25"),
        ("2024-05-31T18:30:00Z", "2024-05-31T18:30"),
        ("2024-06-01T00:30:00+02:00", "2024-05-31T22:30"),
        ("1066-10-14", "1066-10-14"),
        (date(2024, 5, 31), "2024-05-31"),
        (datetime(2024, 5, 31, 18, tzinfo=UTC), "2024-05-31T18"),
        (datetime(2024, 5, 31, 18, tzinfo=timezone(timedelta(hours=-5))), "2024-05-31T23"),
    ],
)
def test_times_are_numbers_or_dates_in_utc(value, expected):
    found = read_time(value)
    if isinstance(expected, str):
        assert found.dtype == "datetime64[us]" and found == np.datetime64(expected)
    else:
        assert type(found) is float and found == expected


@pytest.mark.parametrize(
    "value",
    [None, "", "soon", "nan", "inf", float("nan"), 10**400, True, [1], {}, "now", "NaT"]
    + ["2024-13", "2024-05-32", "31.04.2024", "0001-01-01T00:00:00+14:00"],
)
def test_what_is_no_time_is_refused(value):
    with pytest.raises(ValueError, match=r"expected a finite number, or a date such as .*, got "):
        read_time(value)


def test_labels_are_times_where_they_are_welcome():
    assert read_time(" spring ", labels=True) == "spring"
    assert read_time("2024", labels=True) == 2024.0
    assert read_time("2024-05", labels=True) == np.datetime64("2024-05-01")


@pytest.mark.parametrize(
    "value",
    [None, "", "nan", "inf", "NaT", "null", True, [1], "31.04.2024", "2024-13", "_", "a" * 41],
)
def test_what_is_no_label_is_refused(value):
    """Dates that do not exist are mistakes, and so are whole texts."""
    with pytest.raises(ValueError, match=r"or a label of up to 40 characters .*, got "):
        read_time(value, labels=True)


def jsonl(path, times):
    lines = (json.dumps({"vector": [1.0, 2.0], "when": str(time)}) for time in times)
    path.write_text("\n\n".join(lines) + "\n")
    return path


def csv(path, times):
    path.write_text("x,when,y\n" + "".join(f"1,{time},2\n" for time in times))
    return path


def arrow(path, times):
    columns = {"x": np.ones(len(times)), "when": pa.array(times), "y": np.ones(len(times))}
    parquet.write_table(pa.table(columns), path, row_group_size=5)
    return path


def arrow_texts(path, times):
    return arrow(path, [str(time) for time in times])


FORMATS = {"a.jsonl": jsonl, "a.csv": csv, "a.parquet": arrow, "b.parquet": arrow_texts}


@pytest.mark.parametrize("times", [NUMBERS, DATES], ids=["numbers", "dates"])
@pytest.mark.parametrize("name", FORMATS)
def test_times_come_with_their_rows_however_they_are_cut(tmp_path, name, times):
    path = FORMATS[name](tmp_path / name, times)
    for size in (1, 4, 100):
        source = open_source(path, time_field="when")
        assert source.n_features == 2 and source.dated == (times is DATES)
        chunks = list(source.chunks(0, size))
        found = np.concatenate([chunk.times for chunk in chunks])
        assert found.dtype == times.dtype
        np.testing.assert_array_equal(found, times)
        again = open_source(path, time_field="when").chunks(chunks[0].offset, size)
        rest = [time for chunk in again for time in chunk.times]
        np.testing.assert_array_equal(rest, times[size:])


def test_parquet_knows_zones_days_and_nanoseconds(tmp_path):
    for type_, expected in (
        (pa.timestamp("ns", tz="Asia/Tokyo"), "2024-05-31T18:30"),
        (pa.timestamp("s"), "2024-05-31T18:30"),
        (pa.date32(), "2024-05-31"),
        (pa.date64(), "2024-05-31"),
    ):
        times = pa.array([datetime(2024, 5, 31, 18, 30, tzinfo=UTC)]).cast(type_)
        (chunk,) = open_source(arrow(tmp_path / "a.parquet", times), time_field="when").chunks(0, 9)
        assert chunk.times.tolist() == [np.datetime64(expected, "us").item()]


@pytest.mark.parametrize("name", FORMATS)
def test_bad_times_are_bad_rows(tmp_path, name):
    """Named by line, or skipped and counted."""
    times = [str(time) for time in DATES]
    times[2], times[9] = "soon", "7"
    write = arrow_texts if name.endswith("parquet") else FORMATS[name]
    path = write(tmp_path / name, times)
    place = {"a.jsonl": "line 5", "a.csv": "line 4"}.get(name, "row 2")
    with pytest.raises(SourceError, match=f"{name}: {place}: expected .*, got 'soon' in 'when'"):
        list(open_source(path, time_field="when").chunks(0, 4))
    source = open_source(path, time_field="when", skip_bad=True)
    chunks = list(source.chunks(0, 4))
    np.testing.assert_array_equal(
        np.concatenate([chunk.times for chunk in chunks]), np.delete(DATES, [2, 9])
    )
    assert source.bad == 2
    assert "expected a date in 'when' as in the first row, got '7'" in source.complaints[1]


@pytest.mark.parametrize(
    ("times", "advised"),
    [
        (["2016", "2018-05-03"], True),
        (["2018-05-03", "2016"], True),
        (["2018-05-03", "7"], False),
        (["1526000000", "2018-05-03"], False),
    ],
)
def test_years_among_dates_are_named(tmp_path, times, advised):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": "a", "when": when}) + "\n" for when in times))
    with pytest.raises(SourceError, match="as in the first row") as error:
        list(open_source(path, time_field="when").chunks(0, 4))
    assert ("Write all as years, or all as dates." in str(error.value)) == advised


def test_missing_times_are_bad_rows(tmp_path):
    lines = '{"text": "a", "when": 1}\n{"text": "b"}\n'
    (tmp_path / "a.jsonl").write_text(lines)
    with pytest.raises(SourceError, match="line 2: there is no field 'when'.* are 'text'"):
        list(open_source(tmp_path / "a.jsonl", time_field="when").chunks(0, 4))
    (tmp_path / "a.csv").write_text("text,when\na,1\nb,\n")
    with pytest.raises(SourceError, match="line 3: .* got none in 'when'"):
        list(open_source(tmp_path / "a.csv", time_field="when").chunks(0, 4))
    path = arrow(tmp_path / "a.parquet", pa.array([datetime(2024, 1, 1), None]))
    with pytest.raises(SourceError, match="row 1: .* got none in 'when'"):
        list(open_source(path, time_field="when").chunks(0, 4))


def test_columns_that_are_not_there_are_named(tmp_path):
    for name in ("a.csv", "a.parquet"):
        path = FORMATS[name](tmp_path / name, NUMBERS)
        with pytest.raises(SourceError, match=r"no column 'day'.* columns are 'x', 'when', 'y'"):
            open_source(path, time_field="day")
    (tmp_path / "b.csv").write_text("1,2\n3,4\n")
    with pytest.raises(SourceError, match="no column 'day': the file has no header"):
        open_source(tmp_path / "b.csv", time_field="day")
    with pytest.raises(SourceError, match="expected numbers or dates in column 'when', found none"):
        open_source(arrow(tmp_path / "c.parquet", pa.nulls(3)), time_field="when")


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.svmlight", "docword.a.txt"])
def test_formats_without_fields_have_no_times(tmp_path, name):
    with pytest.raises(
        SourceError, match=r"rows of this format have no named fields.*--time-field"
    ):
        open_source(tmp_path / name, time_field="when")


def test_rows_have_their_place_whatever_was_skipped(tmp_path, monkeypatch):
    text = '\n{"text": "a"}\noops\n{"text": "b"}\n'
    (tmp_path / "a.jsonl").write_text(text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    for path in (tmp_path / "a.jsonl", "-"):
        source = open_source(path, skip_bad=True)
        (chunk,) = source.chunks(0, 9)
        assert [source.place(row) for row in chunk.rows] == [f"{path}: line 2", f"{path}: line 4"]
    (tmp_path / "b.csv").write_text('text\n"a\nb"\n\nc\n')
    source = open_source(tmp_path / "b.csv")
    (chunk,) = source.chunks(0, 9)
    assert [source.place(row)[-6:] for row in chunk.rows] == ["line 3", "line 5"]
    path = tmp_path / "c.npy"
    np.save(path, [[1.0], [np.nan], [2.0]])
    source = open_source([path, tmp_path / "c.npy"], skip_bad=True)
    chunks = list(source.chunks(0, 3))
    rows = np.concatenate([chunk.rows for chunk in chunks])
    assert rows.tolist() == [0, 2, 3, 5]
    assert [source.place(row) for row in rows] == 2 * [f"{path}: row 0", f"{path}: row 2"]


def test_several_files_have_times_of_one_kind(tmp_path):
    paths = [jsonl(tmp_path / f"{i}.jsonl", part) for i, part in enumerate(np.split(DATES, [5, 9]))]
    source = open_source(paths, time_field="when")
    assert source.dated
    for size in (3, 100):
        found = np.concatenate([chunk.times for chunk in source.chunks(0, size)])
        np.testing.assert_array_equal(found, DATES)
    jsonl(paths[2], NUMBERS)
    with pytest.raises(SourceError, match=r"times that are dates.*, got times that are numbers"):
        open_source(paths, time_field="when")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "b.parquet"])
def test_labels_are_read_alike_from_every_format(tmp_path, name):
    labels = ["spring", "summer", "fall"] * 4
    path = FORMATS[name](tmp_path / name, labels)
    with pytest.raises(SourceError, match="expected (a finite number|numbers or dates)"):
        list(open_source(path, time_field="when").chunks(0, 5))
    source = open_source(path, time_field="when", time_labels=True)
    assert [t for chunk in source.chunks(0, 5) for t in chunk.times.tolist()] == labels
    assert source.dated is False


def test_labels_are_not_mixed_with_numbers_in_a_file_or_between_files(tmp_path):
    mixed = jsonl(tmp_path / "mixed.jsonl", ["spring", 2024])
    with pytest.raises(SourceError, match="line 3: expected a label in 'when' as in most rows"):
        list(open_source(mixed, time_field="when", time_labels=True).chunks(0, 5))
    paths = [jsonl(tmp_path / "a.jsonl", ["spring"]), jsonl(tmp_path / "b.jsonl", [1.0])]
    with pytest.raises(SourceError, match="expected times that are labels as in .*a.jsonl"):
        open_source(paths, time_field="when", time_labels=True)
