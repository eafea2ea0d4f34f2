"""Lines above a table, rows without a header, and what is said of them."""

import logging
import warnings

import pytest

from evermix.io.sources import SourceError, open_source
from evermix.io.sources.layout import Layout, find_layout

TABLE = "age;price;town\n" + "31;1,5;Ulm\n45;2,5;Bonn\n" * 30


def table(path, text, **options):
    """Return a source, and its rows by column."""
    path.write_text(text)
    source = open_source(path, **options)
    (chunk,) = source.chunks(0, 1000)
    return source, {name: column.tolist() for name, column in chunk.X.items()}


@pytest.mark.parametrize(
    "above",
    [
        "sep=;\n",
        "\ufeffsep=;\n",
        '"sep=;"\n',
        "Sales report 2024\n",
        "Sales report 2024;;\n\nEU, all shops\n",
        "Sales, EU;\n",
        "\n\n",
        ";;\n",
        "Sales;;\nDate;1.2.2024;\n;;\n",
    ],
)
def test_lines_above_a_table_change_nothing(tmp_path, above, caplog):
    plain, rows = table(tmp_path / "plain.csv", TABLE)
    caplog.set_level(logging.INFO, "evermix")
    source, found = table(tmp_path / "t.csv", above + TABLE)
    assert (source.columns, source.units, found) == (plain.columns, plain.units, rows)
    assert source.place(2) == f"{tmp_path / 't.csv'}: line {4 + above.count(chr(10))}"
    assert source.count_rows() == plain.count_rows() == 60
    assert ("Sales" in caplog.text) == ("Sales" in above)  # what is left out is said


def test_sep_names_what_no_line_shows(tmp_path):
    _, found = table(tmp_path / "t.csv", "sep=:\na:b\n1,5:Ulm, Bonn\n")
    assert found["b"] == ["Ulm, Bonn"]


@pytest.mark.parametrize(
    "lines",
    [
        "name,town\nann,Ulm\nbob,Bonn\n",  # nothing above
        "1,2,3\n4,5,6\n7,8,9\n1,1,1\n",  # no header
        "2024\n1,2\n3,4\n5,6\n",
        "text\nhello, you\nbye, all\nhey, ho\n",  # perhaps texts that are not quoted
        ",price\na,1\nb,2\nc,3\n",  # a name is missing
        "text\none\ntwo\n",
        "name,age,\nann,unknown,Ulm\nbob,31,Bonn\neve,45,Ulm\n",  # a name is missing
        "",
    ],
)
def test_only_what_is_certain_is_left_out(lines):
    assert find_layout(lines.splitlines(keepends=True)) == Layout(",")


@pytest.mark.parametrize(
    ("text", "got"),
    [("Towns\n" + "Ulm,blue,x\n" * 9, "got 1"), ("a,b\n" + "1,2,3\n" * 9, "got 2")],
)
def test_a_first_line_unlike_all_others_is_said_to_be_one(tmp_path, text, got):
    (tmp_path / "t.csv").write_text(text)
    message = rf"cells in line 1 as in .* which have 3, {got}\..*title.*tail -n \+2.*header"
    with pytest.raises(SourceError, match=message):
        open_source(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("the printer is broken again\n" + "no mail\ncannot log in\n" * 9, "(echo text; cat "),
        ("red,5.1,x\n" + "blue,4.5,y\nred,3.5,x\n" * 9, "(echo c1,c2,c3; cat "),
        ("red;x\n" + "blue;y\nred;x\n" * 9, "(echo 'c1;c2'; cat "),
        ("7,the printer is broken again\n" + "8,no mail\n9,no way\n" * 9, "(echo c1,c2; cat "),
    ],
)
def test_names_that_look_like_a_row_are_noticed(tmp_path, text, advice):
    (tmp_path / "t.csv").write_text(text)
    with pytest.warns(UserWarning, match="line 1 .* looks like a row") as found:
        open_source(tmp_path / "t.csv")
    assert advice in str(found[0].message)


@pytest.mark.parametrize("text", ["", "\n\n", " \n", "\n" * 30])
def test_a_file_without_rows_is_said_to_have_none(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(SourceError, match=r"t\.csv: expected (at least one row|rows of)"):
        open_source(tmp_path / "t.csv")


def test_a_blank_line_that_cannot_be_left_out_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("sep=;\n\na;b\n1;2\n")
    with pytest.raises(SourceError, match="line 2 is blank"):
        open_source(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "names",
    ["town,size", "0,1", "town,2024", "Where do you live now?,How old are you today?", "town,"],
)
def test_names_are_no_row(tmp_path, names):
    (tmp_path / "t.csv").write_text(f"{names}\n" + "Ulm,31\nBonn,45\n,\n" * 9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_source(tmp_path / "t.csv")
