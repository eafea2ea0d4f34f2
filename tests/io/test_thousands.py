"""Whether dots and commas in numbers separate thousands, or stand before decimals."""

import json
import warnings

import numpy as np
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


def test_decimal_commas_elsewhere_say_that_dots_separate_thousands(tmp_path):
    cells = [*SMALL, "1.063"]
    lines = ["visits;price", *(f"{c};{i},5" for i, c in enumerate(cells))]
    with pytest.warns(UserWarning, match=r"801 and 1\.063: .* separate thousands \(1\.063 is 1063"):
        source, chunk = read(tmp_path / "t.csv", lines)
    assert chunk.X[-1].tolist() == [1063.0, 24.5]
    assert source.decimals == {"visits": ",", "price": ","}
    assert source.unsure == {"visits"}


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
    assert found[:2] == (".", "") and not recwarn.list


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


def lines_of(**columns):
    """Return the lines of a table with semicolons."""
    rows = zip(*columns.values(), strict=True)
    return [";".join(row) for row in [tuple(columns), *rows]]


PRICES = [f"{i},57" for i in range(30)]


def test_coordinates_beside_decimal_commas_stay_decimals_with_a_warning(tmp_path):
    lat = [f"52.{780 + i}" for i in range(30)]
    with pytest.warns(UserWarning, match=r"'lat' .* 52\.780: the dot is taken for .* is 52780"):
        source, chunk = read(tmp_path / "t.csv", lines_of(lat=lat, price=PRICES))
    assert chunk.X[0].tolist() == [52.78, 0.57]
    with warnings.catch_warnings():  # later files are read so too, and not asked about again
        warnings.simplefilter("error")
        _, chunk = read(
            tmp_path / "u.csv",
            lines_of(lat=lat, price=PRICES),
            decimals=source.decimals,
            unsure=source.unsure,
        )
    assert chunk.X[0, 0] == 52.78


@pytest.mark.parametrize("option", ["features", "numbers"])
def test_learnt_columns_of_which_no_mark_is_known_stay_decimals(tmp_path, option):
    lines = lines_of(size=[*SMALL, "1.063"], price=PRICES[:25])
    with pytest.warns(UserWarning, match=r"'size' .* for what stands before decimals"):
        _, chunk = read(tmp_path / "t.csv", lines, **{option: ("size", "price")})
    assert chunk.X[-1, 0] == 1.063
    with pytest.warns(UserWarning, match="to separate thousands"):
        _, chunk = read(tmp_path / "t.csv", lines)
    assert chunk.X[-1, 0] == 1063.0


def test_a_file_that_is_written_otherwise_than_the_rows_before_is_refused(tmp_path):
    german = lines_of(size=["1.985,5"] * 30, price=PRICES)
    english = ["size,price", *['"1,985",60.10'] * 3]
    source, _ = read(tmp_path / "de.csv", german)
    with pytest.raises(SourceError, match=r"en\.csv: .* with ',' .* got '\.' in column 'price'"):
        read(tmp_path / "en.csv", english, decimals=source.decimals)
    sure = ["size,price", *['"1,985.5",60.10'] * 3]
    _, chunk = read(tmp_path / "en.csv", sure, decimals=source.decimals)
    assert chunk.X[0].tolist() == [1985.5, 60.1]
    _, chunk = read(
        tmp_path / "one.csv", lines_of(size=["1.985"], price=["1,5"]), decimals=source.decimals
    )
    assert chunk.X[0].tolist() == [1985.0, 1.5]


def test_new_columns_that_are_written_otherwise_than_the_rows_before_are_a_warning(tmp_path):
    lines = ["size,new", *["6.070,1.5", "801,2.5"] * 9]
    with pytest.warns(UserWarning, match=r"'size' .* to separate thousands \(6\.070 is 6070\)"):
        _, chunk = read(tmp_path / "t.csv", lines, decimals={"size": ","})
    assert chunk.X[0].tolist() == [6070.0, 1.5]


def test_one_column_has_one_scale_in_all_files(tmp_path):
    opened = [f"{138 + i}.682" for i in range(30)]
    shown = [f"{i + 1}.188.549" for i in range(30)]
    for name, cells in (("a", opened), ("b", shown)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines_of(size=cells, price=["7"] * 30)))
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    with pytest.raises(SourceError, match=r"b\.csv: .*'size' .* got '.*\.188\.549'.*first\.$"):
        open_source([first, second])
    (chunk,) = open_source([second, first]).chunks(0, 100)
    assert chunk.X[[0, 30], 0].tolist() == [1188549.0, 138682.0]


def test_one_column_has_one_scale_in_all_batches(tmp_path):
    town = ["Rome", "Oslo"] * 30
    first = [f"{138 + i}.682" for i in range(60)]
    second = [f"{i + 1}.188.549" for i in range(60)]
    mix = em.Mixture(random_state=0).partial_fit({"size": first, "town": town})
    mix.save(tmp_path / "m.evermix")
    for one in (mix, em.load(tmp_path / "m.evermix")):
        with pytest.raises(
            ValueError, match=r"'size' with '\.' before decimals.* got '10\.188\.549'"
        ):
            one.partial_fit({"size": second, "town": town})
        assert one.predict({"size": first, "town": town}).shape == (60,)
    decimals = ["138.5", "150.25"] * 30  # which shows that the dot stands before decimals
    mix.partial_fit({"size": decimals, "town": town})
    assert mix.written_["size"] == Writing(".", "")


