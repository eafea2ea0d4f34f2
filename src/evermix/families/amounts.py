"""Amounts: numbers of very different sizes, such as prices and incomes, for a log scale."""

import numpy as np

from evermix._xp import Floats

ENOUGH = 20  # numbers that are needed to see which scale suits them
GAIN = 0.1  # log likelihood of a row by which the log scale must be better than the linear one
LOW, HIGH = 0.05, 0.95  # shares of the positive numbers that are small, and that are not large
RANGE = 2.5  # least ratio of large amounts to small ones
ZEROS = 0.05  # largest share of zeros in columns that may share a covariance


def knee_of(values: Floats) -> float:
    """Return the knee of a log scale for amounts; 0 if they are as well on a linear one.

    The two scales are compared by the likelihood of a normal distribution of all values.
    """
    known = values[np.isfinite(values)]
    if len(known) < ENOUGH or known.min() < 0 or not known.any():
        return 0.0
    double, high = np.quantile(known[known > 0], [LOW, HIGH])  # twice the knee
    if high < RANGE * double:
        return 0.0
    logs = np.log(np.hypot(known, double))
    with np.errstate(over="ignore", invalid="ignore"):  # of sizes that no family takes
        gain = 0.5 * np.log(np.var(known) / np.var(np.arcsinh(known / double))) - logs.mean()
    return float(0.5 * double) if gain > GAIN else 0.0


def knee_in_group(values: Floats) -> float:
    """Return the knee of amounts that may share a covariance with other columns, or 0.

    Many zeros, which have no logarithm, are far away from all amounts on the log scale.
    """
    return 0.0 if np.mean(values == 0) > ZEROS else knee_of(values)
