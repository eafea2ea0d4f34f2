"""Columns of durations are numbers, in seconds or days."""

from datetime import timedelta

import numpy as np
import pytest

import evermix as em
from evermix.io.sources.dialect import Writing
from helpers.commands import evermix
from helpers.tables import library

N = 120


def visits(unit="s", seed=0):
    """Return visits whose durations are numbers of a unit, and those with durations."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, size=N)
    spent = np.round(40 + 90 * z + 5 * rng.normal(size=N), 3).tolist()
    spent[3] = None
    town = ["Oslo" if one else "Rome" for one in z]
    names = {"s": "seconds", "days": "days"}
    spans = [None if v is None else timedelta(**{names[unit]: v}) for v in spent]
    return {"spent": spent, "town": town}, {"spent": spans, "town": town}


@pytest.mark.parametrize("unit", ["s", "days"])
@pytest.mark.parametrize("name", ["dict", "pandas", "polars", "arrow"])
def test_durations_are_numbers_of_one_unit(name, unit):
    make, (numbers, spans) = library(name), visits(unit)
    one = em.Mixture(random_state=0).fit(make(numbers))
    other = em.Mixture(random_state=0).fit(make(spans))
    assert other.written_ == {"spent": Writing(".", unit)}
    np.testing.assert_array_equal(other.labels_, one.labels_)
    np.testing.assert_allclose(
        other.predict_proba(make(spans)), other.predict_proba(make(numbers)), rtol=1e-9
    )
    assert f" {unit}" in str(other.cards()[0])
    short = {"spent": [timedelta(seconds=1)] * 2, "town": ["Rome"] * 2}
    seconds = {"s": 1.0, "days": 1 / 86_400}[unit]
    np.testing.assert_allclose(  # of later rows too, however long they are
        other.predict_proba(make(short)),
        other.predict_proba(make(short | {"spent": [seconds] * 2})),
        rtol=1e-9,
    )


def test_durations_in_files_of_parquet(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    for name, columns in zip(("numbers", "spans"), visits(), strict=True):
        parquet.write_table(pyarrow.table(columns), f"{name}.parquet")
        evermix(
            "fit", f"{name}.parquet", "--out", f"{name}.jsonl", "--checkpoint", f"{name}.evermix"
        )
    labels = [
        em.load(f"{name}.evermix").predict(visits()[0]).tolist() for name in ("numbers", "spans")
    ]
    assert labels[0] == labels[1]
    assert em.load("spans.evermix").written_["spent"] == Writing(".", "s")
