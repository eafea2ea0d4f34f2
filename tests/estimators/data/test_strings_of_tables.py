"""Strings in tables of Python that are numbers as people write them."""

import warnings

import numpy as np
import pytest

import evermix as em
from evermix.estimators.data.written import Reading
from evermix.io.sources import open_source
from evermix.io.sources.dialect import Writing
from evermix.io.sources.strings import read_number, writings_of
from helpers.commands import evermix
from helpers.tables import library

N = 120


def tables(n=N, seed=0):
    """Return the same table twice, with numbers and as people write them."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, size=n)
    weight = np.round(60 + 25 * z + rng.normal(size=n), 1)
    price = np.round(800 + 900 * z + 60 * rng.normal(size=n), 2)
    share = np.round(20 + 30 * z + rng.normal(size=n), 1)
    height = np.round(1.6 + 0.3 * z + 0.02 * rng.normal(size=n), 3)
    words = {"city": ["Oslo" if one else "Rome" for one in z], "code": [str(90210 + k) for k in z]}
    numbers = {"weight": weight, "price": price, "share": share, "height": height}
    plain = {name: values.tolist() for name, values in numbers.items()} | words
    written = {
        "weight": [f"{w} kg" for w in weight.tolist()],
        "price": [f"${p:,.2f}" for p in price.tolist()],
        "share": [f"{s}%" for s in share.tolist()],
        "height": [str(h) for h in height.tolist()],
    }
    for name, missing in {"weight": "n/a", "price": "-", "share": None}.items():
        plain[name][3], written[name][3] = None, missing
    return plain, written | words


@pytest.mark.parametrize("name", ["dict", "pandas", "polars", "arrow"])
def test_written_numbers_are_those_of_plain_tables(name):
    make, (plain, written) = library(name), tables()
    one = em.Mixture(random_state=0).fit(make(plain))
    other = em.Mixture(random_state=0).fit(make(written))
    assert other.written_ == {
        "weight": Writing(".", "kg"),
        "price": Writing(".", "$#"),
        "share": Writing(".", "#%"),
        "height": Writing(".", ""),
    }
    assert other.levels_ == one.levels_ and set(other.levels_) == {"city", "code"}
    assert repr(other.model_.family) == repr(one.model_.family)
    np.testing.assert_array_equal(other.labels_, one.labels_)
    for table in (make(plain), make(written)):
        np.testing.assert_array_equal(other.predict_proba(table), one.predict_proba(make(plain)))
    assert not hasattr(one, "written_")


def test_a_frame_of_written_numbers_alone_is_an_array():
    pandas = pytest.importorskip("pandas")
    plain, written = (
        pandas.DataFrame({name: table[name][4:] for name in ("weight", "price")})
        for table in tables()
    )
    one, other = em.Mixture(random_state=0).fit(plain), em.Mixture(random_state=0).fit(written)
    assert type(one.model_.family) is type(other.model_.family)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(other.predict(written), one.predict(plain))
    given = em.Mixture(em.Gaussian(), random_state=0).fit(written)
    np.testing.assert_array_equal(
        given.labels_, em.Mixture(em.Gaussian(), random_state=0).fit(plain).labels_
    )
    axes = em.plot.clusters(other, written)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("weight (kg)", "price ($)")
    written.loc[0, "price"] = "a lot"
    with pytest.raises(ValueError, match=r"'price' must hold numbers, got 'a lot' in row 0"):
        other.predict(written)


def test_streams_and_files_keep_the_unit(tmp_path):
    whole, parts = em.Mixture(random_state=0), em.Mixture(random_state=0)
    for seed in range(3):
        plain, written = tables(seed=seed)
        whole.partial_fit(plain)
        parts.partial_fit(written)
        parts.save(tmp_path / "m.evermix")
        parts = em.load(tmp_path / "m.evermix")
    np.testing.assert_array_equal(whole.predict_proba(plain), parts.predict_proba(written))
    assert parts.written_["weight"] == Writing(".", "kg")
    pounds = written | {"weight": ["134 lb"] * N}
    for learn in (parts.predict, parts.partial_fit, parts.impute):
        with pytest.raises(ValueError, match="expected numbers in kg in column 'weight'.* got lb"):
            learn(pounds)
    one = {name: values[:1] for name, values in written.items()}
    with pytest.raises(ValueError, match="got lb"):
        parts.predict(one | {"weight": ["134 lb"]})
    with pytest.raises(ValueError, match="got '134 lb' in row 1. Numbers of this column are in kg"):
        parts.predict(
            {n: v[:40] for n, v in written.items()}
            | {"weight": ["61 kg", "134 lb", *["62 kg"] * 38]}
        )
    again = em.Mixture(random_state=0).fit(pounds | {"weight": plain["weight"]})
    assert "weight" not in again.written_
    parts.fit(np.random.default_rng(0).normal(size=(30, 2)))
    assert not hasattr(parts, "written_")


def test_bare_numbers_and_a_unit_that_comes_later():
    _, written = tables()
    bare = written | {"weight": [w.removesuffix(" kg") for w in written["weight"]]}
    mix = em.Mixture(random_state=0).partial_fit(bare)
    assert mix.written_["weight"].unit == ""
    mix.partial_fit(written)
    assert mix.written_["weight"].unit == "kg"
    mix.predict(bare)
    with pytest.raises(ValueError, match="got lb"):
        mix.predict(written | {"weight": ["134 lb"] * N})


def test_decimal_commas_are_kept():
    _, written = tables()
    commas = written | {"price": [f"{k},{k % 90 + 10} €" for k in range(N)]}
    mix = em.Mixture(random_state=0).fit(commas)
    assert mix.written_["price"] == Writing(",", "€")
    one = {name: values[:1] for name, values in written.items()}
    thousands, point = one | {"price": ["1.234"]}, one | {"price": [1234.0]}
    np.testing.assert_array_equal(mix.predict_proba(thousands), mix.predict_proba(point))
    other = one | {"price": ["$12.75"]}  # which cannot be read with a decimal comma
    np.testing.assert_array_equal(
        mix.predict_proba(other), mix.predict_proba(one | {"price": [12.75]})
    )


def test_few_different_numbers_with_a_unit_are_levels_in_all_batches():
    rng = np.random.default_rng(0)
    rooms, size = rng.integers(1, 4, size=200), rng.normal(size=200)
    first = {"rooms": [f"{k} rooms" for k in rooms], "size": size.tolist()}
    mix = em.Mixture(random_state=0).partial_fit(first).partial_fit(first)
    assert sorted(mix.levels_["rooms"]) == [1, 2, 3]


def test_categories_names_and_texts_stay_words():
    _, written = tables()
    words = {
        "grade": [f"{'ABC'[k % 3]}{k % 2}" for k in range(N)],
        "size": [("5 kg", "10 lb", "3 oz")[k % 3] for k in range(N)],
        "zip": [("01234", "90210", "10115")[k % 3] for k in range(N)],
        "version": [("1.2.3", "2.0.1", "10.0.0")[k % 3] for k in range(N)],
        "note": [("see 5 kg", "about $3", "none of 7")[k % 3] for k in range(N)],
    }
    mix = em.Mixture(random_state=0).fit(written | words)
    assert words.keys() <= mix.levels_.keys()
    assert not words.keys() & mix.written_.keys()


def test_columns_that_are_said_to_be_categories_stay_words():
    pandas = pytest.importorskip("pandas")
    _, written = tables()
    few = {"weight": [f"{60 + k % 3} kg" for k in range(N)], "city": written["city"]}
    kinds = em.Mixed({"weight": em.Categorical(), "city": em.Categorical()})
    assert em.Mixture(kinds).fit(few).levels_["weight"] == ["60 kg", "61 kg", "62 kg"]
    frame = pandas.DataFrame(few).astype({"weight": "category"})
    assert em.Mixture().fit(frame).levels_["weight"] == ["60 kg", "61 kg", "62 kg"]
    numbers = em.Mixed({"weight": em.Gaussian(), "city": em.Categorical()})
    assert em.Mixture(numbers).fit(few).written_ == {"weight": Writing(".", "kg")}


def test_chunks_and_merged_models():
    _, written = tables()
    kinds = em.Mixed({"weight": em.Gaussian(), "city": em.Categorical()}, ignored=["id"])
    some = {"weight": written["weight"], "city": written["city"]}
    halves = [{n: v[i : i + 60] for n, v in some.items()} for i in (0, 60)]
    chunked = em.Mixture(kinds, random_state=0).fit(em.Chunks(lambda: iter(halves)))
    np.testing.assert_array_equal(
        chunked.labels_, em.Mixture(kinds, random_state=0).fit(some).labels_
    )
    first = em.Mixture(kinds, random_state=0).fit(halves[0])
    second = em.Mixture(first.model_.family, random_state=0).fit(halves[1])
    assert em.merge([first, second]).written_ == {"weight": Writing(".", "kg")}
    pounds = {n: [w.replace("kg", "lb") for w in v] for n, v in halves[1].items()}
    third = em.Mixture(first.model_.family, random_state=0).fit(pounds)
    with pytest.raises(ValueError, match="expected numbers in kg in column 'weight'"):
        em.merge([first, third])


def test_numbers_among_strings_and_stray_words():
    _, written = tables()
    mixed = written | {"weight": [61.5, *written["weight"][1:]]}
    assert em.Mixture(random_state=0).fit(mixed).written_["weight"].unit == "kg"
    stray = written | {"weight": ["heavy", *written["weight"][1:]]}
    with pytest.raises(ValueError, match=r"got 'heavy' in row 0. Replace such a value by None"):
        em.Mixture().fit(stray)


def test_the_command_line_and_python_know_the_units_of_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, written = tables()
    lines = zip(written["weight"], written["city"], strict=True)
    text = "weight,city\n" + "".join(f"{w},{c}\n" for w, c in lines)
    (tmp_path / "kg.csv").write_text(text)
    (tmp_path / "lb.csv").write_text(text.replace(" kg", " lb"))
    evermix("fit", "kg.csv", "--out", "o.jsonl", "--checkpoint", "cli.evermix")
    with pytest.raises(ValueError, match="expected numbers in kg"):
        em.load("cli.evermix").predict({"weight": ["134 lb"], "city": ["Rome"]})
    some = {name: written[name] for name in ("weight", "city")}
    em.Mixture().fit(some).save("python.evermix")
    evermix("predict", "python.evermix", "kg.csv", "--out", "p.jsonl")
    said = evermix("predict", "python.evermix", "lb.csv", "--out", "q.jsonl", status=1).stderr
    assert "expected numbers in kg" in " ".join(said.split())


def test_a_file_that_was_edited_is_refused(tmp_path):
    from evermix.estimators.data.written import from_spec

    for spec in ([], {"weight": "kg"}, {"weight": [";", "kg"]}, {"weight": [".", 3]}):
        with pytest.raises(ValueError, match="does not say how numbers"):
            from_spec(spec)


def test_tables_of_numbers_are_not_copied():
    pandas = pytest.importorskip("pandas")

    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [1, 2]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, written = Reading.by(None, None, {})(frame)
    assert found is frame and written == {}
    columns = {"a": [1.0, None], "b": np.array([True, False])}
    assert Reading.by(None, None, {})(columns)[0] is columns


@pytest.mark.parametrize("form", ["{:.3e}", "{:.2E}", "{:.0e}", "{!r}"])
def test_numbers_with_exponents_are_numbers_as_in_a_file(form, tmp_path):
    numbers = np.random.default_rng(0).lognormal(-8, 8, size=N).tolist()
    cells = [form.format(x) for x in numbers]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *(f"{cell},a" for cell in cells), ""]))
    (chunk,) = open_source(tmp_path / "t.csv", kind="table").chunks(0, N)
    table, written = Reading.by(None, None, {})({"x": cells})
    assert table["x"].tolist() == chunk.X["x"].tolist() == list(map(float, cells))
    assert written == {"x": Writing(".", "")}
    names = [f"{x}e{x}" for x in range(10, 60)]  # with neither a point nor a sign
    assert writings_of({"code": names}) == {"code": None}


def test_how_strings_are_written():
    columns = [["33.53", "12.10", "7"], ["33", "12"], ["01.5", "007", "012"], [], ["n/a", "-"]]
    found = writings_of(dict(zip("abcde", columns, strict=True)))
    assert found == {"a": Writing(".", "")} | dict.fromkeys("bcde")
    assert read_number("$", Writing(".", "")) is None
    with pytest.raises(ValueError, match="expected a number"):
        read_number("heavy", Writing(".", ""))


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_a_word_in_a_column_of_numbers_has_its_line(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sizes = [f"{i}.5" if i % 8 else "many" for i in range(1, 121)]
    rows = "".join(f'{size},"to\nwn"\n' for size in sizes)
    (tmp_path / "t.csv").write_text(f"size,town\n{rows}")
    said = " ".join(evermix(command, "t.csv", "--out", "o.jsonl", status=1).stderr.split())
    assert "t.csv: line 17: column 'size' must hold numbers, got 'many'" in said
