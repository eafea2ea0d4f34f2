"""Times are numbers, dates or labels, in an order of their own."""

import datetime

import numpy as np
import pandas as pd
import pytest

from evermix.estimators.data.times import Times

DATES = ["2020-03-01", "2019-01-01", "2020-03-01"]
DAYS = [datetime.datetime(2019, 1, 1), datetime.datetime(2020, 3, 1)]
TOKYO = [day - datetime.timedelta(hours=9) for day in DAYS]


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ([2003, 2001, 2003], [2001, 2003]),
        ([0.5, -1.0, 0.5], [-1.0, 0.5]),
        (np.array(DATES, dtype="datetime64[D]"), DAYS),
        ([datetime.date(2020, 3, 1), datetime.date(2019, 1, 1)] * 2, DAYS),
        (pd.Series(pd.to_datetime(DATES)), DAYS),
        (pd.Series(pd.to_datetime(DATES, utc=True)), DAYS),
        (pd.Series(pd.to_datetime(DATES)).dt.tz_localize("Asia/Tokyo"), TOKYO),
        (DATES, sorted(set(DATES))),
        (["10", "9", "10"], ["9", "10"]),
        (["late", "early", "late"], ["late", "early"]),
        (["today", "now", "now"], ["today", "now"]),
        (["nan", "inf", "nan"], ["nan", "inf"]),
        (["9th", "1st", "9th"], ["9th", "1st"]),
        (pd.Categorical(["b", "a", "b"], categories=["c", "b", "a"]), ["b", "a"]),
        (pd.Series(["b", "a", "b"], dtype=pd.CategoricalDtype(["a", "b"])), ["a", "b"]),
        (np.array([2, 1, 2], dtype=object), [1.0, 2.0]),
    ],
)
def test_times_are_in_their_order(given, values):
    times, codes = Times.read(given, len(given))
    assert len(times) == 2
    assert times.values == values
    np.testing.assert_array_equal(times.codes(given, len(given)), codes)
    again = Times.from_spec(times.to_spec())
    assert again.values == times.values
    assert len(times.array) == 2


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (None, ValueError, "times are missing"),
        ([1, 2], ValueError, r"one entry per row, \(3,\), got shape \(2,\)"),
        ([[1, 2, 3]], ValueError, "one entry per row"),
        ([1.0, np.nan, 2.0], ValueError, "missing or infinite value in row 1"),
        ([1.0, np.inf, 2.0], ValueError, "missing or infinite value in row 1"),
        (["a", None, "b"], ValueError, "missing or infinite value in row 1"),
        (np.array(["2020", "NaT", "2021"], dtype="datetime64[Y]"), ValueError, "row 1"),
        (np.array(["a", 1, "b"], dtype=object), TypeError, "got int, str"),
        ([1j, 2j, 3j], TypeError, "must be numbers, dates or labels"),
    ],
)
def test_what_is_no_time_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        Times.read(given, 3)


def test_a_time_without_rows_is_named():
    times, _ = Times.read([2001, 2002, 2003], 3)
    with pytest.raises(ValueError, match=r"no rows at the time 1999 .* fit: 2001, 2002, 2003"):
        times.codes([2001, 1999], 2)
