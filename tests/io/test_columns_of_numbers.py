"""Which columns hold numbers is decided in one way, whatever the format of a table."""

import csv
import json

import pytest

from evermix.io.sources import SourceError, open_source
from evermix.io.sources.strings import PLAIN, writings_of

NUMBERS = [1.5, 2.25, 0.5, 7.75, 3.5]
COLUMNS = {  # cells, in files without types as strings; and the values that they have
    "numbers": (NUMBERS, NUMBERS),
    "marks": (["-", *NUMBERS, "?"], [None, *NUMBERS, None]),
    "mostly marks": (["-", 1.5, "?", "--", 2.5], [None, 1.5, None, None, 2.5]),
    "written": (["$1,234.50", "$2.25", "-", "$"], [1234.5, 2.25, None, None]),
    "words": (["low", "high", "-", "low"], ["low", "high", "-", "low"]),
    "words among few numbers": ([*map(str, NUMBERS), "low"], [*map(str, NUMBERS), "low"]),
}


def save(folder, format, cells):
    """Write a table whose first column is this; JSON lines alone may mix types."""
    path = folder / f"a.{format}"
    rows = [{"x": cell, "kind": "ab"[i % 2]} for i, cell in enumerate(cells)]
    if format == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif format == "csv":
        with open(path, "w", newline="") as file:
            lines = csv.DictWriter(file, ["x", "kind"])
            lines.writeheader()
            lines.writerows(rows)
    else:
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        typed = cells if all(isinstance(cell, float) for cell in cells) else list(map(str, cells))
        parquet.write_table(pa.table({"x": typed, "kind": [r["kind"] for r in rows]}), path)
    return path


def values(path, **options):
    (chunk,) = open_source(path, kind="table", **options).chunks(0, 5000)
    return chunk.X["x"].tolist()


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_holds_the_same_in_all_formats(tmp_path, format, name):
    cells, expected = COLUMNS[name]
    if name == "words among few numbers" and format == "csv":  # each cell is read on its own
        expected = [*NUMBERS, "low"]
    assert values(save(tmp_path, format, cells)) == expected


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_nearly_all_values_are_numbers_and_a_word_spoils_its_row(tmp_path, format):
    cells = ["-", *NUMBERS * 4, "low", *["?"] * 30]
    path = save(tmp_path, format, cells)
    with pytest.raises(SourceError, match="expected a number in column 'x', got 'low'"):
        values(path)
    assert values(path, missing=("low",)) == [None, *NUMBERS * 4, *[None] * 31]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("infinite", [float("inf"), "-inf", "1e400"])
def test_a_number_that_is_not_finite_spoils_its_row(tmp_path, format, infinite):
    path = save(tmp_path, format, [*NUMBERS * 4, infinite])
    with pytest.raises(SourceError, match="a finite number in column 'x', got .*--missing"):
        values(path)
    assert values(path, skip_bad=True) == NUMBERS * 4
    assert values(path, missing=(str(infinite),)) == [*NUMBERS * 4, None]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_among_words_infinity_is_a_word(tmp_path, format):
    words = ["low", "high", "Infinity", "low"]
    assert values(save(tmp_path, format, words)) == words


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_word_after_the_first_rows_of_a_column_with_few_numbers_spoils_its_row(tmp_path, format):
    cells = ["-"] * 990 + NUMBERS + ["?"] * 30 + ["low"]
    with pytest.raises(SourceError, match="expected a number in column 'x', got 'low'"):
        values(save(tmp_path, format, cells))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([1, 2.5, None, "-"], PLAIN),
        ([True, False, 1], None),
        ([{}, 1], None),
        ([None], None),
        (["5", "-", 3], PLAIN),  # marks are why numbers have no type of their own
        (["5", "-", "7"], PLAIN),
        (["05", "-", "07"], None),
        (["5", "7"], None),
    ],
)
def test_values_with_types_are_counted_as_they_are(cells, expected):
    assert writings_of({"x": cells})["x"] == expected


def test_digits_are_numbers_where_values_have_no_types():
    assert writings_of({"x": ["5", "7"]}, typed=False)["x"] == PLAIN
