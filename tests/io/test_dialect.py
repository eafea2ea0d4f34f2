"""Separated values as people write them: other delimiters, decimal commas, amounts."""

import gzip

import numpy as np
import pytest

from evermix.io.sources import SourceError, open_source
from evermix.io.sources.dialect import (
    agreed_unit,
    find_decimal,
    find_delimiter,
    find_writing,
    plain,
)


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
        (["1,2", "1,2,3"], ","),
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
    assert find_decimal([*points, "word"]) is None
    assert find_decimal([*points, "1,5"]) is None
    rows = [f"{i},5" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["a;b", *(f"{row};1" for row in rows), "word;1", ""]))
    with pytest.raises(SourceError, match="line 42: expected a number in column 'a', got 'word'"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("cell", "decimal", "number"),
    [
        ("$1,234.50", ".", "1234.50"),
        ("-$5", ".", "-5"),
        ("$-5.5", ".", "-5.5"),
        ("1,234", ".", "1234"),
        ("17.7%", ".", "17.7"),
        (" .5 % ", ".", ".5"),
        ("1.234.567,5 €", ",", "1234567.5"),
        ("1,234", ",", "1.234"),
        ("%", ".", ""),
        ("12,34", ".", "12,34"),
        ("1,2345.0", ".", "1,2345.0"),
        ("v1.5", ".", "v1.5"),
        ("2024-05-31", ".", "2024-05-31"),
        ("1e5", ".", "1e5"),
        ("0,125", ".", "0,125"),  # no thousands begin with a zero
        ("CHF 41743.19", ".", "41743.19"),
        ("41'743.19", ".", "41743.19"),
        ("1’041’743.19 CHF", ".", "1041743.19"),
        ("41 743,19", ",", "41743.19"),
        ("41\u00a0743,19\u00a0€", ",", "41743.19"),
        ("41\u202f743", ".", "41743"),
        ("R$ 41,743.19", ".", "41743.19"),
        ("120.50-", ".", "-120.50"),
        ("\u2212120.50", ".", "-120.50"),
        ("(3.48)", ".", "-3.48"),
        ("($1,003.48)", ".", "-1003.48"),
        ("-120.50-", ".", "--120.50"),
        ("1 2 3", ".", "1 2 3"),
        ("CHFS 5", ".", "CHFS 5"),
        ("(3.48) x", ".", "(3.48) x"),
    ],
)
def test_numbers_of_people(cell, decimal, number):
    assert plain(cell, decimal) == number


def test_amounts_and_percentages_are_numbers(tmp_path):
    rows = [f'r{i},"${1000 + i:,}.50",{i / 4}%,{"a" if i % 2 else "$"}{i}' for i in range(30)]
    rows[7] = "r7,$,%,$7"  # nothing but signs
    (tmp_path / "t.csv").write_text("\n".join(["id,amount,rate,code", *rows, ""]))
    source, chunk = read(tmp_path / "t.csv")
    assert source.kind == "table"
    assert chunk.X["amount"].tolist()[6:9] == [1006.5, None, 1008.5]
    assert chunk.X["rate"].tolist()[6:9] == [1.5, None, 2.0]
    assert chunk.X["code"].tolist()[6:8] == ["$6", "$7"]  # most have a letter
    _, chunk = read(tmp_path / "t.csv", category=("amount",), fields="text")
    assert chunk.X["amount"].tolist()[6] == chunk.fields[6]["amount"] == "$1,006.50"


def test_thousands_or_decimals_by_the_delimiter(tmp_path):
    (tmp_path / "a.csv").write_text('x,y\n"1,234",1\n"2,500",2\n')
    (tmp_path / "b.csv").write_text("x;y\n1,234;1\n2,500;2\n")
    for name, factor in (("a.csv", 1000.0), ("b.csv", 1.0)):
        source, chunk = read(tmp_path / name)
        assert source.kind == "vectors"
        np.testing.assert_allclose(chunk.X[:, 0], np.array([1.234, 2.5]) * factor)


