"""Which periods dates are turned into where none is given."""

import numpy as np
import pytest

from evermix.estimators.data.periods import fitting_period


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
