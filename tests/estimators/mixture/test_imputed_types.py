"""Tables whose holes are filled keep what was seen, and the types of their columns."""

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import evermix as em

N = 120
HOLES = {"visits": 3, "member": 4, "plan": 5, "weight": 6, "town": 7}  # a row in so many
TYPES = {
    "visits": ["Int64", "UInt8", "int32[pyarrow]", "float64"],
    "member": ["boolean", "bool[pyarrow]"],
    "plan": ["category", "string", "object"],
    "weight": ["float32", "Float64", "double[pyarrow]"],
    "town": ["category"],
}


def made():
    """Two clusters; whole numbers, weights, yes and no, and words."""
    rng = np.random.default_rng(0)
    z = np.arange(N) % 2
    return pd.DataFrame(
        {
            "id": [f"T{i}" for i in range(N)],
            "visits": rng.poisson(20 + 200 * z).clip(0, 255),
            "member": rng.random(N) < np.array([0.1, 0.9])[z],
            "plan": np.array(["basic", "gold"])[z],
            "weight": rng.normal(60 + 20 * z, 2.0),
            "age": rng.integers(20, 30, N) + 40 * z,
            "town": np.array(["Rome", "Bonn"])[z],
            5: pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9, N), unit="D"),
        }
    )


@pytest.fixture(scope="module")
def model():
    table = made().drop(columns=["id", 5])
    for name, every in HOLES.items():
        table[name] = table[name].astype(object).where(np.arange(N) % every > 0, None)
    return em.Mixture(random_state=0).fit(table)


def holed(name, kind):
    table = made()
    table[name] = table[name].astype(kind)
    table.loc[np.arange(N) % HOLES[name] == 0, name] = None
    table["town"] = table["town"].astype("category")
    return table


def filled(model, table, **settings):
    with pytest.warns(UserWarning, match="'id'"):
        return model.impute(table, **settings)


@pytest.mark.parametrize("draw", [False, True])
@pytest.mark.parametrize(("name", "kind"), [(n, kind) for n in TYPES for kind in TYPES[n]])
def test_columns_of_pandas_keep_their_types(model, name, kind, draw):
    table = holed(name, kind)
    before = table.copy()
    full = filled(model, table, draw=draw)
    pd.testing.assert_frame_equal(table, before)
    assert not full.isna().any().any()
    pd.testing.assert_series_equal(full.dtypes, table.dtypes)
    seen = table[name].notna()
    pd.testing.assert_frame_equal(full[seen], table[seen])
    others = table.columns.drop(name)
    pd.testing.assert_frame_equal(full[others], table[others])
    if not draw:
        error = full[name].astype(str) == made()[name].astype(str)
        assert name in ("visits", "weight") or error[~seen].mean() > 0.8


def test_what_a_result_holds_can_be_changed_alone(model):
    table = holed("visits", "Int64")
    full = filled(model, table)
    full.loc[0, "age"] = 99
    assert table.loc[0, "age"] != 99


def test_a_category_gets_words_that_it_did_not_have(model):
    table = holed("plan", "category")
    table["plan"] = table["plan"].cat.remove_categories(["gold"])
    full = filled(model, table)
    assert list(full["plan"].cat.categories) == ["basic", "gold"]
    assert not full["plan"].isna().any()


def test_columns_of_arrow_and_dicts_keep_their_types(model):
    table = made().drop(columns=5)
    for name, kind in {"visits": "Int64", "member": "boolean", "plan": "object"}.items():
        table[name] = holed(name, kind)[name]
    given = pa.Table.from_pandas(table, preserve_index=False)
    words = given["plan"].combine_chunks().dictionary_encode()
    given = given.set_column(given.column_names.index("plan"), "plan", words)
    full = filled(model, given)
    assert full.schema.types == given.schema.types
    assert full["id"] == given["id"] and not any(column.null_count for column in full.columns)
    for name in ("visits", "member", "plan"):
        pairs = zip(full[name].to_pylist(), given[name].to_pylist(), strict=True)
        assert all(new == old for new, old in pairs if old is not None)

    columns = {"age": table["age"].to_numpy(), "weight": table["weight"].to_numpy("float32")}
    columns["weight"][::4] = np.nan
    columns["plan"] = table["plan"].tolist()
    with pytest.warns(UserWarning, match="lacks the columns"):
        full = model.impute(columns)
    assert full["age"].dtype == columns["age"].dtype and full["weight"].dtype == np.float32
    assert all(new == old for new, old in zip(full["plan"], columns["plan"], strict=True) if old)


