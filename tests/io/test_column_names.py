"""Columns of a file have different names, as those of Python's tables have."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from evermix.io.sources import SourceError, open_source
from helpers.commands import evermix

TWICE = r"need different names, got \['score'\] twice\. Rename"
ROWS = [(f"word {i % 3}", i, float(i % 7), -1.5 * i) for i in range(30)]
NAMES = ["text", "visits", "score", "score"]


@pytest.fixture(params=[",", ";", "\t", "|", "parquet"])
def twice(request, tmp_path):
    """Return a file with two columns of the same name."""
    if request.param == "parquet":
        arrays = [pa.array(column) for column in zip(*ROWS, strict=True)]
        parquet.write_table(pa.Table.from_arrays(arrays, names=NAMES), tmp_path / "a.parquet")
        return tmp_path / "a.parquet"
    lines = [request.param.join(map(str, row)) for row in [NAMES, *ROWS]]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "a.csv"


def test_columns_that_are_read_have_different_names(twice):
    with pytest.raises(SourceError, match=TWICE + r".* leave them out .* --ignore score"):
        open_source(twice, kind="table")
    for options in ({"text_field": "score"}, {"fields": "values"}, {"time_field": "score"}):
        with pytest.raises(SourceError, match=TWICE + r" one of each\.$"):
            open_source(twice, **options)


def test_columns_that_are_not_read_may_have_any_names(twice):
    assert open_source(twice).kind == "text"
    assert open_source(twice, kind="table", ignore=("score",)).columns == ["text", "visits"]


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_commands_say_so(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.csv").write_text("".join(f"{line}\n" for line in ["a,b", *["1,2.5"] * 30]))
    (tmp_path / "two.csv").write_text("".join(f"{line}\n" for line in ["a,b,b", *["1,2,3"] * 30]))
    assert "got ['b'] twice" in evermix(command, "two.csv", status=1).stderr
    evermix("fit", "one.csv", "--out", "labels.csv")
    assert "got ['b'] twice" in evermix("predict", "one.evermix", "two.csv", status=1).stderr
