"""The weights of rows, validated."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from evermix._xp import host, is_foreign
from evermix.estimators.data.checks import check_plain
from evermix.estimators.data.rows import Rows

MAX_WEIGHT = 1e12  # above this, one row drowns the rest in rounding
MIN_WEIGHT = 1e-200  # below this, weights times responsibilities underflow


def prepare_weights(sample_weight: Any, X: Rows) -> NDArray[np.float64]:
    """Return one weight per row of X, (N,) float64, or raise ValueError."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    check_plain("sample_weight", sample_weight)
    if is_foreign(sample_weight):
        sample_weight = host(sample_weight)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    if weights.max() > MAX_WEIGHT:
        raise ValueError(
            f"sample_weight goes up to {weights.max():.3g}; beyond {MAX_WEIGHT:g} rounding drowns "
            "the prior and every other row. Divide the weights by a constant."
        )
    least = weights[weights > 0].min()
    if least < MIN_WEIGHT:
        raise ValueError(
            f"sample_weight goes down to {least:.3g}; below {MIN_WEIGHT:g} the mass of a row is "
            "lost in rounding. Multiply the weights by a constant, or set the smallest to 0."
        )
    return np.ascontiguousarray(weights)