NUMBERS = (30 + 2 * np.random.default_rng(1).normal(size=N) + 20 * (np.arange(N) % 2)).round(1)
OBJECTS = {
    "money": (float, lambda x: f"${100 * x:,.2f}"),
    "kg": (float, lambda x: f"{x} kg"),
    "comma": (float, lambda x: f"{x}".replace(".", ",")),
    "float": (float, float),
    "whole": (int, int),
    "Decimal": (Decimal, lambda x: Decimal(str(x))),
    "timedelta": (timedelta, lambda x: timedelta(days=x)),
}
LIBRARIES = {
    "pandas": lambda values: pd.DataFrame({"x": pd.Series(values, dtype=object)}),
    "list": lambda values: {"x": values},
    "NumPy": lambda values: {"x": np.array(values, dtype=object)},
}
DURATIONS = {
    "timedelta64[s]": lambda some: pd.DataFrame({"x": pd.Series(some, dtype="timedelta64[s]")}),
    "duration[s]": lambda some: pd.DataFrame({"x": pd.Series(some, dtype="duration[s][pyarrow]")}),
    "pa.duration": lambda some: pa.table({"x": pa.array(some, pa.duration("ms"))}),
    "polars": lambda some: of_polars(some, lambda pl: pl.Duration("us")),
    "NumPy": lambda some: {"x": np.array(some, dtype="timedelta64[m]")},
}


DECIMAL = pd.ArrowDtype(pa.decimal128(6, 2))
DECIMALS = {
    "pandas": lambda some: pd.DataFrame({"x": pd.Series(some, dtype=DECIMAL)}),
    "Arrow": lambda some: pa.table({"x": pa.array(some, pa.decimal128(6, 2))}),
    "polars": lambda some: of_polars(some, lambda pl: pl.Decimal(6, 2)),
}


def of_polars(values, kind):
    pl = pytest.importorskip("polars")
    return pl.DataFrame({"x": pl.Series(values, dtype=kind(pl))})


def beside(table):
    """Return a table with one more column, which tells the clusters apart."""
    more = {"age": NUMBERS + 1}
    if isinstance(table, dict):
        return table | more
    if isinstance(table, pa.Table):
        return table.append_column("age", pa.array(more["age"]))
    return table.assign(**more) if hasattr(table, "assign") else table.with_columns(**more)


def cells(table):
    column = table["x"]
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def check_filled(values, table, kind):
    """Fill the holes of column x; what was seen stays, and the others are like it."""
    given = beside(table)
    full = cells(em.Mixture(em.Mixed(), random_state=0).fit(given).impute(given))
    for row, value in enumerate(values):
        if value is None:
            assert isinstance(full[row], kind)
            assert not isinstance(full[row], float) or np.isfinite(full[row])
        else:
            assert full[row] == cells(table)[row] and type(full[row]) is type(cells(table)[row])
    return full


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", OBJECTS)
def test_objects_stay_as_they_are_beside_numbers_that_are_filled_in(name, library):
    kind, written = OBJECTS[name]
    values = [None if i % 9 == 0 else written(x) for i, x in enumerate(NUMBERS.tolist())]
    table = LIBRARIES[library](values)
    if library == "list" and name in ("whole", "float"):
        full = beside(table)
        full = em.Mixture(em.Mixed(), random_state=0).fit(full).impute(full)["x"]
        assert full.dtype == kind
        assert all(new == old for new, old in zip(full, values, strict=True) if old is not None)
    else:
        check_filled(values, table, kind)


@pytest.mark.parametrize("kind", ["string", "string[pyarrow]"])
def test_a_type_of_strings_cannot_take_numbers(kind):
    values = [None if i % 9 == 0 else f"{x} kg" for i, x in enumerate(NUMBERS.tolist())]
    table = beside(pd.DataFrame({"x": pd.Series(values, dtype=kind)}))
    full = em.Mixture(em.Mixed(), random_state=0).fit(table).impute(table)["x"]
    seen = table["x"].notna()
    assert full.dtype == np.float64 and np.isfinite(full).all()
    np.testing.assert_array_equal(full[seen], NUMBERS[seen])


@pytest.mark.parametrize("name", DURATIONS)
def test_durations_stay_durations(name):
    values = [None if i % 9 == 0 else timedelta(days=x) for i, x in enumerate(NUMBERS.tolist())]
    full = check_filled(values, DURATIONS[name](values), (timedelta, np.timedelta64))
    days = [value / np.timedelta64(1, "D") for value in full[::9]]
    np.testing.assert_allclose(days, NUMBERS[::9], atol=10)  # of its cluster


@pytest.mark.parametrize("name", DECIMALS)
def test_decimal_numbers_stay_so(name):
    values = [None if i % 9 == 0 else Decimal(str(x)) for i, x in enumerate(NUMBERS.tolist())]
    check_filled(values, DECIMALS[name](values), Decimal)


def test_holes_among_whole_numbers_get_whole_ones(model):
    """Whatever the type of the column; others keep their digits."""
    table = made().drop(columns=["id", 5])
    table["age"] = table["age"].astype(float).where(np.arange(N) % 3 > 0)
    table["weight"] = table["weight"].where(np.arange(N) % 3 > 0)
    for X in (table, {name: values.tolist() for name, values in table.items()}):
        for draw in (False, True):
            found = model.impute(X, draw=draw)
            ages, weights = np.asarray(found["age"]), np.asarray(found["weight"])
            assert (ages == np.rint(ages)).all()
            assert (weights[::3] != np.rint(weights[::3])).all()
