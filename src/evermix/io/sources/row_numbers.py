"""Columns that number or name the rows, and so tell nothing of clusters."""

import re

import numpy as np
from numpy.typing import NDArray

ENOUGH = 50  # rows that tell
# id, customer_id, customerId, order-nr, but not grid, paid or a price index
_NAME = re.compile(
    r"id|index|idx|nr|no|row|(?:.*[_\s.-])(?:id|idx|nr|no)|(?-i:.*[a-z](?:Id|ID|Nr|No))",
    re.IGNORECASE,
)
YEARS = 1500, 2200  # which may follow each other, but are no ids
WHAT = "another number in every row, as numbers and ids of rows do"
REMEDY = "Make numbers of such columns, or give them a block in em.Mixed, if they tell of clusters."


def are_row_numbers(name: str, values: NDArray[np.float64], learning: bool = True) -> bool:
    """Whether every row has a whole number (N,) of its own that names it.

    So it is where there is no gap between these numbers, unless they may be years, or where the
    column is called an id. Few rows do not tell, but if they are not learnt a name is enough.
    """
    few = len(values) < ENOUGH
    if few and (learning or not len(values)) or not np.isfinite(values).all():
        return False
    different = np.unique(values)
    if len(different) < len(values) or np.any(different != np.rint(different)):
        return False
    first, last = different[0], different[-1]
    years = YEARS[0] <= first and last <= YEARS[1]
    without_gaps = last - first + 1 == len(different) and not (years or few)
    return bool(without_gaps) or _NAME.fullmatch(name.strip()) is not None
