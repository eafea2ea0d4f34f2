"""Whether dots and commas in numbers separate thousands, or stand before decimals."""

import warnings

import pytest

import evermix as em
from evermix.io.sources import SourceError, open_source
from evermix.io.sources.dialect import Writing, find_writing
from evermix.io.sources.strings import writings_of
from helpers.commands import evermix

SMALL = ["801", "867", "12", "5"] * 6


def read(path, lines, **options):
    path.write_text("\n".join([*lines, ""]))
    source = open_source(path, **options)
    (chunk,) = source.chunks(0, 1000)
    return source, chunk


@pytest.mark.parametrize(("decimal", "mark"), [(".", ","), (",", ".")])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_two_marks_in_a_number_separate_thousands(decimal, mark, delimiter):
    cells = [*SMALL, f"1{mark}063", f"2{mark}545{mark}198"]
    assert find_writing(cells, delimiter) == Writing(decimal, "")
    with_decimals = [*SMALL, *[f"1{mark}063"] * 9, f"1{mark}234{decimal}5"]
    assert find_writing(with_decimals, delimiter) == Writing(decimal, "")


def test_dots_of_thousands_are_read_so_in_files(tmp_path):
    cells = [*SMALL, "1.063", "2.545.198"]
    _, chunk = read(tmp_path / "t.csv", ["id,visits,size", *(f"r,{c},1.5" for c in cells)])
    assert chunk.X[-2:, 0].tolist() == [1063.0, 2545198.0]
    assert chunk.X[-1, 1] == 1.5


def test_decimal_commas_elsewhere_say_that_dots_separate_thousands(tmp_path, recwarn):
    cells = [*SMALL, "1.063"]
    lines = ["visits;price", *(f"{c};{i},5" for i, c in enumerate(cells))]
    source, chunk = read(tmp_path / "t.csv", lines)
    assert chunk.X[-1].tolist() == [1063.0, 24.5]
    assert source.decimals == {"visits": ",", "price": ","}
    assert not recwarn.list


def test_where_nothing_tells_there_is_a_warning_with_both_readings(tmp_path):
    lines = ["visits,word", *(f"{c},a" for c in [*SMALL, "1.063"])]
    with pytest.warns(UserWarning, match=r"'visits' .* 801 and 1\.063: .* thousands .* is 1063"):
        source, chunk = read(tmp_path / "t.csv", lines)
    assert chunk.X["visits"][-1] == 1.063
    with pytest.warns(UserWarning, match="the comma is taken for what stands before decimals"):
        _, chunk = read(tmp_path / "s.csv", ["a;b", *(f"{c};1" for c in [*SMALL, "1,063"])])
    assert chunk.X[-1, 0] == 1.063
    with warnings.catch_warnings():  # what was decided is not asked again
        warnings.simplefilter("error")
        read(tmp_path / "t.csv", lines, decimals=source.decimals)


@pytest.mark.parametrize(
    "cells",
    [
        [*SMALL, "1.063", "1.5"],
        [*SMALL, "0.063"],
        [*SMALL, "1.063", "1801"],
        ["1.063", "2.125", "13.500"],  # as programs round
        ["1.5", "2", "3"],
    ],
)
def test_decimals_of_programs_stay_decimals(cells, recwarn):
    found = writings_of({"a": cells}, typed=False)["a"]
    assert found == Writing(".", "") and not recwarn.list


def test_what_names_things_is_no_number():
    assert find_writing(["612 345 678", "612 345 679"]) is None
    assert find_writing(["+41 61 234 567", "+41 61 234 568"]) is None
    assert find_writing(["(1)", "(2)", "(3)"]) is None
    assert find_writing(["41 743", "52 300"]) == Writing(".", "")


def test_tables_of_python_know_it_too():
    visits = ["801", "867", "1.063", "2.545.198"] * 30
    town = ["Rome", "Oslo"] * 60
    mix = em.Mixture(random_state=0).fit({"visits": visits, "town": town})
    assert mix.written_["visits"] == Writing(",", "")
    written, number = (
        mix.predict_proba({"visits": [v], "town": ["Rome"]}) for v in ("1.063", 1063.0)
    )
    assert written.tolist() == number.tolist()


def test_later_files_are_read_as_the_model_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits = ["801", "867", "1.063", "2.545.198"] * 30
    (tmp_path / "all.csv").write_text(
        "visits,town\n" + "".join(f"{v},{'ab'[i % 2]}\n" for i, v in enumerate(visits))
    )
    evermix("fit", "all.csv", "--out", "o.jsonl", "--checkpoint", "m.evermix")
    for name, cell in (("one", "1.063"), ("two", "1063")):
        (tmp_path / f"{name}.csv").write_text(f"visits,town\n{cell},a\n")
        evermix("predict", "m.evermix", f"{name}.csv", "--out", f"{name}.jsonl")
    assert (tmp_path / "one.jsonl").read_text() == (tmp_path / "two.jsonl").read_text()


@pytest.mark.parametrize(
    "name",
    [
        lambda i: f"612 345 {200 + i}",
        lambda i: f"({i % 5})",
        lambda i: f"192.168.100.{101 + i}",
        lambda i: f"{1 + i}_{i % 3}",
        lambda i: f"{2001 + i}-",
        lambda i: ("EUR", "USD", "GBP")[i % 3] if i else "EUR 12",
    ],
    ids=["telephone", "grade", "address", "id", "hyphen", "currency"],
)
def test_names_that_look_like_numbers_stay_words_in_files(name, tmp_path):
    names = [name(i) for i in range(40)]
    _, chunk = read(tmp_path / "t.csv", ["name,size", *(f"{n},1.5" for n in names)])
    assert chunk.X["name"].tolist() == names


def test_a_hyphen_at_the_end_is_a_minus_among_others(tmp_path):
    _, chunk = read(tmp_path / "t.csv", ["a,b", "5-,1", "7,1", "8.5-,1"])
    assert chunk.X[:, 0].tolist() == [-5.0, 7.0, -8.5]


def test_a_sign_alone_is_missing_and_a_currency_alone_is_a_word(tmp_path):
    prices = [f"EUR {i}" for i in range(40)]
    _, chunk = read(tmp_path / "t.csv", ["a,b", *(f"{p},x" for p in [*prices, "$"])])
    assert chunk.X["a"][-1] is None
    with pytest.raises(SourceError, match="expected a number in column 'a', got 'EUR'"):
        read(tmp_path / "t.csv", ["a,b", *(f"{p},x" for p in [*prices, "EUR"])])