def test_numbers_with_a_unit_are_numbers(tmp_path):
    rows = [f"{60 + i / 4} kg,{150 + i}cm,{i} {'kg' if i % 2 else 'g'},{i}A" for i in range(30)]
    rows[7] = ",157,7 g,7A"  # a gap, and a number without its unit
    (tmp_path / "t.csv").write_text("\n".join(["weight,height,mixed,seat", *rows, ""]))
    _, chunk = read(tmp_path / "t.csv")
    assert chunk.X["weight"].tolist()[6:9] == [61.5, None, 62.0]
    assert chunk.X["height"].tolist()[6:9] == [156.0, 157.0, 158.0]
    assert chunk.X["mixed"].tolist()[6:9] == ["6 g", "7 g", "8 g"]  # one unit, or none
    assert chunk.X["seat"].tolist()[6:8] == ["6A", "7A"]
    _, chunk = read(tmp_path / "t.csv", category=("weight",))
    assert chunk.X["weight"].tolist()[6] == "61.5 kg"


def test_another_unit_further_down_is_an_error(tmp_path):
    rows = [f"{1000 + i} kg,a" for i in range(1100)]
    rows[1050] = "900 lb,a"
    (tmp_path / "t.csv").write_text("\n".join(["weight,word", *rows, ""]))
    with pytest.raises(SourceError, match="expected a number in column 'weight', got '900 lb'"):
        read(tmp_path / "t.csv")


def test_units_with_separated_thousands_and_decimal_commas():
    assert find_writing(["1,234.5 km", "7 km"]).plain("1,234.5 km") == "1234.5"
    assert find_writing(["1,5 km", "7,25 km"], ";").plain("7,25 km") == "7.25"
    assert find_writing(["12 May", "13 June", "14 May"]) is None
    assert find_writing(["12", "13", "14 km"]) is None


@pytest.mark.parametrize(
    ("cells", "unit"),
    [
        (["5.1 kg", "7 kg"], "kg"),
        (["5.1kg", "7kg"], "#kg"),
        (["5 kg", "6kg", "7 kg"], "kg"),  # as most are written
        (["21.5°C", "3°C"], "#°C"),
        (["$5", "-$6.50", "$-7", "$"], "$#"),
        (["€ 5", "€ 6"], "€ #"),
        (["740 €", "7.50 €"], "€"),
        (["740€", "7.50€"], "#€"),
        (["17.7%", "3%", "2"], "#%"),
        (["$5", "6", "7"], ""),  # of most nothing is known
        (["$5", "€6"], "#"),
        (["1,234", "-  1,500"], ""),
        (["CHF 5", "CHF 6"], "CHF #"),
        (["5 CHF", "6 CHF"], "CHF"),
        (["R$ 5", "R$6", "R$ 7"], "R$ #"),
        (["(5 €)", "6 €"], "€"),
        (["41 743,19 km", "5 km"], "km"),
    ],
)
def test_units_and_signs_keep_their_place(cells, unit):
    assert find_writing(cells).unit == unit


def test_units_are_known_by_the_names_of_columns(tmp_path):
    rows = [f"${i}.50,{i}.5,{i}%" for i in range(1, 30)]
    for header, names in ((["a,b,c"], "abc"), ([], "012")):
        (tmp_path / "t.csv").write_text("\n".join([*header, *rows, ""]))
        source, chunk = read(tmp_path / "t.csv", kind="table")
        assert source.units == {names[0]: "$#", names[2]: "#%"}
        assert {name: w[:2] for name, w in chunk.X.written.items()} == {
            name: (".", source.units.get(name, "")) for name in names
        }
        assert set(source.units) < set(chunk.X)


def test_rows_with_other_signs_have_none_and_other_words_are_refused():
    assert agreed_unit("a", "", "$#") == agreed_unit("a", "$#", "") == "$#"
    assert agreed_unit("a", "$#", "# $") == "$#" and agreed_unit("a", "#kg", "kg") == "#kg"
    assert agreed_unit("a", "$#", "€") == agreed_unit("a", "#", "$#") == "#"
    assert agreed_unit("a", "$#", "kg") == agreed_unit("a", "kg", "$#") == "kg"
    with pytest.raises(ValueError, match="expected numbers in kg in column 'a'.*got lb"):
        agreed_unit("a", "#kg", "lb")
