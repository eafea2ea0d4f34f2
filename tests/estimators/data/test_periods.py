"""Which periods dates are turned into where none is given."""

import numpy as np
import pandas as pd
import pytest

from evermix.estimators.data.periods import first_periods, fitting_period, later_periods
from evermix.estimators.data.times import plain_times


@pytest.mark.parametrize(
    ("first", "n", "step", "period"),
    [
        ("2001-01-01", 40, 30, "year"),  # years enough
        ("2001-06-01", 150, 3, "month"),  # two years
        ("2001-06-01", 20, 30, "year"),  # two years, too few documents for months
        ("2001-01-01", 12, 30, "month"),  # one year, even of few documents
        ("2001-06-01", 60, 0.5, "day"),  # one month
        ("2001-06-01", 60, 0.001, "year"),  # one day: nothing helps
    ],
)
def test_the_period_fits_the_dates(first, n, step, period):
    seconds = (86400 * step * np.arange(n)).astype("timedelta64[s]")
    assert fitting_period(np.datetime64(first, "s") + seconds) == period


@pytest.mark.parametrize("later", ["01/02/2024", "13/02/2024", "02/13/2024"])
def test_later_dates_are_in_the_years_of_the_fit_whatever_comes_first(later):
    assert later_periods([later] * 3, 3, ["2020", "2021"]).tolist() == ["2024"] * 3


@pytest.mark.parametrize("known", [["2020-01", "2020-02"], ["2020-01-21", "2020-02-03"]])
def test_months_and_days_need_a_date_that_tells_what_comes_first(known):
    with pytest.raises(ValueError, match="'01/02/2024', of which none tells .* as 2024-05-31"):
        later_periods(["01/02/2024"] * 2, 2, known)
    told = later_periods(["01/02/2024", "21/02/2024"], 2, known)
    assert told[0] == "2024-02-01"[: len(known[0])]


@pytest.mark.parametrize("period", ["month", "day"])
def test_so_do_those_of_a_fit(period):
    with pytest.raises(ValueError, match=f"turned into {period}s. Write dates as"):
        first_periods(["01/02/2024", "03/02/2024"], 2, period)


@pytest.mark.parametrize(
    ("label", "known"),
    [("spring", ["2020", "2021"]), ("2020-05", ["2020", "2021"]), ("2021", ["2020-01", "2020-02"])],
)
def test_a_later_time_that_is_no_period_is_refused(label, known):
    with pytest.raises(ValueError, match=f"such as '{known[-1]}', .* or dates, got '{label}'"):
        later_periods([known[0], label], 2, known)


@pytest.mark.parametrize("period", ["Y", "M", "D"])
def test_periods_of_pandas_are_times(period):
    months = pd.period_range("2020-01", periods=3, freq=period)
    assert plain_times(pd.Series(months), 3) == months.astype(str).tolist()
    with pytest.raises(ValueError, match="of a year, a month or a day, got 2020Q1 .*astype"):
        plain_times(pd.period_range("2020-01", periods=3, freq="Q"), 3)


@pytest.mark.parametrize("bad", ["unknown", "", "2016-13-45", "2016"])
def test_one_bad_date_is_an_error_with_its_row(bad):
    dates = [f"{2010 + i % 9}-05-{1 + i % 28:02}" for i in range(100)]
    for times in first_periods, later_periods:
        more = (None,) if times is first_periods else (["2010", "2011"],)
        with pytest.raises(ValueError, match=f"row 50 is none, '{bad}': give its date, or leave"):
            times([*dates[:50], bad, *dates[50:]], 101, *more)
    labels = ["a", "b", "2016-05-01"]  # of which most are no dates
    assert first_periods(labels, 3, None) is labels


def test_numbers_of_years_are_years_where_these_are_known():
    for years in [2012, 2030], np.array([2012, 2030]):
        assert later_periods(years, 2, ["2011", "2012"]) == ["2012", "2030"]
    assert later_periods([2012, 2030], 2, [2011, 2012]) == [2012, 2030]
