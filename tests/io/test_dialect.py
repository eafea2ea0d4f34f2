"""Separated values as people write them: other delimiters, decimal commas."""

import gzip

import numpy as np
import pytest

from evermix.io.sources import SourceError, open_source
from evermix.io.sources.dialect import find_decimal, find_delimiter


def read(path, **options):
    source = open_source(path, **options)
    (chunk,) = source.chunks(0, 1000)
    return source, chunk


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    rows = ["id", "age", "city", "note"], ["a", "1.5", '"x,;|\ty"', ""], ["b", "2.5", "z", "hm"]
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.writelines(f"{delimiter.join(row)}\n" for row in rows)
    source, chunk = read(tmp_path / "t.csv.gz")
    assert source.columns == ["age", "city", "note"]
    assert chunk.ids == ["a", "b"]
    assert chunk.X["age"].tolist() == [1.5, 2.5]
    assert chunk.X["city"].tolist() == ["x,;|\ty", "z"]


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["text", "a; b", "c; d"], ","),
        (["id,text", "1,a; b; c", "2,d; e; f"], ","),
        (["name;amount, EUR;city", "a;1,5;b", "c;2,5;d"], ";"),
        (["a|b", "x", "y", "z"], ","),  # a name with a bar
        (["a;b", "1;2", "3", "4;5"], ";"),  # one row is bad
        (['"a;b",c', '"d;e",f'], ","),
        ([], ","),
    ],
)
def test_rows_must_agree_with_the_header(lines, delimiter):
    assert find_delimiter(lines) == delimiter


def test_decimal_commas(tmp_path):
    rows = [f"r{i};{i},5;1.{i:03d},25;{i}.5;0{i},x" for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["id;a;b;c;d", *rows, ""]))
    _, chunk = read(tmp_path / "t.csv")
    assert chunk.X["a"].tolist() == [i + 0.5 for i in range(30)]
    assert chunk.X["b"].tolist() == [1000 + i + 0.25 for i in range(30)]
    assert chunk.X["c"].tolist() == [i + 0.5 for i in range(30)]
    assert chunk.X["d"].tolist()[3] == "03,x"
    _, chunk = read(tmp_path / "t.csv", category=("a",))
    assert chunk.X["a"].tolist()[3] == "3,5"


def test_decimal_commas_without_a_header(tmp_path):
    (tmp_path / "a.tsv").write_text("1,5\t2\n-2,5\t3\n")
    (tmp_path / "b.csv").write_text("1,5;2,0\n-2,5;3,0\n")
    for name in ("a.tsv", "b.csv"):
        source, chunk = read(tmp_path / name)
        assert source.kind == "vectors"
        np.testing.assert_array_equal(chunk.X, [[1.5, 2], [-2.5, 3]])


def test_a_stray_word_does_not_change_how_numbers_are_read(tmp_path):
    points = [f"{i}.125" for i in range(1, 100)]
    assert find_decimal([*points, "word"], 0.05) is None
    assert find_decimal([*points, "1,5"], 0.05) is None
    rows = [f"{i},5" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["a;b", *(f"{row};1" for row in rows), "word;1", ""]))
    with pytest.raises(SourceError, match="line 42: expected a number in column 'a', got 'word'"):
        read(tmp_path / "t.csv")