def test_models_that_read_a_column_in_two_ways_are_not_merged():
    kinds = em.Mixed({"size": em.Gaussian()})
    first = em.Mixture(kinds, random_state=0).fit({"size": [f"{138 + i}.682" for i in range(60)]})
    second = em.Mixture(first.model_.family, random_state=0)
    second.fit({"size": [f"{i + 1}.188.549" for i in range(60)]})
    with pytest.raises(ValueError, match="numbers of column 'size' in the same way"):
        em.merge([first, second])


@pytest.mark.parametrize("cell", ["52.5", "1.2345", "0.125"])
def test_a_cell_that_is_not_written_as_its_column_spoils_its_row(cell, tmp_path):
    lines = lines_of(size=[*(f"{i + 1}.234.567" for i in range(29)), cell], price=PRICES)
    with pytest.raises(SourceError, match=f"line 31: .*'size', got '{cell}'. .* decimal commas"):
        read(tmp_path / "t.csv", lines)
    source, chunk = read(tmp_path / "t.csv", lines, skip_bad=True)
    assert len(chunk.ids) == 29 and source.bad == 1
    sizes = [*(f"{i + 1}.234.567" for i in range(29)), cell]
    with pytest.raises(
        ValueError, match=f"'size' must hold numbers, got '{cell}'.* decimal commas"
    ):
        em.Mixture().fit({"size": sizes, "price": list(range(30))})


def test_files_without_a_mark_do_not_forget_it(tmp_path):
    for name, cells in (("a", ["1.234,5"]), ("b", ["7 €"]), ("c", ["1.234"])):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines_of(size=cells * 9, price=["1"] * 9)))
    (chunk,) = open_source([tmp_path / f"{name}.csv" for name in "abc"]).chunks(0, 100)
    assert chunk.X[[0, 9, 18], 0].tolist() == [1234.5, 7.0, 1234.0]


def test_a_word_among_numbers_does_not_hide_that_they_are_open():
    with pytest.warns(UserWarning, match="801 and 1.063"):
        writings_of({"a": [*SMALL, "1.063", "n.v.t."]}, typed=False)


def test_strings_after_numbers_of_python_stay_decimals():
    sizes, prices = [i / 8 for i in range(60)], [i / 4 for i in range(60)]
    mix = em.Mixture(random_state=0).fit({"size": sizes, "price": prices})
    with pytest.warns(UserWarning, match=r"'size' .* for what stands before decimals"):
        written = mix.predict_proba({"size": ["1.063", "5"], "price": ["0,57", "1,5"]})
    plain = mix.predict_proba({"size": [1.063, 5.0], "price": [0.57, 1.5]})
    assert written.tolist() == plain.tolist()


LATE = {  # numbers that come after 2,000 others, and how the column is written
    "thousands": ("1.397", ",", 1397.0),
    "millions": ("1.122.500", ",", 1122500.0),
    "decimals": ("105,5", ",", 105.5),
}


@pytest.mark.filterwarnings("ignore:column 'size' holds numbers such as")
@pytest.mark.parametrize("form", LATE)
@pytest.mark.parametrize("packed", ["csv", "jsonl", "parquet", "Python"])
def test_rows_that_come_late_tell_how_numbers_are_written_too(tmp_path, form, packed):
    cell, decimal, number = LATE[form]
    before = ["344.000", "217.500"] if form == "millions" else ["801", "12"]
    cells = [*before * 1000, cell, *before * 1000]
    columns = {"size": cells, "price": [f"{i % 50},5" for i in range(len(cells))]}
    if packed == "csv":
        path, rows = tmp_path / "t.csv", zip(*columns.values(), strict=True)
        path.write_text("\n".join(["size;price", *map(";".join, rows), ""]))
    if packed == "jsonl":
        path, rows = tmp_path / "t.jsonl", zip(*columns.values(), strict=True)
        path.write_text("".join(json.dumps({"size": a, "price": b}) + "\n" for a, b in rows))
    if packed == "parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "t.parquet"
        parquet.write_table(arrow.table(columns), path)
    if packed == "Python":
        assert writings_of(columns)["size"].decimal == decimal
        return
    source = open_source(path, kind="table" if packed == "jsonl" else None)
    (chunk,) = source.chunks(0, len(cells))
    X = chunk.X if isinstance(chunk.X, np.ndarray) else np.column_stack(list(chunk.X.values()))
    assert X[2000].tolist() == [number, 0.5]
    assert X[0, 0] == (344000 if form == "millions" else 801)
    assert source.decimals["size"] == decimal


def test_the_order_of_rows_does_not_change_how_numbers_are_written():
    cells = [*map(str, range(300, 1000)), *(f"1.{i:03d}" for i in range(500))]
    other = [f"{i % 30},5" for i in range(len(cells))]
    with pytest.warns(UserWarning, match="separate thousands"):
        up = writings_of({"a": cells, "b": other}, typed=False)
    with pytest.warns(UserWarning, match="separate thousands"):
        down = writings_of({"a": cells[::-1], "b": other}, typed=False)
    assert up == down and up["a"].decimal == ","


def test_words_that_come_late_do_not_make_a_column_of_numbers_one_of_words():
    cells = [str(i % 90) for i in range(1, 3000)]
    late = [f"{i}.5.2024" for i in range(9)] + ["n/a, later"]
    assert writings_of({"a": cells + late}, typed=False)["a"] is not None
