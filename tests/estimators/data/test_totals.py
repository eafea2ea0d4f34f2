"""Totals say nothing beside counts, if they are counts times one price in all rows."""

import warnings

import numpy as np
import pytest

from evermix.estimators.data.table_family import automatic_table

N = 1000


def ignored(**columns):
    """The columns that are ignored, beside one of words."""
    words = np.resize(np.array(["x", "y"]), len(next(iter(columns.values()))))
    with warnings.catch_warnings(action="ignore"):
        return automatic_table(columns | {"words": words}).ignored


def counts(seed=0, n=N):
    return np.random.default_rng(seed).poisson(2.0, n).astype(float)


@pytest.mark.parametrize("decimals", [0, 2, 15])
@pytest.mark.parametrize("seed", range(5))
def test_they_agree_up_to_rounding(seed, decimals):
    rng = np.random.default_rng(seed)
    whole = counts(seed)
    total = (rng.uniform(5.0, 50.0) * whole).round(decimals)
    total[rng.random(N) < 0.05] = np.nan
    assert ignored(items=whole, total=total) == ("total",)
    assert ignored(items=whole, total=total.astype(np.float32)) == ("total",)


@pytest.mark.parametrize("row", [0, 499, N - 1])
@pytest.mark.parametrize("step", [0.02, 1.0, -3.0, 1000.0])
def test_one_row_that_disagrees_keeps_a_total(row, step):
    total = 18.5 * (whole := counts())
    assert ignored(items=whole, total=total) == ("total",)
    total[row] += step
    assert ignored(items=whole, total=total) == ()


def test_last_digits_that_tell_something_keep_a_column():
    place, part = counts() + 1, np.arange(N) % 9
    assert ignored(place=place, code=10_000 * place) == ("code",)
    assert ignored(place=place, code=10_000 * place + part) == ()


def test_few_rows_and_few_known_rows_show_nothing():
    b = np.tile([0.0, 1, 2, 3], 3)
    assert ignored(b=b, p=18.5 * b) == ()
    whole = counts()
    known = np.where(np.arange(N) < 0.45 * N, 12 * whole, np.nan)
    assert ignored(items=whole, total=known) == ()


@pytest.mark.parametrize("price", [0.25, 0.5, 2, 18.5])
def test_the_small_whole_numbers_stay(price):
    whole = counts()
    for columns in ({"items": whole, "x": price * whole}, {"x": price * whole, "items": whole}):
        assert ignored(**columns) == ("x",)


def test_a_total_stays_where_the_one_that_it_repeats_is_ignored():
    a, rows = counts(), np.arange(N)
    b = np.where(rows < 0.6 * N, 2 * a, np.nan)
    c = np.where(rows >= 0.1 * N, 6 * a, np.nan)
    assert ignored(a=np.where(rows < 0.55 * N, a, np.nan), b=b, c=c) == ("b",)
    assert ignored(a=a, b=2 * a, c=6 * a) == ("b", "c")


def test_the_warning_names_both_columns():
    table = {"items": counts(), "total": 18.5 * counts(), "words": np.resize(["x", "y"], N)}
    with pytest.warns(UserWarning, match="'total' holds a multiple of column 'items' in all rows"):
        automatic_table(table)
