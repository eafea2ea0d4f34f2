"""Dates as people write them: with dots the day comes first, otherwise the column decides it."""

import io
import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from evermix.io.sources import SourceError, open_source
from evermix.io.sources.dates import find_order
from evermix.io.sources.values import read_time, typical_time
from helpers.commands import evermix

DAYS = np.arange("2025-03-28", "2025-04-20", dtype="datetime64[D]")


@pytest.mark.parametrize(
    ("text", "day_first", "expected"),
    [
        ("06.04.2025", None, "2025-04-06"),
        ("6.4.2025", False, "2025-04-06"),  # dots always mean that
        ("06.04.2025 18:30", None, "2025-04-06T18:30"),
        ("06.04.2025, 8:05:30", None, "2025-04-06T08:05:30"),
        ("6/4/2025", True, "2025-04-06"),
        ("6/4/2025", False, "2025-06-04"),
        ("06-04-2025", True, "2025-04-06"),
        ("6/4/2025 6:30 PM", False, "2025-06-04T18:30"),
        ("6/4/2025 12:30:15 a.m.", False, "2025-06-04T00:30:15"),
        ("6/4/2025T00:30:00+02:00", False, "2025-06-03T22:30"),
        ("2025/4/6", None, "2025-04-06"),
        ("2025/04/06 18:30", None, "2025-04-06T18:30"),
        ("6 April 2025", None, "2025-04-06"),
        ("Apr 6, 2025", None, "2025-04-06"),
        ("april 6th 2025 at 6:30 PM", None, "2025-04-06T18:30"),
        ("06-Apr-2025 8:05", None, "2025-04-06T08:05"),
        ("Sun, 06 Apr 2025 18:30:00 +0200", None, "2025-04-06T16:30"),  # as in mail
        ("Sunday, 6. April 2025, 18:30 UTC", None, "2025-04-06T18:30"),
        ("Apr 2025", None, "2025-04-01"),
        ("april 2025", None, "2025-04-01"),
        ("Sept., 2025", None, "2025-09-01"),
        ("Apr-25", None, "2025-04-01"),
        ("Apr '25", None, "2025-04-01"),
        ("6.4.25", None, "2025-04-06"),  # years of two digits are 1969 to 2068
        ("6.4.69", None, "1969-04-06"),
        ("6.4.68 18:30", None, "2068-04-06T18:30"),
        ("6/4/25", True, "2025-04-06"),
        ("6/4/25 6:30 PM", False, "2025-06-04T18:30"),
        ("06-Apr-99", None, "1999-04-06"),
        ("April 6, '25", None, "2025-04-06"),
    ],
)
def test_dates_are_read_as_people_write_them(text, day_first, expected):
    assert read_time(f" {text} ", day_first=day_first) == np.datetime64(expected)


@pytest.mark.parametrize(
    "text",
    [
        "6/4/2025",
        "31.4.2025",
        "6.4.255",
        "6.4/2025",
        "6/4/25",
        "6.4.2025 25:00",
        "6.4.2025 13:00 PM",
    ]
    + ["6.4.2025 soon", "0.4.2025", "6.4.20255", "2025.4.31", "31 Apr 2025", "Mayor 6, 2025"]
    + ["6 Apr 255", "Mayor 2025", "6 April 2025 soon", "someday, 6 April 2025"],
)
def test_what_is_no_date_or_leaves_it_open_is_refused(text):
    with pytest.raises(ValueError, match=r"a date such as .*31\.5\.2024, got "):
        read_time(text)
    with pytest.raises(ValueError, match=r"such as .*5/31/2024, with the month first .*, got "):
        read_time("31/5/2024", day_first=False)


@pytest.mark.parametrize("text", ["25-04-06", "06-04-25", "Apr 25", "April 25"])
def test_where_the_year_is_not_clear_four_digits_are_wanted(text):
    for day_first in (None, True):
        with pytest.raises(ValueError, match=f"got '{text}' .write its year with four digits"):
            read_time(text, day_first=day_first)


def test_the_first_number_above_12_decides():
    assert find_order(["6/4/2025", "7.13.2025", None, 3.0, "6/13/2025", "13/6/2025"]) is False
    assert find_order(["6/4/2025", "13-6-2025"]) is True
    assert find_order(["6/4/25", "13/6/25"]) is True
    assert find_order(["6/4/2025", "31.12.2025", "2025-12-31"]) is None


def jsonl(path, dates):
    lines = [json.dumps({"vector": [i, 1.0], "when": date}) for i, date in enumerate(dates)]
    path.write_text("\n".join(["not JSON", *lines, ""]))
    return path


def csv(path, dates):
    lines = [f"{i},1.0,{date}" for i, date in enumerate(dates)]
    path.write_text("\n".join(["a,b,when", "1,2", *lines, ""]))
    return path


def table(path, dates):
    columns = {"a": np.arange(len(dates)), "b": np.ones(len(dates)), "when": dates}
    parquet.write_table(pa.table(columns), path)
    return path


FORMATS = {"a.jsonl": jsonl, "a.csv": csv, "a.parquet": table}
ORDERS = {"day": "%-d/%-m/%Y", "month": "%m/%d/%Y"}


def written(order):
    return [day.item().strftime(ORDERS[order]) for day in DAYS]


def times(source, size=4):
    return np.concatenate([chunk.times for chunk in source.chunks(0, size)])


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_column_decides_what_comes_first(tmp_path, name, order):
    path = FORMATS[name](tmp_path / name, written(order))
    source = open_source(path, time_field="when", skip_bad=True)
    assert source.dated
    np.testing.assert_array_equal(times(source), DAYS)


