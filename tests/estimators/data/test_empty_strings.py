"""Empty strings and blanks are missing values, in tables as in files."""

import csv
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import evermix as em
from evermix.estimators.data.levels import is_gone
from helpers.commands import evermix

LEVELS = {"city": ["Rome", "Oslo", "Lima"], "colour": ["r", "g", "b"]}


def table(n=240, empty=("", "  ", "\t")):
    """Return a dict of columns with words and numbers, a fifth of the words empty."""
    rng = np.random.default_rng(0)
    z = np.arange(n) % 3
    gone = rng.random((2, n)) < 0.2
    words = {}
    for own, (name, levels) in zip(gone, LEVELS.items(), strict=True):
        chosen = np.where(rng.random(n) < 0.9, z, rng.integers(0, 3, n))
        words[name] = [empty[i % len(empty)] if own[i] else levels[k] for i, k in enumerate(chosen)]
    return {"width": rng.normal(6.0 * z).round(3).tolist(), **words}


FORMS = {
    "dict": lambda columns: columns,
    "pandas": pd.DataFrame,
    "categories": lambda columns: pd.DataFrame(columns).astype({"city": "category"}),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "arrow": pa.table,
}


@pytest.fixture(scope="module")
def expected():
    mix = em.Mixture(random_state=0).fit(table(empty=[None]))
    assert mix.n_clusters_ == 3
    return mix


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_all_libraries(form, expected):
    mix = em.Mixture(random_state=0).fit(FORMS[form](table()))
    assert mix.levels_ == expected.levels_
    np.testing.assert_array_equal(mix.labels_, expected.labels_)
    np.testing.assert_array_equal(
        expected.predict_proba(FORMS[form](table())), expected.predict_proba(table(empty=[None]))
    )
    filled = mix.impute(FORMS[form](table()))
    cells = filled["city"].to_pylist() if form == "arrow" else list(filled["city"])
    assert set(cells) == {"Rome", "Oslo", "Lima"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files_give_the_clusters_of_a_data_frame(kind, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = table()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if kind == "csv":
        with open("t.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
    elif kind == "jsonl":
        with open("t.jsonl", "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    else:
        parquet.write_table(pa.table(columns), "t.parquet")
    options = ["--kind", "table", "--checkpoint", "m.evermix"]
    evermix("fit", f"t.{kind}", "--out", "o.jsonl", *options)
    with open("o.jsonl") as file:
        labels = [json.loads(line)["cluster"] for line in file]
    np.testing.assert_array_equal(labels, expected.labels_)


def test_single_rows_and_levels_that_look_empty(expected):
    one, gone = ({"width": [1.0], "city": [city], "colour": ["r"]} for city in ("", None))
    assert expected.explain(one) == expected.explain(gone)
    assert is_gone("") and is_gone(" \t") and not is_gone("-") and not is_gone("0")
