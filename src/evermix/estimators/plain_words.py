"""What a model learns from, and how it forgets, in words for those who do not know its parts."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

import numpy as np

from evermix._words import listed
from evermix.families import Bernoulli, Categorical, Mixed, Multinomial, Poisson, VonMisesFisher
from evermix.families.base import Family
from evermix.forgetting import Exponential
from evermix.report.shares import large, percent

KINDS: dict[type[Family], str] = {
    Bernoulli: "yes or no",
    Categorical: "categories",
    Multinomial: "counts",
    Poisson: "counts",
    VonMisesFisher: "directions",
}
"""What columns hold, by their family; those of all others are numbers."""
NUMBERS = "numbers"
MOST_IDS = 10  # in a message
UNITS = {"day": 86_400.0, "hour": 3600.0, "minute": 60.0, "second": 1.0}


def rows_in_words(family: Family, n_columns: int) -> str:
    """Return what the rows of a family are, such as "a table with 3 columns of numbers"."""
    if isinstance(family, Multinomial) and family.growing:
        return "texts, as counts of their words"
    if not isinstance(family, Mixed):
        return f"{_counted(n_columns, 'column')} of {_kind(family)}"
    kinds = Counter[str]()
    for block in family.blocks or ():
        if block.of_zeros:
            continue
        kinds[_kind(block.family)] += len(block.names)
    text = f"a table with {_counted(sum(kinds.values()), 'column')}"
    if len(kinds) == 1:
        text += f" of {next(iter(kinds))}"
    else:
        order = sorted(kinds, key=lambda kind: (kind != NUMBERS, -kinds[kind]))
        text += ": " + ", ".join(f"{kinds[kind]:,} of {kind}" for kind in order)
    ignored = len(family.ignored)
    return text + (f" ({_counted(ignored, 'other')} ignored)" if ignored else "")


def forgetting_in_words(plan: Exponential, timed: bool) -> str:
    """Return how a model forgets; ``timed``: by the times of rows, not by their number."""
    if plan.dated:
        unit, size = next(
            (both for both in UNITS.items() if plan.half_life >= both[1]), ("second", 1.0)
        )
        span = _counted(plan.half_life / size, unit)
    else:
        span = f"{plan.half_life:,g} of time" if timed else _counted(plan.half_life, "row")
    return f"a row counts half as much after {span}"


def topics_in_words(weights: Iterable[float]) -> str:
    """Return how many topics there are, and how many of them are large if not all are.

    Examples
    --------
    >>> topics_in_words([0.6, 0.38, 0.008, 0.007, 0.005])
    '5 topics, 2 of them large (the others hold 2 % of the words)'
    >>> topics_in_words([0.6, 0.4])
    '2 topics'
    """
    shares = np.fromiter(weights, dtype=np.float64)
    small = shares[~large(shares)]
    text = _counted(len(shares), "topic")
    if not len(small):
        return text
    others = "other holds" if len(small) == 1 else "others hold"
    n = len(shares) - len(small)
    return f"{text}, {n:,} of them large (the {others} {percent(small.sum())} of the words)"


def _kind(family: Family) -> str:
    return KINDS.get(type(family), NUMBERS)


def _counted(n: float, noun: str) -> str:
    return f"{n:,g} {noun}" if n == 1 else f"{n:,.6g} {noun}s"


def ids_in_words(known: Iterable[int]) -> str:
    """Return where the ids of clusters are, and the first of them."""
    first = map(str, islice(known, MOST_IDS + 2))
    return f"the ids are in cluster_ids_: {listed(first, MOST_IDS, ', ...')}"