@pytest.mark.parametrize("name", FORMATS)
def test_a_column_that_leaves_it_open_needs_an_order(tmp_path, name):
    """Also where the dates before are written in another way, and what was read is marked."""
    path = FORMATS[name](tmp_path / name, ["6/4/2025", "7/4/2025"])
    with pytest.raises(SourceError, match=r"'6/4/2025' in 'when', .* --date-order day, or"):
        list(open_source(path, time_field="when", skip_bad=True).chunks(0, 5))
    source = open_source(path, time_field="when", skip_bad=True, date_order="month")
    assert times(source).tolist() == np.array(["2025-06-04", "2025-07-04"], "M8[us]").tolist()
    path = FORMATS[name](tmp_path / name, ["2025-04-05", "6/4/2025", "13/4/2025"])
    read = [
        list(open_source(path, time_field="when", skip_bad=True, **options).chunks(0, 1))
        for options in ({"marked": True}, {"marked": True, "date_order": "day"})
    ]
    wanted = np.array(["2025-04-05", "2025-04-06", "2025-04-13"], "M8[us]")
    for chunks in read:
        np.testing.assert_array_equal(np.concatenate([c.times for c in chunks]), wanted)
    assert [chunk.read for chunk in read[0]] == [chunk.read for chunk in read[1]]


def test_a_date_of_the_other_order_is_a_bad_row(tmp_path):
    path = csv(tmp_path / "a.csv", ["6/4/2025", "13/4/2025", "4/14/2025"])
    with pytest.raises(SourceError, match=r"line 5: .* with the day first .*, got '4/14/2025' in"):
        list(open_source(csv_without_bad(path), time_field="when").chunks(0, 5))


def csv_without_bad(path):
    path.write_text(path.read_text().replace("1,2\n", "1,2,3.4.2025\n"))
    return path


def test_a_pipe_needs_an_order_unless_the_row_shows_it(monkeypatch):
    def piped(*dates):
        lines = [json.dumps({"vector": [1.0], "when": date}) + "\n" for date in dates]
        stdin = io.TextIOWrapper(io.BytesIO("".join(lines).encode()))
        monkeypatch.setattr(sys, "stdin", stdin)

    piped("13/4/2025", "1/5/2025")
    assert times(open_source("-", time_field="when")).astype("M8[M]").astype(int).tolist() == [
        663,
        664,
    ]
    piped("6/4/2025", "13/4/2025")
    with pytest.raises(SourceError, match="--date-order day"):
        times(open_source("-", time_field="when"))


def test_the_command_line_reads_them_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [f"{x},{y},{d:02}.{m:02}.2025" for m in (3, 4) for d in range(1, 29)
             for x, y in rng.normal(size=(2, 2))]  # fmt: skip
    (tmp_path / "dots.csv").write_text("\n".join(["x,y,when", *lines, ""]))
    slashed = [line.replace(".2025", "/2025")[::-1].replace(".", "/", 1)[::-1] for line in lines]
    (tmp_path / "slashes.csv").write_text("\n".join(["x,y,when", *slashed, ""]))
    (tmp_path / "open.csv").write_text("\n".join(["x,y,when", *slashed[:20], ""]))
    said = []
    for name, order in (("dots", []), ("slashes", []), ("open", ["--date-order", "day"])):
        options = ["--time-field", "when", "--out", f"{name}.jsonl", "--half-life", "30d", *order]
        evermix("stream", f"{name}.csv", *options, "--limit", 10, "--batch", 10)
        evermix("stream", f"{name}.csv", "--resume", "--out", f"{name}.jsonl")
        said.append((tmp_path / f"{name}.jsonl").read_text().splitlines())
    assert said[0] == said[1] and len(said[2]) == 20
    assert all(json.loads(lines[0])["since"] == "2025-03-01" for lines in said)
    failed = evermix("stream", "open.csv", "--time-field", "when", "--out", "x", status=1)
    assert "the day or the month may come first in" in failed.stderr


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["c. 2005", "2005-02-04", "6 March 2005"], np.datetime64),
        (["N/A", "January 2005", "unknown", "Feb 2005"], np.datetime64),
        (["2005", "31/1/2005", "1/2/2005"], np.datetime64),
        (["May 2005", "spring 2005", "summer 2005"], str),
        (["2005-02-04", "2005", "2006"], float),
        ([None, "", "n/a"], type(None)),
    ],
)
def test_most_values_decide_what_times_are(values, kind):
    assert isinstance(typical_time(values), kind)


@pytest.mark.parametrize("order", [1, -1])
def test_rows_of_a_file_that_are_no_dates_are_bad_wherever_they_stand(tmp_path, order):
    days, path = ["c. 2005", "2005-02-04", "March 2005", "6 Apr 2005"][::order], tmp_path / "a.csv"
    path.write_text("text,when\n" + "".join(f"word,{day}\n" for day in days))
    line = 2 + days.index("c. 2005")
    with pytest.raises(SourceError, match=f"line {line}: expected .* got 'c. 2005' in 'when'"):
        list(open_source(path, time_field="when", time_labels=True).chunks(0, 9))
    source = open_source(path, time_field="when", time_labels=True, skip_bad=True)
    (chunk,) = source.chunks(0, 9)
    assert sorted(chunk.times.astype("M8[M]").astype(str)) == ["2005-02", "2005-03", "2005-04"]


def test_names_of_months_among_labels_are_labels(tmp_path):
    labels, path = ["May 2005", "spring 2005", "summer 2005"], tmp_path / "a.csv"
    path.write_text("text,when\n" + "".join(f"word,{label}\n" for label in labels))
    (chunk,) = open_source(path, time_field="when", time_labels=True).chunks(0, 9)
    assert chunk.times.tolist() == labels
