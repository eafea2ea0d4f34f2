"""Columns of tables that tell nothing of clusters: without a value, numbers and ids of rows."""

import warnings

import numpy as np
import pytest

import evermix as em
from helpers.commands import evermix
from helpers.tables import library

N = 120


def table(seed=0, n=N):
    """Return a table of two clusters."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, size=n)
    size = np.round(60 + 25 * z + rng.normal(size=n), 3)
    return {"size": size.tolist(), "town": ["Oslo" if one else "Rome" for one in z]}


def write(path, columns):
    """Write a CSV file."""
    rows = zip(*columns.values(), strict=True)
    lines = [",".join("" if v is None else str(v) for v in row) for row in rows]
    path.write_text("\n".join([",".join(columns), *lines, ""]))
    return path.name


@pytest.mark.parametrize("nothing", [None, "", " "])
@pytest.mark.parametrize("name", ["dict", "pandas", "polars", "arrow"])
def test_an_empty_column_is_ignored_with_a_warning(name, nothing):
    make = library(name)
    plain, empty = make(table()), make(table() | {"note": [nothing] * N})
    with pytest.warns(UserWarning, match="'note' holds no value in any row: it is ignored"):
        mix = em.Mixture(random_state=0).fit(empty)
    np.testing.assert_array_equal(mix.labels_, em.Mixture(random_state=0).fit(plain).labels_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(mix.predict(empty), mix.predict(plain))
        mix.predict(make(table() | {"note": ["late"] * N}))


def test_a_stream_ignores_a_column_that_is_empty_for_long():
    empty = table() | {"note": [None] * N}
    with pytest.warns(UserWarning, match="'note'"):
        mix = em.Mixture(random_state=0).partial_fit(empty)
    mix.partial_fit(table(seed=1) | {"note": ["late"] * N})
    first = {name: values[:5] for name, values in empty.items()}
    short = em.Mixture(random_state=0).partial_fit(first)
    assert "note" in short.feature_names_in_  # which may still get values


def test_columns_beyond_the_first_few_are_counted():
    empty = {f"n{j}": [None] * N for j in range(12)}
    with pytest.warns(UserWarning, match="'n6', 'n7' and 4 more hold no value in any row"):
        em.Mixture(random_state=0).fit(table() | empty)


def test_a_table_without_values_is_refused():
    with pytest.raises(ValueError, match=r"any column of the table \('a', 'b'\)"):
        em.Mixture().fit({"a": [None] * 20, "b": [np.nan] * 20})
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"no row has a value in column 1\. Leave it out"):
        em.Mixture().fit(X)
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match=r"no row has a value in columns 1, 2\. Leave them out"):
        em.Mixture().fit(X)


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("command", ["fit", "stream"])
def test_empty_columns_of_files(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv", table() | {"note": [None] * N})
    said = evermix(command, "t.csv", "--out", "o.jsonl", "--checkpoint", "m.evermix").stderr
    assert "'note' holds no value in any row: it is ignored" in " ".join(said.split())
    evermix("predict", "m.evermix", "t.csv", "--out", "p.jsonl")
    assert len((tmp_path / "p.jsonl").read_text().splitlines()) == N


def ids(name, seed=0):
    """Return ids as they are in tables: long ones, or numbers of rows."""
    rng = np.random.default_rng(seed)
    long = 10**9 + rng.choice(10**6, size=N, replace=False)
    return {"customer_id": long, "row": np.arange(1, N + 1)}[name].tolist()


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("column", ["customer_id", "row"])
def test_ids_are_ignored_beside_numbers_alone(column, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = {"size": table()["size"], "width": np.random.default_rng(1).normal(size=N).tolist()}
    with pytest.warns(UserWarning, match=f"'{column}' holds another number in every row"):
        mix = em.Mixture(random_state=0).fit({column: ids(column)} | x)
    assert list(mix.feature_names_in_) == ["size", "width"]
    name = write(tmp_path / "t.csv", {column: ids(column)} | x)
    write(tmp_path / "some.csv", {column: [7, 7], "size": [60, 85], "width": [0, 0]})
    write(tmp_path / "plain.csv", x)
    for source in (name, "plain.csv"):
        out = f"{source}.jsonl", f"{source}.evermix"
        evermix("fit", source, "--out", out[0], "--checkpoint", out[1])
    assert (tmp_path / "t.csv.jsonl").read_text() == (tmp_path / "plain.csv.jsonl").read_text()
    evermix("predict", "t.csv.evermix", "some.csv", "--out", "p.jsonl")
    both = evermix("fit", "t.csv", "some.csv", "--out", "q.jsonl").stderr
    assert f"'{column}' holds another number in every row" in " ".join(both.split())


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(("column", "rows"), [("nr", N), ("ticket", N), ("nr", 3)])
def test_ids_that_the_fit_has_ignored_are_not_named_again(
    kind, column, rows, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    x = {"size": table()["size"], "width": np.random.default_rng(1).normal(size=N).tolist()}

    def file(name, columns):
        if kind == "csv":
            return write(tmp_path / f"{name}.csv", columns)
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), f"{name}.parquet")
        return f"{name}.parquet"

    first = file("first", {column: list(range(N))} | x)
    evermix("fit", first, "--out", "o.jsonl", "--checkpoint", "m.evermix")
    some = {name: values[:rows] for name, values in x.items()}
    for more, unknown in (
        ({}, ""),
        ({"shoe": [9.5] * rows}, "'shoe'"),
        ({"word": ["a"] * rows}, "'word'"),
    ):
        later = file("later", {column: list(range(500, 500 + rows))} | some | more)
        said = evermix("predict", "m.evermix", later, "--out", f"p{unknown}.jsonl").stderr
        assert f"'{column}'" not in said
        assert ("does not know the columns " + unknown in said) == bool(unknown)


def test_measurements_that_are_all_different_stay():
    from evermix.io.sources.row_numbers import are_row_numbers

    amounts = np.arange(200.0) ** 2
    for name in ("amount", "paid", "grid", "price_index", "house_number", "video", "MAXID"):
        assert not are_row_numbers(name, amounts)
    for name in ("id", "ID", "customer_id", "customerId", "Order-Nr", "row_no", "index"):
        assert are_row_numbers(name, amounts)
    assert not are_row_numbers("id", amounts / 7)
    assert not are_row_numbers("id", np.append(amounts, 4.0))
    assert not are_row_numbers("year", np.arange(1900.0, 2020.0))
    assert are_row_numbers("ticket", np.arange(50_001.0, 50_201.0)[::-1])
    assert not are_row_numbers("year", np.repeat(np.arange(1990.0, 2020.0), 3))
    X = np.column_stack([amounts, np.arange(200.0)])
    assert em.Mixture(em.DiagonalGaussian()).fit(X).n_features_in_ == 2


@pytest.mark.filterwarnings("always")
def test_a_stream_goes_on_without_the_ids_of_its_first_file(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    x = {"size": table()["size"], "width": np.random.default_rng(1).normal(size=N).tolist()}
    parquet.write_table(pyarrow.table({"customer_id": ids("customer_id")} | x), "a.parquet")
    write(tmp_path / "b.csv", {"customer_id": [7, 7], "size": [60, 85], "width": [0, 0]})
    stream = "--out", "o.jsonl", "--checkpoint", "m.evermix"
    said = evermix("stream", "a.parquet", *stream).stderr
    assert "'customer_id' holds another number in every row" in " ".join(said.split())
    evermix("stream", "b.csv", *stream, "--resume")
    assert em.load("m.evermix").n_features_in_ == 2
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == N + 2


def test_texts_are_no_names():
    """They are ignored too, but the advice is to count their words."""
    rng = np.random.default_rng(0)
    words = np.array("the bus was late again please refund my ticket".split())
    texts = [" ".join(rng.choice(words, 8)) for _ in range(200)]
    codes = [f"C{i}" for i in range(200)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        em.Mixture().fit({"body": texts, "code": codes, "x": rng.normal(size=200)})
    one, two = sorted(str(each.message) for each in said)
    assert one.startswith("column 'body' holds texts: it is ignored. To cluster rows by such texts")
    assert two.startswith("column 'code' holds too many different words")


@pytest.mark.parametrize("days", ["datetime64[D]", "words"])
def test_ids_and_dates_alone_tell_nothing(days):
    dates = np.datetime64("2024-01-01") + np.arange(300) // 3
    columns = {"claim_id": np.arange(1, 301), "on": dates if days != "words" else dates.astype(str)}
    with pytest.raises(ValueError, match="no column .* tells of clusters: 'claim_id', 'on' hold"):
        em.Mixture().fit(columns)
